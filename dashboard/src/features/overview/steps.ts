import type { Domain } from '@sterna/sdk'
import { isTrialDomain } from '../../people/trial-domain.ts'

export type StepName = 'email' | 'api' | 'domain' | 'people' | 'real'
export type SetupStep = { name: StepName; isDone: boolean }

/** The kind of email that a user wants to send; undefined until the question is answered. */
export const PURPOSES = { transactional: 'Transactional', marketing: 'Marketing', both: 'Both' } as const
export type Purpose = keyof typeof PURPOSES

type Facts = {
  hasSentEmail: boolean
  contactCount: number
  domains: Pick<Domain, 'domain' | 'verified'>[]
  hasTrackedEvent: boolean
  lastCampaignSentAt: string | null
  hasEnabledWorkflow: boolean
  isSandbox: boolean
  purpose?: Purpose | undefined
}

/** The steps after the first email. Transactional email begins in the code, marketing with the people. */
const ORDER: Record<Purpose, StepName[]> = {
  transactional: ['api', 'domain', 'people', 'real'],
  marketing: ['people', 'domain', 'real', 'api'],
  both: ['domain', 'api', 'people', 'real'],
}

/** The first email and the first event create a contact each; more people than that were brought on purpose. */
const OWN_CONTACTS = 2

/** The steps left to do, read from facts: nothing is ticked by hand. Without a sandbox the domain comes first. */
export function stepsOf(facts: Facts): SetupStep[] {
  const { hasSentEmail, contactCount, domains, hasTrackedEvent, isSandbox, purpose = 'transactional' } = facts
  const isDone: Record<StepName, boolean> = {
    email: hasSentEmail,
    api: hasTrackedEvent,
    domain: domains.some((each) => each.verified && !isTrialDomain(each.domain)),
    people: contactCount > OWN_CONTACTS,
    real: facts.lastCampaignSentAt !== null || facts.hasEnabledWorkflow,
  }
  const rest = ORDER[purpose]
  const names: StepName[] = isSandbox ? ['email', ...rest] : ['domain', 'email', ...rest.filter((name) => name !== 'domain')]
  return names.map((name) => ({ name, isDone: isDone[name] }))
}
