import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { many, type Pool } from '../../src/db/index.ts'
import { every } from '../../src/lib/concurrency/every.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { backOffMs, post } from '../support/load.ts'
import type { Random } from '../support/random.ts'
import { judgeTrack } from '../track/track.ts'

type Race = {
  db: Pool
  projectId: string
  publicKey: string
  urls: string[]
  random: Random
  event: string
  delayId: string
  waitSeconds: number
}
type Wait = { execution: string; visit: number; email: string; deadlineAt: Date }

const POLL_MS = 100
/** Of the waits; the others are not answered. */
const ANSWERED_SHARE = 0.6
/** Share of the answers that are two events of the same name, one after the other, or together. */
const TWICE_SHARE = 0.5
const TOGETHER_SHARE = 0.5
/** Share of the answers that come at any time before the wait ends, instead of at its end. */
const EARLY_SHARE = 0.4
/** An answer reaches the database about this much before or after the wait ends. */
const AROUND_MS = 20
/** Time that a request takes until its event exists. */
const LEAD_MS = 8
const ATTEMPTS = 20

/** Answers waits, most of them when their time is over: the event and the timeout compete. */
export function raceWaits({ db, projectId, publicKey, urls, random, event, delayId, waitSeconds }: Race) {
  const known = new Set<string>()
  const timers = new Set<NodeJS.Timeout>()
  const answering = new Set<Promise<unknown>>()
  const agent = new Agent({ keepAlive: true })
  /** When a client knew of an event, in milliseconds. */
  const acknowledged = new Map<string, number>()

  async function look() {
    const waits = await many(
      db,
      sql<Wait>`
        -- The deadline of a wait after a delay is known during the delay, whenever a worker comes to the wait.
        select e.id as execution, e.visits + case when e.awaits is null then 1 else 0 end as visit, c.email,
          e.deadline_at + make_interval(secs => case when e.awaits is null then ${waitSeconds}::int else 0 end) as "deadlineAt"
        from workflow_executions e join contacts c on c.project_id = e.project_id and c.id = e.contact_id
        where e.project_id = ${projectId} and (e.awaits = ${event} or e.status = 'WAITING' and e.current_step_id = ${delayId})
      `,
    )
    for (const wait of waits) {
      const key = `${wait.execution} ${wait.visit}`
      if (known.has(key)) continue
      known.add(key)
      if (random.chance(ANSWERED_SHARE)) plan(key, wait)
    }
  }

  function plan(key: string, { email, deadlineAt }: Wait) {
    const leftMs = deadlineAt.getTime() - Date.now()
    const inMs = random.chance(EARLY_SHARE)
      ? random.between(Math.max(0, leftMs - waitSeconds * 1_000), leftMs)
      : leftMs + random.between(-AROUND_MS, AROUND_MS) - LEAD_MS
    const keys = random.chance(TWICE_SHARE) ? [`${key} 1`, `${key} 2`] : [key]
    const together = random.chance(TOGETHER_SHARE)
    const timer = setTimeout(() => {
      timers.delete(timer)
      const answered = answerAll(keys, email, { together }).finally(() => answering.delete(answered))
      answering.add(answered)
    }, inMs)
    timers.add(timer)
  }

  async function answerAll(keys: string[], email: string, { together }: { together: boolean }) {
    if (together) return void (await Promise.all(keys.map((key) => answer(key, email))))
    for (const key of keys) await answer(key, email)
  }

  /** Repeated with the same key, on any node, as long as there is no response. */
  async function answer(key: string, email: string) {
    const headers = { authorization: `Bearer ${publicKey}`, 'idempotency-key': `answer ${key}` }
    const call = { key, path: '/v1/track', headers, body: { email, event } }
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const response = await post(agent, random.pick(urls), call).catch(() => undefined)
      const verdict = response && response.status < 500 ? judgeTrack(response) : 'again'
      // The clock of this process is that of the database. A request under way with the same key is answered later.
      if (verdict !== 'again' && 'acknowledged' in verdict) acknowledged.set(verdict.acknowledged.event, Date.now() + 1)
      if (verdict !== 'again') return
      await sleep(backOffMs(attempt))
    }
  }

  const looking = every(POLL_MS, 'answer waits', look, createLog('silent'))
  return {
    acknowledged,
    async stop() {
      await looking.stop()
      for (const timer of timers) clearTimeout(timer)
      await Promise.all(answering)
      agent.destroy()
    },
  }
}
