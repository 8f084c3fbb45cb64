import fc from 'fast-check'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { many, one } from '../../src/db/index.ts'
import { newId } from '../../src/lib/id.ts'
import { useApp } from '../support/app.ts'
import { times } from '../support/times.ts'
import { driveWorkflows } from './driven-workflows.ts'
import { newWorkflowProject } from './workflow-project.ts'

const sterna = useApp({ withWorker: false, env: { RATE_LIMIT_PER_MINUTE: '0' } })

const RUNS = 12
const CONTACTS = 6
const TIMEOUT_AFTER = 6
const MICROS = 1_000_000
const EXIT = -1

/** Steps of a workflow, by index. A step leads to another one, to an EXIT, or back: loops are allowed. */
type Wait = { is: 'wait'; name: string; timeout: number | null; onEvent: number; onTimeout: number }
type Delay = { is: 'delay'; next: number }
type Node = Wait | Delay

const next = fc.integer({ min: EXIT, max: 3 })
const wait: fc.Arbitrary<Node> = fc.record({
  is: fc.constant('wait' as const),
  name: fc.constantFrom('A', 'B'),
  timeout: fc.constantFrom(null, 10, 25),
  onEvent: next,
  onTimeout: next,
})
const delay: fc.Arbitrary<Node> = fc.record({ is: fc.constant('delay' as const), next })
const graph = fc.array(fc.oneof({ weight: 5, arbitrary: wait }, { weight: 1, arbitrary: delay }), { minLength: 1, maxLength: 4 })

/** What happens meanwhile. Without "react" and "advance" there is no worker; "pass" lets deadlines pass. */
const event = fc.record({ contact: fc.nat({ max: CONTACTS - 1 }), name: fc.constantFrom('start', 'A', 'A', 'B', 'B') })
const action = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('track' as const), events: fc.array(event, { minLength: 1, maxLength: 10 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('pass' as const), seconds: fc.constantFrom(0.5, 4, 11, 40) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('react' as const), limit: fc.constantFrom(1, 3, 1_000) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('advance' as const), batch: fc.constantFrom(1, 100) }) },
)

type Action = typeof action extends fc.Arbitrary<infer Some> ? Some : never

/** A transition of a step to itself is refused. */
const leadTo = (from: number, to: number, count: number) => (to === from || to >= count ? EXIT : to)

async function createWorkflow(project: Awaited<ReturnType<typeof newWorkflowProject>>, nodes: Node[]) {
  const { id, version, steps } = await project.create({ eventName: 'start' })
  const ids = nodes.map(() => newId())
  const exitId = newId()
  const idOf = (index: number) => (index === EXIT ? exitId : ids[index]!)
  const waits = nodes.map((node, index) =>
    node.is === 'wait'
      ? { id: ids[index], type: 'WAIT_FOR_EVENT', config: { eventName: node.name, timeout: node.timeout } }
      : { id: ids[index], type: 'DELAY', config: { amount: 5 / 60, unit: 'minutes' } },
  )
  const transitions = nodes.flatMap((node, index) => {
    const to = (target: number) => idOf(leadTo(index, target, nodes.length))
    if (node.is === 'delay') return [{ fromStepId: ids[index], toStepId: to(node.next) }]
    return [
      { fromStepId: ids[index], toStepId: to(node.onEvent) },
      { fromStepId: ids[index], toStepId: to(node.onTimeout), branch: 'timeout' },
    ]
  })
  const answer = await project.call('PUT', `/workflows/${id}/graph`, {
    version,
    steps: [...waits, { id: exitId, type: 'EXIT', config: {} }],
    transitions: [{ fromStepId: steps[0].id, toStepId: ids[0] }, ...transitions],
  })
  expect([answer.status, answer.body.error]).toEqual([200, undefined])
  await project.call('PATCH', `/workflows/${id}`, { enabled: true })
  return { id: id as string, indexOf: (stepId: string) => (stepId === exitId ? EXIT : ids.indexOf(stepId)) }
}

/** Times in microseconds. */
type Stored = { id: string; name: string; n: number; at: number }
/** A visit: the step, and the number of the event that ended it, "timeout" or "over". */
type Visit = { step: number; by: number | 'timeout' | 'over' | undefined; scheduledFor: number | null }

/**
 * The model: from the events of a contact alone, without anything that a worker did. Only the end of a delay is taken from the records,
 * since it counts from when the step ran. Timeouts happen up to `now`.
 */
