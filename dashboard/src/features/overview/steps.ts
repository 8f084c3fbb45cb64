import type { Domain } from '@sterna/sdk'
import { isTrialDomain } from '../../projects/trial-domain.ts'

export type StepName = 'email' | 'api' | 'domain' | 'people'
export type Step = { name: StepName; isDone: boolean }

type Facts = {
  hasSentEmail: boolean
  contactCount: number
  domains: Pick<Domain, 'domain' | 'verified'>[]
  hasTrackedEvent: boolean
  isSandbox: boolean
}

/** The first email and the first event create a contact each; more people than that were brought on purpose. */
const OWN_CONTACTS = 2

/** What is left to do, read from facts: nothing is ticked by hand. Without a sandbox the domain comes first. */
export function stepsOf({ hasSentEmail, contactCount, domains, hasTrackedEvent, isSandbox }: Facts): Step[] {
  const email: Step = { name: 'email', isDone: hasSentEmail }
  const call: Step = { name: 'api', isDone: hasTrackedEvent }
  const domain: Step = { name: 'domain', isDone: domains.some((each) => each.verified && !isTrialDomain(each.domain)) }
  const people: Step = { name: 'people', isDone: contactCount > OWN_CONTACTS }
  return isSandbox ? [email, call, domain, people] : [domain, email, call, people]
}
