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

const worst = (values: number[]) => Math.max(0, ...values)
const ratio = (values: number[], idle: number[]) => median(values) / Math.max(1, median(idle))
const seconds = (ms: number) => `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 0)} s`

/** With the idle time: on a machine that is busy with other work, that alone may exceed the bound. */
const besideIdle = (values: number[], idle: number[]) => `${seconds(worst(values))} (idle: ${seconds(worst(idle))})`

export function judgeSiege(name: string, phase: SiegePhase, idle: SiegePhase): string[] {
  const { emails, campaigns, webhooks, missing, maxRss, attacker } = phase
  const rules: [boolean, string][] = [
    [!emails.length || !campaigns.length || !webhooks.length, 'not everything could be measured'],
    [ratio(emails, idle.emails) > BOUNDS.email, `emails took ${ratio(emails, idle.emails).toFixed(1)} × as long`],
    [attacker?.problem !== undefined, attacker?.problem ?? ''],
    [missing > 0, `${missing} emails did not arrive in time`],
    [worst(campaigns) > BOUNDS.campaign, `a campaign started after ${besideIdle(campaigns, idle.campaigns)}`],
    [worst(webhooks) > BOUNDS.webhook, `a webhook was called after ${besideIdle(webhooks, idle.webhooks)}`],
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