function walk(nodes: Node[], { start, events, delays, now }: { start: Stored; events: Stored[]; delays: number[]; now: number }) {
  const path: Pick<Visit, 'step' | 'by'>[] = []
  const ends = [...delays]
  let at = start.at
  let id = start.id
  for (let step = 0; step !== EXIT; ) {
    const node = nodes[step]!
    if (node.is === 'delay') {
      const end = ends.shift()
      if (end === undefined || end > now) return path
      path.push({ step, by: 'over' })
      at = end
      id = ''
      step = leadTo(step, node.next, nodes.length)
      continue
    }
    // Deadlines are whole milliseconds.
    const deadline = node.timeout === null ? Number.POSITIVE_INFINITY : Math.floor(at / 1_000) * 1_000 + node.timeout * MICROS
    const [first] = events.filter(
      (each) => each.name === node.name && (each.at > at || (each.at === at && each.id > id)) && each.at < deadline,
    )
    if (!first && deadline + TIMEOUT_AFTER * MICROS > now) return path
    path.push({ step, by: first?.n ?? 'timeout' })
    at = first?.at ?? deadline
    id = first?.id ?? ''
    step = leadTo(step, first ? node.onEvent : node.onTimeout, nodes.length)
  }
  path.push({ step: EXIT, by: 'over' })
  return path
}

const micros = (column: string) => sql`(extract(epoch from ${sql.ref(column)}) * 1000000)::float8`

async function readNow() {
  return (await one(sterna.db, sql<{ now: number }>`select (extract(epoch from now()) * 1000000)::float8 as now`)).now
}

test('the path of an execution and its `lastEvent` follow from the events alone, whatever workers did when', {
  timeout: 300_000,
}, async () => {
  const project = await newWorkflowProject(sterna)
  const worker = driveWorkflows(sterna.db, project.id)
  let people = 0
  let count = 0

  const runOne = async (nodes: Node[], actions: Action[]) => {
    const workflow = await createWorkflow(project, nodes)
    const contacts = await Promise.all(times(CONTACTS, async () => (await project.contacts.create(`r${++people}@example.com`)).id))
    for (const each of actions) {
      if (each.do === 'pass') await worker.pass(each.seconds)
      else if (each.do === 'react') await worker.react(each.limit)
      else if (each.do === 'advance') await worker.advance(each.batch)
      else await worker.record(each.events.map(({ contact, name }) => ({ name, contactId: contacts[contact]!, data: { n: ++count } })))
    }
    await worker.react()
    await worker.advance()
    await worker.pass(30)
    const before = await readNow()
    await worker.advance()
    const after = await readNow()
    for (const contactId of contacts) await compare(workflow, nodes, contactId, { before, after })
    await project.call('POST', `/workflows/${workflow.id}/executions/cancel-all`)
    await project.call('DELETE', `/workflows/${workflow.id}`)
    await sql`delete from events where project_id = ${project.id}`.execute(sterna.db)
  }

  type Workflow = Awaited<ReturnType<typeof createWorkflow>>
  async function compare({ id, indexOf }: Workflow, nodes: Node[], contactId: string, now: { before: number; after: number }) {
    const events = await many(
      sterna.db,
      sql<Stored>`
        select id, name, (data ->> 'n')::int as n, ${micros('created_at')} as at from events
        where project_id = ${project.id} and contact_id = ${contactId} order by created_at, id
      `,
    )
    const start = events.find(({ name }) => name === 'start')
    const [execution] = await many(
      sterna.db,
      sql<{ id: string; lastEvent: { data: { n: number } } | null }>`
        select id, context -> 'lastEvent' as "lastEvent" from workflow_executions where project_id = ${project.id} and workflow_id = ${id} and contact_id = ${contactId}
      `,
    )
    expect(execution !== undefined).toBe(start !== undefined)
    if (!execution || !start) return
    const records = await many(
      sterna.db,
      sql<{
        stepId: string
        isOver: boolean
        output: { event?: { data: { n: number } }; timedOut?: true } | null
        scheduledFor: number | null
      }>`
        select step_id as "stepId", completed_at is not null as "isOver", output, ${micros('scheduled_for')} as "scheduledFor"
        from workflow_step_executions where project_id = ${project.id} and execution_id = ${execution.id} and visit > 1 order by visit
      `,
    )
    const visits = records.map(({ stepId, isOver, output, scheduledFor }): Visit => {
      const by = output?.event?.data.n ?? (output?.timedOut ? 'timeout' : 'over')
      return { step: indexOf(stepId), by: isOver ? by : undefined, scheduledFor }
    })
    const delays = visits.flatMap(({ step, scheduledFor }) => (nodes[step]?.is === 'delay' ? scheduledFor! : []))
    const actual = visits.filter(({ by }) => by !== undefined).map(({ step, by }) => ({ step, by }))
    // Time goes on while the last executions are advanced.
    const least = walk(nodes, { start, events, delays, now: now.before })
    const most = walk(nodes, { start, events, delays, now: now.after })
    expect(actual.slice(0, least.length)).toEqual(least)
    expect(actual).toEqual(most.slice(0, actual.length))
    const last = actual.findLast(({ by }) => typeof by === 'number')
    expect(execution.lastEvent?.data.n).toBe(last?.by)
  }

  await fc.assert(fc.asyncProperty(graph, fc.array(action, { minLength: 8, maxLength: 25 }), runOne), { numRuns: RUNS, endOnFailure: true })
})
