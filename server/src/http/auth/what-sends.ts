import { type RawBuilder, sql } from 'kysely'
import { dependentSegmentsCte } from '../../db/in-use.ts'
import { many, one, type Tx } from '../../db/index.ts'
import type { CallingProject } from './key-lookup.ts'
import { requireScope, requireSenderDomain } from './scopes.ts'

/** The target of a change. A template and a segment stand for everything live that uses them. */
export type Changed = { workflow: string } | { campaign: string } | { template: string } | { segment: string }

/** `isLive`: something of it is enabled, SCHEDULED or SENDING, and so needs no further request to send. `senders`: its sender addresses. */
type Sending = { isLive: boolean; senders: string[] }

/** The caller may start everything, so that nothing has to be looked up. */
const mayStartAll = ({ scopes, senderDomains }: CallingProject) =>
  senderDomains === null && (scopes === null || scopes.includes('full') || scopes.includes('send'))

/**
 * Makes a change, and refuses a key that may not start what results from it. Its sender domains are asked for what was stored, too. Call it in
 * the transaction of the change, with the row locked, and for a segment under the lock of the project's segments: then nothing is enabled or
 * scheduled between the question and the change.
 */
export async function changeAs<Result>(tx: Tx, caller: CallingProject, changed: Changed, change: () => Promise<Result>): Promise<Result> {
  if (mayStartAll(caller)) return change()
  const before = await whatSends(tx, caller.id, changed)
  const result = await change()
  await requireToChange(tx, caller, changed)
  requireSenders(caller, before.senders)
  return result
}

/** The same after a change that leaves what uses it as it is. */
export async function requireToChange(tx: Tx, caller: CallingProject, changed: Changed) {
  if (mayStartAll(caller)) return
  const { isLive, senders } = await whatSends(tx, caller.id, changed)
  if (isLive) requireScope(caller, 'send')
  requireSenders(caller, senders)
}

/** Refuses a key that may not use the sender domains of a workflow, or campaign, that is live or not. */
export async function requireSendersOf(tx: Tx, caller: CallingProject, of: Extract<Changed, { workflow: string } | { campaign: string }>) {
  if (caller.senderDomains !== null) requireSenders(caller, (await whatSends(tx, caller.id, of)).senders)
}

function requireSenders(caller: CallingProject, senders: string[]) {
  for (const from of senders) requireSenderDomain(caller, from)
}

/** As it is now in this transaction. */
async function whatSends(tx: Tx, projectId: string, of: Changed): Promise<Sending> {
  if ('workflow' in of) await lockTemplatesOf(tx, { projectId, id: of.workflow })
  return one<Sending>(tx)`
    select coalesce(bool_or(is_live), false) as "isLive",
      coalesce(array_agg(distinct from_address) filter (where from_address is not null), '{}') as senders
    from (${sendersSql(projectId, of)}) as sending (is_live, from_address)
  `
}

/** Rows of what sends: whether it is live, and a sender. */
function sendersSql(projectId: string, of: Changed): RawBuilder<unknown> {
  if ('campaign' in of)
    return sql`
      select status in ('SCHEDULED', 'SENDING'), from_address from campaigns where project_id = ${projectId} and id = ${of.campaign}`
  if ('workflow' in of) return graphSendersSql(projectId, sql`w.enabled`, sql`w.id = ${of.workflow} and g.version = w.version`)
  if ('template' in of) return liveGraphSendersSql(projectId, sql`g.uses -> 'templates' ? ${of.template}::text`)
  // A campaign takes its audience with it when it starts. Its content is its own from the beginning.
  return sql`
    with recursive ${dependentSegmentsCte(projectId, of.segment)},
    named (ids, events) as (
      select array_agg(s.id::text), array_agg('segment.' || s.slug || '.entry') || array_agg('segment.' || s.slug || '.exit')
      from dependents d join segments s on s.project_id = ${projectId} and s.id = d.id
    )
    select true, c.from_address from campaigns c, named
    where c.project_id = ${projectId} and c.status = 'SCHEDULED' and c.deleted_at is null and c.uses -> 'segments' ?| named.ids
    union all
    select live.* from named cross join lateral (${liveGraphSendersSql(
      projectId,
      sql`(
        w.enabled and g.version = w.version and (
          w.trigger_type = 'SCHEDULE' and w.trigger_config ->> 'segmentId' = any(named.ids)
          or w.trigger_type = 'EVENT' and w.trigger_config ->> 'eventName' = any(named.events))
        or g.uses -> 'segments' ?| named.ids
        or g.uses -> 'awaited' ?| named.events)`,
    )}) as live`
}

/** Senders in the current graphs of enabled workflows, and in graphs that executions still follow. */
const liveGraphSendersSql = (projectId: string, which: RawBuilder<unknown>) =>
  graphSendersSql(projectId, sql`true`, sql`${which} and (w.enabled and g.version = w.version or ${isFollowedSql})`)

const isFollowedSql = sql`exists (
  select from workflow_executions e
  where e.project_id = g.project_id and e.workflow_id = g.workflow_id and e.version = g.version and e.status in ('RUNNING', 'WAITING'))`

const TEMPLATES_OF_GRAPH = sql`array(select jsonb_array_elements_text(g.uses -> 'templates')::uuid)`

const graphSendersSql = (projectId: string, isLive: RawBuilder<unknown>, which: RawBuilder<unknown>) => sql`
  select ${isLive}, t.from_address from workflows w
  join workflow_graphs g on g.project_id = w.project_id and g.workflow_id = w.id
  left join templates t on t.project_id = g.project_id and t.id = any(${TEMPLATES_OF_GRAPH})
  where w.project_id = ${projectId} and ${which}`

/** Locks the templates of a workflow against changes until the transaction ends, also of their sender. Call it with the workflow locked. */
export const lockTemplatesOf = (tx: Tx, { projectId, id }: { projectId: string; id: string }) =>
  many(tx)`
    select from templates t
    where t.project_id = ${projectId} and t.id in (
      select jsonb_array_elements_text(g.uses -> 'templates')::uuid from workflows w
      join workflow_graphs g on g.project_id = w.project_id and g.workflow_id = w.id and g.version = w.version
      where w.project_id = ${projectId} and w.id = ${id})
    order by t.id for share of t
  `
