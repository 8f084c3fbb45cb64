import { sql } from 'kysely'
import { many, type Pool } from '../src/db/index.ts'
import { every } from '../src/lib/every.ts'
import { createLog } from '../src/lib/log.ts'
import type { Random } from './random.ts'

type Race = { db: Pool; projectId: string; publicKey: string; urls: string[]; random: Random; event: string }
type Wait = { execution: string; visit: number; email: string; dueAt: Date }

const POLL_MS = 100
/** Of the waits; the others are not answered. */
const ANSWERED_SHARE = 0.6
/** An answer reaches the database about this much before or after the wait ends. */
const AROUND_MS = 20
/** Time that a request takes until its event exists. */
const LEAD_MS = 8
const PATIENCE_MS = 5_000
const ATTEMPTS = 20

/** Answers when the time of the wait is over: the event and the timeout compete. */
export function raceWaits({ db, projectId, publicKey, urls, random, event }: Race) {
  const known = new Set<string>()
  const timers = new Set<NodeJS.Timeout>()
  const answering = new Set<Promise<unknown>>()

  async function look() {
    const waits = await many(
      db,
      sql<Wait>`
        select e.id as execution, e.visits as visit, c.email, e.due_at as "dueAt"
        from workflow_executions e join contacts c on c.project_id = e.project_id and c.id = e.contact_id
        where e.project_id = ${projectId} and e.awaits = ${event}
      `,
    )
    for (const wait of waits) {
      const key = `${wait.execution} ${wait.visit}`
      if (known.has(key)) continue
      known.add(key)
      if (random.chance(ANSWERED_SHARE)) plan(key, wait)
    }
  }

  function plan(key: string, { email, dueAt }: Wait) {
    const inMs = dueAt.getTime() - Date.now() + random.between(-AROUND_MS, AROUND_MS) - LEAD_MS
    const timer = setTimeout(() => {
      timers.delete(timer)
      const answered = answer(key, email).finally(() => answering.delete(answered))
      answering.add(answered)
    }, inMs)
    timers.add(timer)
  }

  /** Repeated with the same key, on any node, as long as there is no response. */
  async function answer(key: string, email: string) {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const response = await fetch(`${random.pick(urls)}/v1/track`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${publicKey}`, 'idempotency-key': `answer ${key}` },
        body: JSON.stringify({ email, event }),
        signal: AbortSignal.timeout(PATIENCE_MS),
      }).catch(() => undefined)
      await response?.arrayBuffer().catch(() => undefined)
      if (response && response.status < 500) return
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  const looking = every(POLL_MS, 'answer waits', look, createLog('silent'))
  return {
    async stop() {
      await looking.stop()
      for (const timer of timers) clearTimeout(timer)
      await Promise.all(answering)
    },
  }
}
