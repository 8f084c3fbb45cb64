import { sql } from 'kysely'
import { many, type Tx } from '../../src/db/index.ts'
import { groupBy } from '../../src/lib/collections/group-by.ts'
import type { ReceivedMessage } from '../../test/support/servers/smtp-server.ts'
import { type Check, checkAgreement, checkRules } from '../support/check.ts'
import type { Sent } from '../support/load.ts'
import type { TrackAck, TrackCall } from '../track/track.ts'
import { type ChaosWorkflow, START } from './workflow.ts'
import { checkWaitsByModel } from './workflow-waits-check.ts'

type Known = {
  projectId: string
  workflow: ChaosWorkflow
  sent: ReadonlyMap<string, Sent<TrackCall, TrackAck>>
  received: ReceivedMessage[]
  answer: string
  acknowledged: ReadonlyMap<string, number>
  waitSeconds: number
}

export const LOST = 'a contact that entered, and has no execution'
export const TWICE = 'arrived more than once'

/** All there are. The second time through the loop the contact has been reminded. */
const PATHS = [
  { path: 'trigger mail delay wait second thank answered', exit: 'answered', reminded: false },
  { path: 'trigger mail delay wait second once', exit: 'once', reminded: false },
  { path: 'trigger mail delay wait ask remind mail delay wait second thank answered', exit: 'answered', reminded: true },
  { path: 'trigger mail delay wait ask remind mail delay wait second once', exit: 'once', reminded: true },
  { path: 'trigger mail delay wait ask remind mail delay wait ask silent', exit: 'silent', reminded: true },
]

export const workflowChecks = (known: Known): Check[] => [
  checkEntries(known),
  checkPaths(known),
  checkWaits(known),
  checkWaitsByModel(known),
  checkEffects(known),
  async (tx) => checkMessages(await listEmails(tx, known.projectId), known.received),
  checkAgreement(known.projectId),
]

/** Every contact whose request was acknowledged is in the workflow, and no contact is twice. */
const checkEntries = ({ projectId, workflow, sent }: Known) => {
  const starts = [...sent.values()].filter(({ call }) => call.body.event === START)
  const entered = starts.filter(({ ack }) => ack).map(({ call }) => call.body.email)
  const asked = starts.map(({ call }) => call.body.email)
  const executions = sql`
    select c.email, count(e.id) as n from contacts c
    left join workflow_executions e on e.project_id = c.project_id and e.contact_id = c.id and e.workflow_id = ${workflow.id}
    where c.project_id = ${projectId} group by 1`
  return checkRules({
    [LOST]: sql`
      select s.email, x.n from jsonb_array_elements_text(${JSON.stringify(entered)}::jsonb) as s(email)
      left join (${executions}) as x on x.email = s.email where coalesce(x.n, 0) = 0
    `,
    'a contact with two executions': sql`select * from (${executions}) as x where x.n > 1`,
    'an execution of a contact that nobody sent': sql`
      select * from (${executions}) as x where x.n > 0 and not x.email in (select jsonb_array_elements_text(${JSON.stringify(asked)}::jsonb))
    `,
    'a reaction that is left': sql`select * from reactions where project_id = ${projectId}`,
  })
}

/** The steps of each execution with their names, in order. */
const stepsOf = ({ projectId, workflow }: Known) => sql`
  select s.*, n.name, lead(n.name) over visits as next
  from workflow_step_executions s
  join jsonb_each_text(${JSON.stringify(workflow.steps)}::jsonb) as n(name, id) on n.id = s.step_id::text
  where s.project_id = ${projectId}
  window visits as (partition by s.execution_id order by s.visit)`

