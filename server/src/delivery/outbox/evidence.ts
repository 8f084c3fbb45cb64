import { sql } from 'kysely'
import { many, type Tx } from '../../db/index.ts'
import { END_COLUMNS, type EndedEmail, OPEN_TO_EVIDENCE, recordEnds } from './settle.ts'

/**
 * What nobody can say of: handed over, no answer, no evidence since. Transactional mail is tried once more, with the same
 * Message-ID: missing it is worse than a copy. Anything else ends as failed, `outcome_unknown`: a second copy is worse.
 */
export async function resolveUnknown(tx: Tx, { afterMs, limit }: { afterMs: number; limit: number }) {
  const rows = await many(
    tx,
    sql<EndedEmail>`
      update emails e set
        state = case when c.type = 'TRANSACTIONAL' and not e.retried_unknown then 'queued' else 'failed' end,
        error = case when c.type = 'TRANSACTIONAL' and not e.retried_unknown then e.error else 'outcome_unknown' end,
        error_code = case when c.type = 'TRANSACTIONAL' and not e.retried_unknown then e.error_code else 'outcome_unknown' end,
        retried_unknown = true, handed_over_at = null, unknown_since = null, worker = null, updated_at = now()
      from contents c
      where c.project_id = e.project_id and c.id = e.content_id and (e.project_id, e.id) in (
        select project_id, id from emails where state = 'unknown' and unknown_since < now() - make_interval(secs => ${afterMs / 1_000})
        order by unknown_since limit ${limit} for update skip locked)
      returning ${END_COLUMNS}
    `,
  )
  await recordEnds(tx, rows)
  return rows.length
}

/**
 * Evidence that a mail was taken by the other side, by our id: from a provider's notification, after it was checked. It comes once,
 * often before the answer to the hand-over, and counts whenever it comes.
 */
export async function settleByEvidence(tx: Tx, mails: { projectId: string; id: string; providerId?: string }[]) {
  if (!mails.length) return 0
  const rows = await many(
    tx,
    sql<EndedEmail>`
      update emails e set state = 'sent', sent_at = coalesce(e.handed_over_at, now()), error = null, error_code = null, vars = null, unknown_since = null, due_at = null, worker = null,
        provider_id = coalesce(e.provider_id, m."providerId"), updated_at = now()
      from jsonb_to_recordset(${JSON.stringify(mails)}::jsonb) as m("projectId" uuid, id uuid, "providerId" text)
      where e.project_id = m."projectId" and e.id = m.id and ${OPEN_TO_EVIDENCE}
      returning ${END_COLUMNS}
    `,
  )
  await recordEnds(tx, rows)
  return rows.length
}

/** The other side had taken a mail and then refused to pass it on: it has failed after all. Before that, it counts as taken. */
export async function failByEvidence(tx: Tx, mails: { projectId: string; id: string; reason: string }[]) {
  if (!mails.length) return
  const rows = await many(
    tx,
    sql<EndedEmail>`
      update emails e set state = 'failed', error = m.reason, error_code = 'rejected', updated_at = now()
      from jsonb_to_recordset(${JSON.stringify(mails)}::jsonb) as m("projectId" uuid, id uuid, reason text)
      where e.project_id = m."projectId" and e.id = m.id and e.state = 'sent'
      returning ${END_COLUMNS}
    `,
  )
  await recordEnds(tx, rows)
}
