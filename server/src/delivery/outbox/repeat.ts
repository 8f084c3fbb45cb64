import { scalars, type Tx } from '../../db/index.ts'
import { settleByEvidence } from './outcomes/evidence.ts'

/** An email that was handed over: accepted by the provider, or without an outcome. */
export type HandedOver = {
  projectId: string
  id: string
  attempts: number
  isAccepted: boolean
  providerId: string | null
}

/**
 * Writes once more what a worker has committed to a server that is gone, as far as this one does not have it. Emails without an outcome are
 * `unknown`: whatever comes of them, they are not simply sent again. Returns the ids that this server has.
 */
export async function repeatHandOvers(tx: Tx, emails: HandedOver[]): Promise<Set<string>> {
  const rows = emails.map(({ projectId, id, attempts }) => ({ projectId, id, attempts }))
  const found = await scalars<string>(tx)`
    with handed_over as materialized (
      select e.project_id, e.id, e.state, e.attempts, e.handed_over_at, j.attempts as attempt
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as j("projectId" uuid, id uuid, attempts int)
        join emails e on e.project_id = j."projectId" and e.id = j.id
      order by 1, 2 for no key update of e -- consistent lock order: avoids deadlocks
    ), marked as (
      update emails e set state = 'unknown', unknown_since = now(), handed_over_at = coalesce(e.handed_over_at, now()), attempts = h.attempt,
        worker = null, due_at = null, updated_at = now()
      from handed_over h
      where e.project_id = h.project_id and e.id = h.id and h.attempts <= h.attempt and (
        h.state in ('queued', 'deferred') or h.state = 'sending' and (h.attempts < h.attempt or h.handed_over_at is null))
    )
    select id from handed_over
  `
  const known = new Set(found)
  await settleByEvidence(
    tx,
    emails.filter(({ id, isAccepted }) => isAccepted && known.has(id)),
  )
  return known
}
