/** Emails of a window, and how many of them bounced or were complained about. */
export type Figures = { total: number; bounces: number; complaints: number }
export type Windows = { twentyFourHour: Figures; sevenDay: Figures; allTime: Figures }

export const LEVELS = ['healthy', 'warning', 'critical'] as const
export type Level = (typeof LEVELS)[number]

/** Fewer emails prove nothing. */
export const MIN_EMAILS = 100

type Rule = { window: 'sevenDay' | 'allTime'; counts: 'bounces' | 'complaints'; warning: number; critical: number; name: string }

/** The shares from which mailbox providers begin to refuse a sender. */
export const RULES = {
  bounce7Day: { window: 'sevenDay', counts: 'bounces', warning: 0.05, critical: 0.1, name: 'bounce rate of the last 7 days' },
  bounceAllTime: { window: 'allTime', counts: 'bounces', warning: 0.04, critical: 0.08, name: 'bounce rate of all time' },
  complaint7Day: {
    window: 'sevenDay',
    counts: 'complaints',
    warning: 0.000_75,
    critical: 0.0015,
    name: 'complaint rate of the last 7 days',
  },
  complaintAllTime: { window: 'allTime', counts: 'complaints', warning: 0.0003, critical: 0.0012, name: 'complaint rate of all time' },
} satisfies Record<string, Rule>

export type RuleName = keyof typeof RULES
export const RULE_NAMES = Object.keys(RULES) as [RuleName, ...RuleName[]]

export const rate = (part: number, { total }: Pick<Figures, 'total'>) => (total > 0 ? part / total : 0)

function levelOf({ window, counts, warning, critical }: Rule, windows: Windows): Level {
  const figures = windows[window]
  if (figures.total < MIN_EMAILS) return 'healthy'
  const share = rate(figures[counts], figures)
  if (share >= critical) return 'critical'
  return share >= warning ? 'warning' : 'healthy'
}

const percent = (share: number) => `${Number((share * 100).toPrecision(3))} %`

/** The level of each rule, and a sentence for each that is not healthy. */
export function judgeRates(windows: Windows) {
  const levels = Object.fromEntries(RULE_NAMES.map((name) => [name, levelOf(RULES[name], windows)])) as Record<RuleName, Level>
  const sentences = (level: 'warning' | 'critical') =>
    RULE_NAMES.filter((name) => levels[name] === level).map((name) => {
      const rule = RULES[name]
      return `The ${rule.name} is ${percent(rate(windows[rule.window][rule.counts], windows[rule.window]))}; ${level} from ${percent(rule[level])}.`
    })
  const violations = sentences('critical')
  const warnings = sentences('warning')
  return { levels, violations, warnings, shouldDisable: violations.length > 0, isHealthy: !violations.length && !warnings.length }
}
