import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { connect, many } from '../../src/db/index.ts'
import { createLog } from '../../src/lib/process/log.ts'
import type { Check } from '../support/check.ts'
import { until } from '../support/until.ts'

/** For the nodes: the receiver is on this machine. */
export const TOLD_ENV = { WEBHOOK_ALLOW_PRIVATE: '127.0.0.1/32' }

const SETTLE_MS = 180_000
/** Each look writes and reads four tables. */
const LOOK_EVERY_MS = 100
/** Of the deliveries, the share whose first attempt goes wrong: hangs, drips, or one of these ways in turn. */
const BAD_SHARE = 0.02
const BAD: [name: string, answer: (res: ServerResponse) => void][] = [
  ['500', (res) => res.writeHead(500).end()],
  ['redirect', (res) => res.writeHead(302, { location: 'http://127.0.0.1/' }).end()],
  ['closed connection', (res) => res.destroy()],
]
/** Each holds up the endpoint for 10 s. */
const MAX_HANGS = 2
/** Two endpoints, so that a fact that is read once has two deliveries. */
const PATHS = ['1', '2']
/** Longer than a worker uses the secrets that it has read. */
const ROTATE_MS = 40_000

/** A receiver of webhooks that fails, redirects, drips and hangs, with all that it was told. */
export async function startReceiver() {
  /** By path; the newest last. */
  const secrets = new Map<string, string[]>(PATHS.map((path) => [path, []]))
  /** By path and event. */
  const idsOfEvent = new Map<string, Set<string>>()
  const attempts = new Map<string, number>()
  let forged = 0
  let bad = 0
  let rotations = 0
  const answers: Record<string, number> = {}
  const count = (answer: string) => {
    answers[answer] = (answers[answer] ?? 0) + 1
  }

  function take(req: IncomingMessage, body: string, res: ServerResponse) {
    const id = String(req.headers['webhook-id'])
    attempts.set(id, (attempts.get(id) ?? 0) + 1)
    const path = String(req.url).slice(1)
    // Signed with two secrets: of the two latest that we know at least one is among them, even in the moment of a rotation.
    if (
      !secrets
        .get(path)
        ?.slice(-2)
        .some((secret) => isSigned(secret, req, body))
    )
      forged++
    const event = `${path} ${JSON.parse(body).data.id}`
    const isBad = attempts.get(id) === 1 && Math.random() < BAD_SHARE
    if (isBad && ++bad <= MAX_HANGS) return count('none')
    if (isBad && bad % 2) {
      const [name, answer] = BAD[Math.floor(bad / 2) % BAD.length]!
      count(name)
      return answer(res)
    }
    idsOfEvent.set(event, (idsOfEvent.get(event) ?? new Set()).add(id))
    // It has answered, although the reply never ends.
    if (isBad) count('without end')
    if (isBad) res.writeHead(200).write('x')
    else res.end()
  }

  const server = createServer((req, res) => {
    let body = ''
    req.on('data', (chunk) => {
      body += chunk
    })
    req.on('end', () => take(req, body, res))
    req.on('error', () => undefined)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`

  let rotating: NodeJS.Timeout | undefined
  return {
    /** Makes endpoints for tracked events. Their secrets are rotated now and then, so that every request has two signatures. */
    async listen(api: string, secretKey: string) {
      const ask = async (method: string, path: string, body?: object) => {
        const headers = { authorization: `Bearer ${secretKey}`, ...(body ? { 'content-type': 'application/json' } : {}) }
        const answer = await fetch(api + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
        if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
        return (await answer.json()) as { id: string; secret: string }
      }
      const learn = (path: string, secret: string) => {
        const known = secrets.get(path)!
        if (known.at(-1) !== secret) known.push(secret)
      }
      /** A rotation whose answer was lost is learnt before the next one: so at most one secret is unknown. */
      const rotate = async (path: string, id: string) => {
        learn(path, (await ask('GET', `/webhook-endpoints/${id}`)).secret)
        learn(path, (await ask('POST', `/webhook-endpoints/${id}/rotate-secret`, { graceHours: 24 })).secret)
      }
      const made = await Promise.all(
        PATHS.map(async (path) => ({ path, ...(await ask('POST', '/webhook-endpoints', { url: url + path, events: ['event.*'] })) })),
      )
      const rotateAll = async () => {
        await Promise.all(made.map(({ path, id }) => rotate(path, id)))
        rotations++
      }
      await rotateAll()
      // Nodes are killed meanwhile.
      rotating = setInterval(() => void rotateAll().catch(() => {}), ROTATE_MS)
    },
    /** Every tracked event was told to each endpoint, under one id however often, and signed. */
    check:
      (projectId: string, isTracked: (name: RawBuilder<unknown>) => RawBuilder<unknown>): Check =>
      async (tx) => {
        const events = await many<{ id: string }>(tx)`select id from events where project_id = ${projectId} and ${isTracked(sql`name`)}`
        const expected = events.flatMap(({ id }) => PATHS.map((path) => `${path} ${id}`))
        return [
          { rule: 'an event that a webhook endpoint was not told', cases: expected.filter((each) => !idsOfEvent.has(each)) },
          {
            rule: 'an event with several webhook ids',
            cases: [...idsOfEvent].flatMap(([event, ids]) => (ids.size > 1 ? [`${event}: ${[...ids].join(' ')}`] : [])),
          },
          { rule: 'a webhook without a valid signature', cases: forged ? [String(forged)] : [] },
        ]
      },
    /** What it was told, and how it answered. */
    report: () => ({ requests: [...attempts.values()].reduce((sum, tries) => sum + tries, 0), told: attempts.size, answers, rotations }),
    stop() {
      clearInterval(rotating)
      server.closeAllConnections()
      server.close()
    },
  }
}

function isSigned(secret: string, { headers }: IncomingMessage, body: string) {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signed = createHmac('sha256', key).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`).digest('base64')
  return String(headers['webhook-signature']).split(' ').includes(`v1,${signed}`)
}

/** Waits until everything was told. Waits between attempts, and leases of killed workers, end at once. */
export async function settleTold(databaseUrl: string, projectId: string) {
  const db = connect({ url: databaseUrl, max: 1, log: createLog('silent') })
  const isDone = async () => {
    await sleep(LOOK_EVERY_MS)
    await sql`update webhook_deliveries set due_at = now() where project_id = ${projectId} and due_at > now() + interval '20 seconds'`.execute(
      db,
    )
    const open = await many(
      db,
      sql`
      select from webhook_outbox where project_id = ${projectId}
      union all select from webhook_batches where project_id = ${projectId}
      union all select from webhook_deliveries where project_id = ${projectId} and status = 'pending' limit 1`,
    )
    return open.length === 0
  }
  await until('everything was told to the webhook endpoint', SETTLE_MS, isDone).finally(() => db.destroy())
}
