import { sql } from 'kysely'
import { afterEach, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { startWorkflowEngine } from '../../src/workflows/executions/engine.ts'
import { startWebhooks } from '../../src/workflows/webhooks/webhooks.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { ANSWERED, holdRequests, TIMED_OUT } from '../support/held-requests.ts'
import { times } from '../support/times.ts'
import { newWorkflowProject } from './workflow-project.ts'

// Without a worker: requests end when the test says so, never because time has passed.
const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' }, withWorker: false })
type Project = Awaited<ReturnType<typeof newWorkflowProject>>

/** As in webhooks.ts. */
const MAX_IN_FLIGHT = 64
const MAX_OF_PROJECT = 16

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()))
})

/** Works on executions and their requests. */
function startWork() {
  const { underWay, safeFetch, stop } = holdRequests()
  const deps = { db: sterna.db, log: createLog('silent'), isHeld: () => true }
  const engine = startWorkflowEngine({ ...deps, url: sterna.url })
  const webhooks = startWebhooks({ ...deps, secrets: sterna.secrets, safeFetch, pollMs: 20 })
  stops.push(() => stop([engine, webhooks]))
  return { underWay }
}

/** Starts executions of a workflow with a request to that host. */
async function call(project: Project, host: string, executions: number) {
  const { id } = await project.line([{ type: 'WEBHOOK', config: { url: `https://${host}/in` } }])
  const contacts = await many(
    sterna.db,
    sql<{ id: string }>`
      insert into contacts (project_id, id, email, subscribed)
      select ${project.id}, gen_random_uuid(), n || '@' || ${host}::text, true from generate_series(1, ${executions}::int) as n returning id
    `,
  )
  await Promise.all(contacts.map((contact) => project.start(id, contact.id)))
  return id
}

/** Waits until the executions of a workflow have reached their WEBHOOK step. */
const arrived = (ids: string[], executions: number) =>
  eventually(async () => {
    const { rows } = await sql`
      select from workflow_executions where workflow_id = any(${ids}::uuid[]) and webhook_host is not null
    `.execute(sterna.db)
    expect(rows).toHaveLength(executions)
  })

test('hanging hosts of the many projects of one owner leave the requests of another owner unharmed', async () => {
  const owner = await sterna.newPerson()
  const hanging = await Promise.all(times(5, () => newWorkflowProject(sterna, owner)))
  const others = await newWorkflowProject(sterna, await sterna.newPerson())
  const { underWay } = startWork()
  const workflows = await Promise.all(
    hanging.flatMap((project) => ['hangs1.example.org', 'hangs2.example.org'].map((host) => call(project, host, MAX_OF_PROJECT / 2))),
  )
  await arrived(workflows, hanging.length * MAX_OF_PROJECT)
  await eventually(() => expect(underWay.size).toBe(MAX_IN_FLIGHT))

  // The slot beyond the pool, twice.
  const answered = [await call(others, 'good.example.org', 2), await call(others, 'fine.example.org', 1)]
  for (const [index, count] of [2, 1].entries())
    await eventually(async () =>
      expect((await others.executions(answered[index]!)).map(({ status }) => status)).toEqual(times(count, () => 'COMPLETED')),
    )
  expect(underWay.size).toBe(MAX_IN_FLIGHT)

  // A host that hangs too, of the other owner: as slots are given up, it gets its half before the first owner gets more.
  const theirs = await call(others, 'hangs3.example.org', 8)
  await arrived([theirs], 8)
  const ofOthers = () => [...underWay].filter(({ url }) => url.includes('hangs3')).length
  await eventually(() => expect(ofOthers()).toBe(1))
  for (const request of [...underWay].filter(({ url }) => !url.includes('hangs3')).slice(0, 8)) request.end(ANSWERED)
  await eventually(() => expect(ofOthers()).toBe(8))
  expect(underWay.size).toBe(MAX_IN_FLIGHT)
})

test('a host that timed out gets one request at a time until it answers', async () => {
  const project = await newWorkflowProject(sterna)
  const { underWay } = startWork()
  const requests = () => [...underWay].filter(({ url }) => /hangs[45]/.test(url))
  const id = await call(project, 'hangs4.example.org', 12)
  await arrived([id], 12)
  await eventually(() => expect(requests()).toHaveLength(8))
  for (const request of requests()) request.end(TIMED_OUT)
  await eventually(() => expect(requests()).toHaveLength(1))
  // A second one would be taken together with the first, or with the request to another host.
  const other = await call(project, 'hangs5.example.org', 1)
  await arrived([other], 1)
  await eventually(() => expect(requests()).toHaveLength(2))
  for (const request of requests()) request.end(ANSWERED)
  await eventually(() => expect(requests()).toHaveLength(3))
})
