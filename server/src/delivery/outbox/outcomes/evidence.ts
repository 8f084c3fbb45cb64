import { many, type Tx } from '../../../db/index.ts'
import { recordset } from '../../../db/rows.ts'
import { addEntries } from './email-ledger.ts'
import { END_COLUMNS, type EndedEmail, OPEN_TO_EVIDENCE, recordEnds } from './ended.ts'

/**
 * Settles emails whose outcome stays unknown: handed over, no reply, no evidence since. A transactional email is sent once more with the same
 * Message-ID, since missing it is worse than a copy. Any other email fails with `outcome_unknown`, since a second copy is worse.
 */
export async function resolveUnknown(tx: Tx, { afterMs, limit }: { afterMs: number; limit: number }) {
  const rows = await many<EndedEmail>(tx)`
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
  `
  await recordEnds(tx, rows)
  return rows.length
}

/**
 * Settles emails that the provider has accepted, according to a verified notification with our id. A notification arrives once, often before
 * the reply to the hand-over, and counts whenever it arrives. Returns the ids of the emails that were open.
 */
export async function settleByEvidence(tx: Tx, emails: { projectId: string; id: string; providerId?: string | null }[]) {
  if (!emails.length) return []
  const rows = emails.map(({ projectId, id, providerId }) => ({ projectId, id, providerId }))
  const settled = await many<EndedEmail & { hadFailed: boolean }>(tx)`
    with reported as materialized (
      select e.project_id, e.id, m."providerId", e.state = 'failed' as had_failed
      from ${recordset('emails', rows, ['projectId', 'id', 'providerId'])} as m
      join emails e on e.project_id = m."projectId" and e.id = m.id
      where ${OPEN_TO_EVIDENCE}
      order by 1, 2 for no key update of e -- consistent lock order: avoids deadlocks
    )
    update emails e set state = 'sent', sent_at = coalesce(e.handed_over_at, now()), error = null, error_code = null, vars = null, unknown_since = null,
      due_at = null, worker = null, provider_id = coalesce(e.provider_id, m."providerId"), updated_at = now()
    from reported m
    where e.project_id = m.project_id and e.id = m.id
    returning ${END_COLUMNS}, m.had_failed as "hadFailed"
  `
  const failed = settled.filter(({ hadFailed }) => hadFailed)
  await uncount(tx, 'failed', failed)
  await recordEnds(tx, settled)
  return settled.map(({ id }) => id)
}

/** Fails sent emails that the provider accepted and later refused to deliver. An email that is not sent yet counts as accepted first. */
export async function failByEvidence(tx: Tx, emails: { projectId: string; id: string; reason: string }[]) {
  if (!emails.length) return
  const rows = await many<EndedEmail>(tx)`
    update emails e set state = 'failed', error = m.reason, error_code = 'rejected', updated_at = now()
    from ${recordset('emails', emails, ['projectId', 'id'], { reason: 'text' })} as m
    where e.project_id = m."projectId" and e.id = m.id and e.state = 'sent'
    returning ${END_COLUMNS}
  `
  await uncount(tx, 'sent', rows)
  await recordEnds(tx, rows)
}

/** Takes back the count of an outcome that was corrected. */
function uncount(tx: Tx, kind: 'sent' | 'failed', emails: EndedEmail[]) {
  const entries = emails.map((email) => ({ ...email, kind, n: -1 }))
  return addEntries(tx, entries)
}
