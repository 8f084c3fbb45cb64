import { sql } from 'kysely'
import { afterEach, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/log.ts'
import type { SafeOutcome, SafeRequest } from '../../src/lib/network/safe-fetch.ts'
import { startDeliveries } from '../../src/webhook-endpoints/deliver.ts'
import { startFanOut } from '../../src/webhook-endpoints/fan-out.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { times } from '../support/times.ts'
import { newEndpointProject } from './endpoint-project.ts'

// Without a worker: requests end when the test says so, never because time has passed.
const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' }, withWorker: false })
type Request = { url: string; end: (outcome: SafeOutcome) => void }

/** As in calls.ts. */
const MAX_IN_FLIGHT = 64
const MAX_OF_HOST = 8
const ANSWERED: SafeOutcome = { is: 'status', status: 200, retryAfter: undefined, ms: 5 }
const TIMED_OUT: SafeOutcome = { is: 'failed', reason: 'No reply in time.', ms: 10_000 }

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()))
})

/** Fans out and delivers. A request to a host named `hangs…` waits for the test. */
function startWork() {
  const underWay = new Set<Request>()
  const answered: string[] = []
  const safeFetch = ({ url }: SafeRequest) =>
    new Promise<SafeOutcome>((resolve) => {
      if (!url.startsWith('https://hangs')) {
        answered.push(url)
        return resolve(ANSWERED)
      }
      const request: Request = {
        url,
        end: (outcome) => {
          underWay.delete(request)
          resolve(outcome)
        },
      }
      underWay.add(request)
    })
  const deps = { db: sterna.db, log: createLog('silent'), isHeld: () => true, pollMs: 20 }
  const accountEmails = { secrets: sterna.secrets, log: deps.log, publicUrl: 'http://localhost', isDelivered: false }
  const deliveries = startDeliveries({ ...deps, secrets: sterna.secrets, safeFetch, accountEmails })
  const fanOut = startFanOut({ ...deps, onFannedOut: deliveries.wake })
  stops.push(async () => {
    const ended = Promise.all([fanOut.stop(), deliveries.stop()])
    for (const request of underWay) request.end(ANSWERED)
    await ended
  })
  return { underWay, answered }
}

const happen = (projectId: string, count: number) =>
  sql`
    insert into webhook_outbox (project_id, id, type, name, data)
    select ${projectId}, id, 'event.x', 'x', '{}' from unnest(${times(count, () => newId())}::uuid[]) as id
  `.execute(sterna.db)

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
