import { median } from './neighbours-check.ts'
import type { SiegeOutcome } from './sieges.ts'

/** What other tenants experienced in one phase. Times in milliseconds. */
export type SiegePhase = {
  emails: number[]
  campaigns: number[]
  webhooks: number[]
  /** Emails that did not arrive in time. */
  missing: number
  maxRss: number
  attacker?: SiegeOutcome
}

const MB = 1024 * 1024
/** `email`: the median, as a multiple of the idle one. The others: the longest, in milliseconds. */
const BOUNDS = { email: 3, campaign: 5_000, webhook: 2_000, rss: 768 * MB }
/** A machine that is slower than the bounds without any attack may take this many times as long as then. */
const SLOW_MACHINE = 2

const worst = (values: number[]) => Math.max(0, ...values)
const ratio = (values: number[], idle: number[]) => median(values) / Math.max(1, median(idle))
const isLate = (values: number[], idle: number[], bound: number) => worst(values) > Math.max(bound, SLOW_MACHINE * worst(idle))
const seconds = (ms: number) => `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 0)} s`

export function judgeSiege(name: string, phase: SiegePhase, idle: SiegePhase): string[] {
  const { emails, campaigns, webhooks, missing, maxRss } = phase
  const rules: [boolean, string][] = [
    [!emails.length || !campaigns.length || !webhooks.length, 'not everything could be measured'],
    [ratio(emails, idle.emails) > BOUNDS.email, `emails took ${ratio(emails, idle.emails).toFixed(1)} × as long`],
    [missing > 0, `${missing} emails did not arrive in time`],
    [isLate(campaigns, idle.campaigns, BOUNDS.campaign), `a campaign started after ${seconds(worst(campaigns))}`],
    [isLate(webhooks, idle.webhooks, BOUNDS.webhook), `a webhook was called after ${seconds(worst(webhooks))}`],
    [maxRss > BOUNDS.rss, `the node took ${Math.round(maxRss / MB)} MB of memory`],
  ]
  return rules.filter(([isBroken]) => isBroken).map(([, what]) => `${name}: ${what}`)
}

/** Medians, their ratio to the idle phase of the same run, and the longest times. */
export const siegeColumns = [
  'emails: median',
  '×',
  'worst',
  'campaign start: median',
  '×',
  'worst',
  'webhook: median',
  '×',
  'worst',
  'RSS',
  'attacker',
]

export function siegeCells(phase: SiegePhase, idle: SiegePhase): string[] {
  const kinds = ['emails', 'campaigns', 'webhooks'] as const
  const times = kinds.flatMap((kind) => [
    seconds(median(phase[kind])),
    ratio(phase[kind], idle[kind]).toFixed(1),
    seconds(worst(phase[kind])),
  ])
  const statuses = Object.entries(phase.attacker?.statuses ?? {}).map(([status, count]) => `${count} × ${status}`)
  return [...times, `${Math.round(phase.maxRss / MB)} MB`, statuses.join(', ')]
}
