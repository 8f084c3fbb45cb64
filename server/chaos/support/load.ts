import { Agent, request } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from './random.ts'

export type Call = { key: string; path: string; headers: Record<string, string>; body: object }
// biome-ignore lint/suspicious/noExplicitAny: a response may be anything; the suite's `judge` checks it
export type Answer = { status: number; body: any }
export type Verdict<Ack> = { acknowledged: Ack } | { wrong: string } | 'again'
/** A call and what its client knows about it. Without `ack` the client does not know whether it took effect. */
export type Sent<C extends Call, Ack> = { call: C; attempts: number; ack?: Ack }
/** `failures`: missing responses and 503s, except those a client did not wait for. */
export type Counts = { acknowledged: number; failures: number; retriedCalls: number }

type Options<C extends Call, Ack> = {
  urls: string[]
  perSecond: number
  random: Random
  clients?: number
  /** Share of calls that are not retried when their first attempt fails. */
  fickleShare?: number
  next: () => C
  judge: (answer: Answer) => Verdict<Ack>
}

type Attempts = { startedAt: number; failures: string[] }

/** Each client has one connection to each node and one call at a time. */
const CLIENTS = 64
const PATIENCE_MS = 5_000
const BACK_OFF_MS = { first: 10, most: 500 }
const TURN_RESOLUTION_MS = 10
/** After an outage clients catch up on at most this much. */
const MAX_DEBT_MS = 1_000
/** A longer time without any response counts as an outage. */
const OUTAGE_MS = 250
/** Share of calls that hang up before the first response and repeat at once, so that both are under way together. */
const HASTY = { share: 0.03, withinMs: 20 }
const FICKLE_SHARE = 0.02

/** Clients that make calls at a steady rate and retry each until it gets a response. */
export function startLoad<C extends Call, Ack>(options: Options<C, Ack>) {
  const { urls, perSecond, random, clients = CLIENTS, fickleShare = FICKLE_SHARE, next, judge } = options
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const sent = new Map<string, Sent<C, Ack>>()
  const wrong: string[] = []
  const counts: Counts = { acknowledged: 0, failures: 0, retriedCalls: 0 }
  /** `failures`: of the attempts of the longest wait. `longestTurnMs`: of the event loop that the clients share, which delays their timers. */
  const waits = { longestSilenceMs: 0, longestWait: { ms: 0, failures: [] as string[] }, outagesMs: 0, longestTurnMs: 0 }
  const turns = monitorEventLoopDelay({ resolution: TURN_RESOLUTION_MS })
  turns.enable()
  let lastAckAt = performance.now()
  let due = performance.now()
  let stopping = false
  let giveUpAt = Number.POSITIVE_INFINITY

  async function myTurn() {
    const now = performance.now()
    due = Math.max(due + 1_000 / perSecond, now - MAX_DEBT_MS)
    if (due > now) await sleep(due - now)
  }

  async function work(client: number) {
    for (await myTurn(); !stopping; await myTurn()) await deliver(client)
  }

  async function deliver(client: number) {
    const record: Sent<C, Ack> = { call: next(), attempts: 0 }
    const failures: string[] = []
    const hangUpMs = random.chance(HASTY.share) ? random.between(0, HASTY.withinMs) : undefined
    const fickle = random.chance(fickleShare)
    sent.set(record.call.key, record)
    for (const startedAt = performance.now(); ; ) {
      if (performance.now() > giveUpAt) return void wrong.push(`${record.call.key}: not answered after ${record.attempts} attempts`)
      const hasty = hangUpMs !== undefined && record.attempts === 0
      // The next attempt goes to the next node: an idempotency key holds on all of them.
      const url = urls[(client + record.attempts++) % urls.length]!
      if (record.attempts === 2) counts.retriedCalls++
      const answer = await post(agent, url, record.call, hasty ? hangUpMs : PATIENCE_MS).catch((err: Error) => err)
      const verdict = answer instanceof Error || answer.status === 503 ? 'again' : judge(answer)
      if (verdict !== 'again') return settle(record, verdict, { startedAt, failures })
      if (!hasty) counts.failures++
      failures.push(describeFailure(answer))
      if (fickle) return
      if (!hasty) await sleep(backOffMs(record.attempts))
    }
  }

  function settle(record: Sent<C, Ack>, verdict: Exclude<Verdict<Ack>, 'again'>, { startedAt, failures }: Attempts) {
    if ('wrong' in verdict) return void wrong.push(`${record.call.key}: ${verdict.wrong}`)
    record.ack = verdict.acknowledged
    counts.acknowledged++
    const now = performance.now()
    const silenceMs = now - lastAckAt
    if (silenceMs > OUTAGE_MS) waits.outagesMs += silenceMs
    waits.longestSilenceMs = Math.max(waits.longestSilenceMs, silenceMs)
    if (now - startedAt > waits.longestWait.ms) waits.longestWait = { ms: now - startedAt, failures }
    lastAckAt = now
  }

  const working = Array.from({ length: clients }, (_, client) => work(client))
  return {
    sent,
    wrong,
    counts,
    waits,
    /** Starts no more calls, and waits until those under way have ended. */
    async stop(withinMs: number) {
      stopping = true
      giveUpAt = performance.now() + withinMs
      await Promise.all(working)
      agent.destroy()
      turns.disable()
      waits.longestTurnMs = turns.max / 1e6
    },
  }
}

/** Pause before the next attempt of a call. */
export const backOffMs = (attempts: number) => Math.min(BACK_OFF_MS.first * 2 ** attempts, BACK_OFF_MS.most)

const describeFailure = (answer: Answer | Error) =>
  answer instanceof Error
    ? ((answer as NodeJS.ErrnoException).code ?? answer.message)
    : `${answer.status} ${answer.body?.error?.message ?? 'without an error'}`

export function post(agent: Agent, url: string, { path, headers, body }: Call, patienceMs = PATIENCE_MS) {
  return new Promise<Answer>((resolve, reject) => {
    const req = request(url + path, { method: 'POST', agent, headers: { 'content-type': 'application/json', ...headers } })
    const impatience = setTimeout(() => req.destroy(new Error('hung up')), patienceMs)
    req.once('close', () => clearTimeout(impatience))
    req.once('error', reject)
    req.once('response', (answer) =>
      text(answer).then((content) => resolve({ status: answer.statusCode!, body: readJson(content) }), reject),
    )
    req.end(JSON.stringify(body))
  })
}

function readJson(content: string) {
  try {
    return JSON.parse(content)
  } catch {
    return content
  }
}
