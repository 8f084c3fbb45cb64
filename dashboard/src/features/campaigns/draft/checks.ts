import type { CampaignPreflight } from '@sterna/sdk'
import { countOf, formatCount } from '../../../ui/text/count.tsx'
import { describeEstimate } from '../report/pace.ts'

export type CampaignCheck = { id: string; level: 'good' | 'warning' | 'wrong'; text: string; part?: string }

const PEOPLE = { one: 'person', many: 'people' }
/** Findings that are named one by one. */
const MAX_NAMED = 5

/** Where the links of starters lead. */
const PLACEHOLDER = /href=["']https?:\/\/example\.com\b/

/** The findings of `preflight` for the campaign with this body, in words. Those that keep it from being sent come first. */
export function checksOf(preflight: CampaignPreflight, body: string): CampaignCheck[] {
  const { audience, sender, missingVariables, lint, estimatedSeconds, ratePerMinute } = preflight
  const about = audience.estimated
  const checks: CampaignCheck[] = [
    audience.recipients > 0
      ? { id: 'people', level: 'good', text: `${countOf(audience.recipients, PEOPLE, about)} will get it`, part: 'recipients' }
      : { id: 'people', level: 'wrong', text: 'No recipients: no contact matches, or none of them may get it' },
    sender.verified
      ? { id: 'sender', level: 'good', text: `${sender.from} may send: its domain is verified` }
      : { id: 'sender', level: 'wrong', text: `${sender.from} may not send: its domain is not verified` },
    ...missingVariables.map(
      ({ variable, contacts }): CampaignCheck => ({
        id: `missing ${variable}`,
        level: 'warning',
        text: `{{ ${variable} }} is empty for ${countOf(contacts, PEOPLE, about)}: give it a fallback, such as {{ ${variable} ?? "you" }}`,
      }),
    ),
    ...(PLACEHOLDER.test(body)
      ? [{ id: 'placeholder', level: 'warning' as const, text: 'Some links still lead to example.com, as in the starter' }]
      : []),
    ...lint
      .filter(({ code }) => code !== 'missing_variable')
      .slice(0, MAX_NAMED)
      .map(
        ({ message, severity, line }, index): CampaignCheck => ({
          id: `lint ${index}`,
          level: severity === 'error' ? 'wrong' : severity === 'warning' ? 'warning' : 'good',
          text: line === undefined ? message : `Line ${line}: ${message}`,
        }),
      ),
    ...(estimatedSeconds === null || ratePerMinute === null || audience.recipients === 0
      ? []
      : [
          {
            id: 'time',
            level: 'good' as const,
            text: `It takes ${describeEstimate(estimatedSeconds)}, at ${formatCount(ratePerMinute)} emails a minute`,
          },
        ]),
  ]
  const order = { wrong: 0, warning: 1, good: 2 }
  return checks.toSorted((a, b) => order[a.level] - order[b.level])
}
