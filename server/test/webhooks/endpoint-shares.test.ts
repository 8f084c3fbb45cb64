import { sql } from 'kysely'
import { afterEach, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { startDeliveries } from '../../src/webhook-endpoints/deliver.ts'
import { startFanOut } from '../../src/webhook-endpoints/fan-out.ts'
import { createMessageBodies } from '../../src/webhook-endpoints/message-bodies.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { ANSWERED, holdRequests, TIMED_OUT } from '../support/held-requests.ts'
import { times } from '../support/times.ts'
import { newEndpointProject } from './endpoint-project.ts'

// Without a worker: requests end when the test says so, never because time has passed.
const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' }, withWorker: false })

/** As in calls.ts. */
const MAX_IN_FLIGHT = 64
const MAX_OF_HOST = 8

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()))
})

/** Fans out and delivers. */
function startWork() {
  const { underWay, answered, safeFetch, stop } = holdRequests()
  const deps = { db: sterna.db, log: createLog('silent'), isHeld: () => true, pollMs: 20 }
  const accountEmails = { secrets: sterna.secrets, log: deps.log, publicUrl: 'http://localhost', isDelivered: false }
  const deliveries = startDeliveries({ ...deps, secrets: sterna.secrets, safeFetch, accountEmails })
  const fanOut = startFanOut({ ...deps, onFannedOut: deliveries.wake })
  stops.push(() => stop([fanOut, deliveries]))
  return { underWay, answered }
}

const happen = (projectId: string, count: number) =>
  sql`
    with told as (
      insert into webhook_messages (project_id, id, type, name, data)
      select ${projectId}, id, 'event.x', 'x', '{}' from unnest(${times(count, () => newId())}::uuid[]) as id returning id
    )
    insert into webhook_outbox (project_id, id, type, message_ids)
    select ${projectId}, (array_agg(id order by id))[1], 'event.x', array_agg(id order by id) from told
  `.execute(sterna.db)

test('facts that no worker takes are in the report of doctor', async () => {
  const operator = await sterna.newPerson()
  await sql`update users set operator = true where id = ${operator.id}`.execute(sterna.db)
  const project = await newEndpointProject(sterna)
  const notes = async () =>
    (await operator.call('GET', '/doctor')).body.checks
      .filter(({ name }: { name: string }) => name === 'webhooks')
      .map(({ verdict, note }: { verdict: string; note: string }) => [verdict, note])
  await happen(project.id, 2)
  expect(await notes()).toEqual([])
  await sql`update webhook_outbox set created_at = now() - interval '6 minutes'`.execute(sterna.db)
  expect(await notes()).toEqual([['warn', '2 facts wait for more than five minutes; check that a worker runs']])
})

test('bodies are read up to a bound, each once, and those that are gone are told apart', async () => {
  const { id: projectId } = await newEndpointProject(sterna)
  const [gone, ...ids] = times(8, () => newId()) as [string, ...string[]]
  await sql`
    insert into webhook_messages (project_id, id, type, name, data)
    select ${projectId}, id, 'event.x', 'x', jsonb_build_object('text', repeat('x', 1000)) from unnest(${ids}::uuid[]) as id
  `.execute(sterna.db)
  const bodies = createMessageBodies(sterna.db, { maxRead: 3_000 })
  const read = async (wanted: string[]) =>
    [...(await bodies.read(projectId, wanted))].map(([id, body]) => [id, body && JSON.parse(String(body)).data.id])
  const first = await read([gone, ...ids])
  expect(first).toEqual([[gone, null], ...ids.slice(0, 3).map((id) => [id, id])])
  await sql`delete from webhook_messages where project_id = ${projectId} and id = ${ids[0]!}`.execute(sterna.db)
  // Read before; the one after them was not.
  expect(await Promise.all([read(ids.slice(0, 2)), read(ids.slice(3, 5))])).toEqual([
    ids.slice(0, 2).map((id) => [id, id]),
    ids.slice(3, 5).map((id) => [id, id]),
  ])
})

test('dead receivers of the 60 projects of one owner leave the deliveries of another owner unharmed', async () => {
  const owner = await sterna.newPerson()
  const hanging = await Promise.all(times(60, () => newEndpointProject(sterna, owner)))
  const other = await newEndpointProject(sterna, await sterna.newPerson())
  for (const [n, project] of hanging.entries()) {
    await project.endpoint(`https://hangs${n}a.example.org/in`)
    // More endpoints than slots.
    if (n < 10) await project.endpoint(`https://hangs${n}b.example.org/in`)
    await happen(project.id, 3)
  }
  const { underWay, answered } = startWork()
  // All slots, with one batch each: endpoints wait that have got none.
  await eventually(() => expect(new Set([...underWay].map(({ url }) => url)).size).toBe(MAX_IN_FLIGHT))
  await other.endpoint('https://good.example.org/in')
  await happen(other.id, 10)
  await eventually(() => expect(answered).toHaveLength(10))
  expect(new Set([...underWay].map(({ url }) => url)).size).toBe(MAX_IN_FLIGHT)
})

test('an endpoint that timed out gets one request at a time until it answers', async () => {
  const project = await newEndpointProject(sterna)
  const endpoint = await project.endpoint('https://hangs.example.org/in')
  const { underWay } = startWork()
  const requests = () => [...underWay].filter(({ url }) => url === endpoint.url)
  await happen(project.id, 20)
  await eventually(() => expect(requests()).toHaveLength(MAX_OF_HOST))
  for (const request of requests()) request.end(TIMED_OUT)
  await eventually(() => expect(requests()).toHaveLength(1))
  // The rest of its batch was not begun, and is still due.
  expect(
    (await project.deliveries(endpoint.id, '?status=pending&limit=100')).filter(({ attempts }: { attempts: [] }) => attempts.length),
  ).toHaveLength(8)
  for (const request of requests()) request.end(ANSWERED)
  await eventually(() => expect(requests()).toHaveLength(MAX_OF_HOST))
})
