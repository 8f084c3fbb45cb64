import { CAPACITY } from '../../src/delivery/sender/limits/capacity.ts'
import type { Outcome } from './attacks.ts'

/** Measurements from inside the node. */
export type Measured = { maxRss: number; p99DelayMs: number; maxDelayMs: number }
/** What the neighbours experienced in one phase of a run. */
export type Phase = Measured & {
  answers: number
  medianMs: number
  worstMs: number
  /** Requests of neighbours without a good answer, by path and status. */
  refused: Record<string, number>
  emails: number
  medianEmailMs: number
  worstEmailMs: number
  /** Emails of neighbours that did not arrive in time. */
  missing: number
  /** Most emails of the attacker that workers held at once. */
  slots: number
  attacker?: Outcome
}

const MB = 1024 * 1024
/** Bounds that hold on any machine. A quarter of a worker's slots is reserved for projects with few emails. */
const BOUNDS = { rss: 768 * MB, answer: 64 * 1024, page: 12 * MB, slots: 0.75 * CAPACITY, heldBodies: 8 }
/** Ratios and times. Only the long run judges these: nothing else uses the machine then. */
const TIMES = { ratio: 5, p99DelayMs: 100, maxDelayMs: 500 }
/** Largest message of the attacks that are slow to read, and what reading it may cost: memory, and the longest turn of the event loop. */
const MESSAGES: Record<string, number> = {
  'reading: 1 MB of parentheses': 4 * MB,
  'reading: 40 MB of parentheses': 2 * 40 * MB,
  'reading: a header of ten million lines': 2 * 38 * MB,
  'reading: received parentheses': 4 * 20 * MB,
  'reading: a received header of six million lines': 4 * 23 * MB,
  'reading: previews of 30 MB': 2 * 31 * MB,
}
const READING = { memory: 8, delay: 10, leastDelayMs: 20 }
/** Attacks whose requests break a documented limit. */
const ILLEGAL = /^(validation errors|large events|conditions that are too deep|conditions with too many)/
/** A refusal is expected, an internal error is not. */
const mayAnswer = (status: string) =>
  ['none', 'held'].includes(status) || status.startsWith('smtp ') || Number(status) < 500 || status === '503'

export const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const ratio = (value: number, idle: number) => value / Math.max(idle, 1)
const megabytes = (bytes: number) => `${Math.round(bytes / MB)} MB`

/** Rules about refusals, memory and slots. */
export function judgeStructure(attack: string, phase: Phase): string[] {
  const { attacker, refused, missing, maxRss, slots } = phase
  const largest = attacker?.largestAnswer ?? 0
  const unexpected = Object.keys(attacker?.statuses ?? {}).filter((status) => !mayAnswer(status))
  const rules: [boolean, string][] = [
    [Object.keys(refused).length > 0, `neighbours were refused: ${JSON.stringify(refused)}`],
    [missing > 0, `${missing} emails of neighbours did not arrive in time`],
    [maxRss > BOUNDS.rss, `the node took ${megabytes(maxRss)} of memory`],
    [slots > BOUNDS.slots, `the attacker's emails took ${slots} places of a worker`],
    [largest > (attack.startsWith('pages') ? BOUNDS.page : BOUNDS.answer), `an answer had ${largest} bytes`],
    [(attacker?.mostHeld ?? 0) > BOUNDS.heldBodies, `${attacker?.mostHeld} bodies of 42 MB were held at once`],
    [ILLEGAL.test(attack) && (attacker?.statuses[200] ?? 0) > 0, `${attacker?.statuses[200]} requests beyond the limits were accepted`],
    [unexpected.length > 0, `the attacker was answered ${unexpected.join()}`],
    [(attacker?.withoutRetryAfter ?? 0) > 0, `${attacker?.withoutRetryAfter} refusals came without Retry-After`],
  ]
  return rules.filter(([isBroken]) => isBroken).map(([, what]) => `${attack}: ${what}`)
}

export function judgeTimes(attack: string, phase: Phase, idle: Phase): string[] {
  const rules: [boolean, string][] = [
    [
      ratio(phase.medianMs, idle.medianMs) > TIMES.ratio,
      `answers to neighbours took ${ratio(phase.medianMs, idle.medianMs).toFixed(1)} × as long`,
    ],
    [
      ratio(phase.medianEmailMs, idle.medianEmailMs) > TIMES.ratio,
      `emails of neighbours took ${ratio(phase.medianEmailMs, idle.medianEmailMs).toFixed(1)} × as long`,
    ],
    [phase.p99DelayMs > TIMES.p99DelayMs, `the event loop was late by ${phase.p99DelayMs} ms (p99)`],
    [
      attack in MESSAGES && phase.maxDelayMs > READING.delay * Math.max(idle.maxDelayMs, READING.leastDelayMs),
      `the longest turn of the event loop took ${phase.maxDelayMs} ms, when idle ${idle.maxDelayMs} ms`,
    ],
    [
      phase.maxRss - idle.maxRss > READING.memory * (MESSAGES[attack] ?? Number.POSITIVE_INFINITY),
      `memory grew by ${megabytes(phase.maxRss - idle.maxRss)}, more than ${READING.memory} × the messages`,
    ],
    [phase.maxDelayMs > TIMES.maxDelayMs, `the event loop was late by ${phase.maxDelayMs} ms`],
  ]
  return rules.filter(([isBroken]) => isBroken).map(([, what]) => `${attack}: ${what}`)
}

/** One row of the report: ratios are to the idle phase. */
export const columns = [
  'answers: median',
  '×',
  'worst',
  'emails: median',
  '×',
  'worst',
  'loop delay p99',
  'max',
  'RSS',
  'slots',
  'attacker',
] as const

export function cells(phase: Phase, idle: Phase): string[] {
  const { medianMs, worstMs, medianEmailMs, worstEmailMs, p99DelayMs, maxDelayMs, maxRss, slots, attacker } = phase
  const ms = (value: number) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`
  return [
    ms(medianMs),
    ratio(medianMs, idle.medianMs).toFixed(1),
    ms(worstMs),
    ms(medianEmailMs),
    ratio(medianEmailMs, idle.medianEmailMs).toFixed(1),
    ms(worstEmailMs),
    `${p99DelayMs} ms`,
    `${maxDelayMs} ms`,
    megabytes(maxRss),
    `${slots}`,
    Object.entries(attacker?.statuses ?? {})
      .map(([status, count]) => `${count} × ${status}`)
      .join(', '),
  ]
}