const checkPaths = (known: Known) =>
  checkRules({
    'an execution that has not ended, or did not take exactly one of the paths': sql`
      select e.id, e.status, e.exit_reason, e.visits, p.path from workflow_executions e
      left join (
        select execution_id, string_agg(name, ' ' order by visit) as path, max(visit) as last, bool_and(status = 'COMPLETED' and completed_at is not null) as done
        from (${stepsOf(known)}) as s group by 1
      ) as p on p.execution_id = e.id
      left join jsonb_to_recordset(${JSON.stringify(PATHS)}::jsonb) as a(path text, exit text) on a.path = p.path and a.exit = e.exit_reason
      where e.project_id = ${known.projectId} and (
        e.status <> 'EXITED' or e.completed_at is null or e.due_at is not null or e.awaits is not null or a.path is null or not p.done
        or p.last <> e.visits or p.last <> cardinality(string_to_array(p.path, ' ')))
    `,
    'a contact whose data differs from the path of its execution': sql`
      select c.email, c.data, e.exit_reason, e.visits from workflow_executions e
      join contacts c on c.project_id = e.project_id and c.id = e.contact_id
      where e.project_id = ${known.projectId} and (
        (c.data ? 'answered') <> (e.exit_reason = 'answered')
        or (c.data ? 'reminded') <> exists (select from workflow_step_executions s
          where s.project_id = e.project_id and s.execution_id = e.id and s.step_id = ${known.workflow.steps.remind}))
    `,
  })

/** Of an event and a timeout exactly one has ended each wait, and the path follows it. */
const checkWaits = (known: Known) => {
  const event = sql`s.output -> 'event'`
  return checkRules({
    'a wait that ended by both or neither, or whose path is another': sql`
      select s.execution_id, s.visit, s.output, s.next from (${stepsOf(known)}) as s where s.name in ('wait', 'second') and not coalesce(
        case when s.output ? 'event' then not s.output ? 'timedOut' and s.next = case s.name when 'wait' then 'second' else 'thank' end
          else (s.output ->> 'timedOut')::boolean and s.next = case s.name when 'wait' then 'ask' else 'once' end end, false)
    `,
    'a delay or a wait that ended before its time': sql`
      select s.execution_id, s.visit, s.name, s.scheduled_for, s.completed_at from (${stepsOf(known)}) as s
      where (s.name = 'delay' or s.name in ('wait', 'second') and s.output ? 'timedOut') and s.completed_at < s.scheduled_for
    `,
    'a wait that was ended by an event of another contact or name': sql`
      select s.execution_id, s.visit, ${event} as event from (${stepsOf(known)}) as s
      join workflow_executions e on e.project_id = s.project_id and e.id = s.execution_id
      left join events v on v.project_id = e.project_id and v.contact_id = e.contact_id and v.id = (${event} ->> 'id')::uuid and v.name = ${known.answer}
      where s.name in ('wait', 'second') and s.output ? 'event' and v.id is null
    `,
    'an event that ended two waits': sql`
      select ${event} ->> 'id' as event, count(*) from (${stepsOf(known)}) as s where s.name in ('wait', 'second') and s.output ? 'event'
      group by 1 having count(*) > 1
    `,
  })
}

