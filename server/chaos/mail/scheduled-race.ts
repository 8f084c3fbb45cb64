import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { type connect, many } from '../../src/db/index.ts'
import type { Random } from '../support/random.ts'

type Target = { urls: string[]; secretKey: string; projectId: string; db: ReturnType<typeof connect> }

const EVERY_MS = 40
/** Emails that are due about now: a worker may be claiming them. */
const DUE_WITHIN = '300 milliseconds'
const PATIENCE_MS = 5_000

/** Cancels and moves scheduled emails at the moment when they fall due. `cancelled` are those that a node has confirmed. */
export function raceScheduled({ urls, secretKey, projectId, db }: Target, random: Random) {
  const cancelled = new Set<string>()
  const headers = { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' }
  let isStopping = false

  const ask = (path: string, method: string, body?: object) =>
    fetch(`${urls[random.below(urls.length)]}${path}`, {
      method,
      headers: body ? headers : { authorization: headers.authorization },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(PATIENCE_MS),
    })

  async function race(id: string) {
    if (random.chance(0.5)) {
      const answer = await ask(`/emails/${id}/cancel`, 'POST')
      if (answer.status === 200) cancelled.add(id)
    } else {
      const sendAt = random.chance(0.5) ? null : new Date(Date.now() + random.below(1_000)).toISOString()
      await ask(`/emails/${id}`, 'PATCH', { sendAt })
    }
  }

  async function run() {
    for (; !isStopping; await sleep(EVERY_MS)) {
      // Nodes and the database are killed meanwhile: a race that fails proves nothing.
      const due = await many(
        db,
        sql<{ id: string }>`
          select id from emails where project_id = ${projectId} and state in ('deferred', 'queued') and send_at < now() + ${DUE_WITHIN}::interval
          order by send_at desc limit 12
        `,
      ).catch(() => [])
      await Promise.all(due.filter(() => random.chance(0.3)).map(({ id }) => race(id).catch(() => {})))
    }
  }

  const running = run()
  return {
    cancelled,
    stop() {
      isStopping = true
      return running
    },
  }
}
