import type { Campaign, Domain, Result } from '@sterna/sdk'
import { isTrialDomain } from '../../people/trial-domain.ts'

export type Alert = { id: string; tone: 'warning' | 'danger'; text: string; fix: string /** Below the project. */; path: string }

type Facts = {
  domains: Pick<Domain, 'domain' | 'status'>[]
  security?: Pick<Result<'GET /projects/{id}/security'>, 'isDisabled' | 'status'> | undefined
  limits?: Record<'workflows' | 'campaigns' | 'transactional' | 'inbound', { isBlocked: boolean; isWarning: boolean }> | undefined
  paused: { id: string; name: string; reason: string }[]
  doctor?: 'ok' | 'warn' | 'FAIL' | undefined
}

/** Why a campaign is paused, after "is paused:". */
export const PAUSE_ALERTS: Record<NonNullable<Campaign['pausedReason']>, string> = {
  person: 'a member of the team paused it',
  spike: 'too many bounces or complaints at once',
  billing_limit: 'the cap of campaigns is reached',
  audience_failed: 'its recipients could not be written',
  project_disabled: 'the project is stopped',
  provider_quota: 'the quota of the provider is used up',
  provider: 'the provider accepts no email for now',
  domain: 'the domain of its sender is not verified',
  domain_paused: 'the provider refuses email from the domain of its sender',
}

const CAPS = { transactional: 'transactional emails', campaigns: 'campaigns', workflows: 'workflows', inbound: 'received emails' } as const

/** One line for each thing that is wrong, with its fix. Empty when all is well. */
export function alertsOf({ domains, security, limits, paused, doctor }: Facts): Alert[] {
  const caps = limits ? (Object.keys(CAPS) as (keyof typeof CAPS)[]) : []
  return [
    ...(security?.isDisabled
      ? [
          {
            id: 'disabled',
            tone: 'danger' as const,
            text: 'This project is stopped and sends nothing.',
            fix: 'See why',
            path: '/settings/security',
          },
        ]
      : (security?.status.violations ?? []).map((text) => ({
          id: text,
          tone: 'danger' as const,
          text,
          fix: 'See the rates',
          path: '/settings/security',
        }))),
    ...(security?.status.warnings ?? []).map((text) => ({
      id: text,
      tone: 'warning' as const,
      text,
      fix: 'See the rates',
      path: '/settings/security',
    })),
    ...caps
      .filter((category) => limits![category].isBlocked)
      .map((category) => ({
        id: `cap-${category}`,
        tone: 'danger' as const,
        text: `The cap of ${CAPS[category]} is reached.`,
        fix: 'Raise the cap',
        path: '/settings/billing',
      })),
    ...paused.map(({ id, name, reason }) => ({
      id: `campaign-${id}`,
      tone: 'warning' as const,
      text: `The campaign ${name} is paused: ${reason}.`,
      fix: 'Open the campaign',
      path: `/campaigns/${id}`,
    })),
    ...domains
      .filter(({ domain, status }) => status === 'pending' && !isTrialDomain(domain))
      .map(({ domain }) => ({
        id: `domain-${domain}`,
        tone: 'warning' as const,
        text: `${domain} is not verified yet.`,
        fix: 'See its records',
        path: '/domains',
      })),
    ...(doctor === 'FAIL'
      ? [
          {
            id: 'doctor',
            tone: 'danger' as const,
            text: 'A check of this installation fails.',
            fix: 'Open the doctor',
            path: '/doctor',
          },
        ]
      : []),
  ]
}