/** One email for each visit of the step, and figures that equal a recount. */
const checkEffects = (known: Known) => {
  const { projectId, workflow } = known
  return checkRules({
    'a visit of the SEND_EMAIL step without exactly one email of its own': sql`
      select e.id, v.visits, v.linked, m.emails from workflow_executions e
      left join (
        select s.execution_id, count(*) as visits, count(distinct m.id) as linked from workflow_step_executions s
        left join emails m on m.project_id = s.project_id and m.id = s.email_id and m.workflow_execution_id = s.execution_id
        where s.project_id = ${projectId} and s.step_id = ${workflow.steps.mail} group by 1
      ) as v on v.execution_id = e.id
      left join (
        select workflow_execution_id, count(*) as emails from emails where project_id = ${projectId} group by 1
      ) as m on m.workflow_execution_id = e.id
      where e.project_id = ${projectId} and (v.visits, v.visits) is distinct from (v.linked, m.emails)
    `,
    'an email of no execution': sql`
      select m.id, m.to_address from emails m left join workflow_executions e on e.project_id = m.project_id and e.id = m.workflow_execution_id
      where m.project_id = ${projectId} and e.id is null
    `,
    'figures that differ from a recount': sql`
      select coalesce(f.subject_id, r.subject_id) as subject, coalesce(f.kind, r.kind) as kind, f.n as counted, r.n as there
      from (
        select subject_id, kind, sum(n) as n from (
          select subject_id, kind, n from workflow_figures where project_id = ${projectId}
          union all select subject_id, kind, n from workflow_tallies where project_id = ${projectId}
        ) as both_halves where kind <> 'taken' group by 1, 2
      ) f full join (
        select step_id as subject_id, 'entered' as kind, count(*) as n from workflow_step_executions where project_id = ${projectId} group by 1
        union all
        select step_id, lower(status), count(*) from workflow_step_executions where project_id = ${projectId} group by 1, 2
        union all
        select workflow_id, 'started', count(*) from workflow_executions where project_id = ${projectId} group by 1
        union all
        select workflow_id, lower(status), count(*) from workflow_executions
        where project_id = ${projectId} and status not in ('RUNNING', 'WAITING') group by 1, 2
      ) r on r.subject_id = f.subject_id and r.kind = f.kind
      where f.n is distinct from r.n
    `,
    'transitions that were not taken as often as steps followed each other': sql`
      select t.id, t.n as counted, r.n as there from (
        select x ->> 'id' as id, x ->> 'fromStepId' as from_step, x ->> 'toStepId' as to_step, coalesce(sum(f.n), 0) as n
        from workflow_graphs g join workflows w on w.project_id = g.project_id and w.id = g.workflow_id and w.version = g.version
        cross join lateral jsonb_array_elements(g.graph -> 'transitions') as x
        left join (select subject_id, n, project_id from workflow_figures where kind = 'taken'
          union all select subject_id, n, project_id from workflow_tallies where kind = 'taken') f
          on f.project_id = g.project_id and f.subject_id::text = x ->> 'id'
        where g.project_id = ${projectId} and g.workflow_id = ${workflow.id} group by 1, 2, 3
      ) t left join (
        select s.step_id::text as from_step, s.next_step::text as to_step, count(*) as n from (
          select step_id, lead(step_id) over (partition by execution_id order by visit) as next_step
          from workflow_step_executions where project_id = ${projectId}) as s
        where s.next_step is not null group by 1, 2
      ) r on r.from_step = t.from_step and r.to_step = t.to_step
      where t.n <> coalesce(r.n, 0)
    `,
  })
}

type Row = { id: string; address: string; messageId: string; state: string; error: string | null }

const listEmails = (tx: Tx, projectId: string) =>
  many(tx, sql<Row>`select id, to_address as address, message_id as "messageId", state, error from emails where project_id = ${projectId}`)

/** Every email has arrived once. */
function checkMessages(rows: Row[], received: ReceivedMessage[]) {
  const ids = new Set(rows.map(({ id }) => id))
  const copies = groupBy(received, ({ id }) => id)
  const copiesOf = ({ id }: Row) => copies.get(id) ?? []
  const tell = (row: Row) => `${JSON.stringify(row)} ${JSON.stringify(copiesOf(row))}`
  const isOwn = ({ messageId, address }: Row, copy: ReceivedMessage) =>
    copy.messageId === `<${messageId}>` && copy.recipients.join() === address
  // Without evidence in time, a marketing email of unknown outcome fails: it must then not have arrived.
  const isDone = (row: Row) => (copiesOf(row).length ? row.state === 'sent' : row.state === 'failed' && row.error === 'outcome_unknown')
  return [
    { rule: 'an email that neither arrived nor has a reason why not', cases: rows.filter((row) => !isDone(row)).map(tell) },
    { rule: TWICE, cases: rows.filter((row) => copiesOf(row).length > 1).map(tell) },
    { rule: 'arrived, but is no email of ours', cases: [...copies.keys()].filter((id) => !ids.has(id)) },
    {
      rule: 'arrived at another address, or as another message',
      cases: rows.filter((row) => copiesOf(row).some((copy) => !isOwn(row, copy))).map(tell),
    },
  ]
}
