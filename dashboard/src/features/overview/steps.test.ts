import { expect, test } from 'vitest'
import { isTrialDomain, trialDomain } from '../../people/trial-domain.ts'
import { stepsOf } from './steps.ts'

const NOTHING = {
  hasSentEmail: false,
  contactCount: 0,
  domains: [],
  hasTrackedEvent: false,
  lastCampaignSentAt: null,
  hasEnabledWorkflow: false,
  isSandbox: true,
}
const doneOf = (facts: Partial<Parameters<typeof stepsOf>[0]>) =>
  stepsOf({ ...NOTHING, ...facts })
    .filter(({ isDone }) => isDone)
    .map(({ name }) => name)

test('with a sandbox the first email comes first, without one the domain', () => {
  expect(stepsOf(NOTHING).map(({ name }) => name)).toEqual(['email', 'api', 'domain', 'people', 'real'])
  expect(stepsOf({ ...NOTHING, isSandbox: false })[0]!.name).toBe('domain')
})

test('what the user wants to send decides the order of the other steps', () => {
  const namesOf = (facts: object) => stepsOf({ ...NOTHING, ...facts }).map(({ name }) => name)
  expect(namesOf({ purpose: 'marketing' })).toEqual(['email', 'people', 'domain', 'real', 'api'])
  expect(namesOf({ purpose: 'both' })).toEqual(['email', 'domain', 'api', 'people', 'real'])
  expect(namesOf({ purpose: 'marketing', isSandbox: false })).toEqual(['domain', 'email', 'people', 'real', 'api'])
})

test('the domain of the first email is not counted as the own domain of the user', () => {
  const trial = { domain: trialDomain('0190a0b0-0000-7000-8000-0123456789ab'), verified: true }
  expect(isTrialDomain(trial.domain)).toBe(true)
  expect(doneOf({ ...NOTHING, domains: [trial] })).toEqual([])
  expect(doneOf({ ...NOTHING, domains: [trial, { domain: 'example.com', verified: true }] })).toEqual(['domain'])
  expect(doneOf({ ...NOTHING, domains: [{ domain: 'example.com', verified: false }] })).toEqual([])
})

test('steps are done by facts', () => {
  expect(doneOf({ ...NOTHING, hasSentEmail: true, contactCount: 2 })).toEqual(['email'])
  expect(doneOf({ ...NOTHING, hasTrackedEvent: true, contactCount: 3 })).toEqual(['api', 'people'])
  expect(doneOf({ lastCampaignSentAt: '2026-01-01T00:00:00.000Z' })).toEqual(['real'])
  expect(doneOf({ hasEnabledWorkflow: true })).toEqual(['real'])
})
