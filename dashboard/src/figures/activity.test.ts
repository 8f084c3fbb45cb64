import { expect, test } from 'vitest'
import { describeUpcoming, isByMachine, pathOf, subjectOf } from './activity.ts'

test('an activity names what it is about', () => {
  expect(subjectOf({ type: 'event.triggered', metadata: { eventName: 'signup', data: {} } })).toBe('signup')
  expect(subjectOf({ type: 'email.sent', metadata: { subject: 'Welcome', emailId: 'e1' } })).toBe('Welcome')
  expect(subjectOf({ type: 'workflow.started', metadata: { workflowName: 'Trial' } })).toBe('Trial')
  expect(subjectOf({ type: 'contact.subscribed', metadata: {} })).toBe('')
})

test('an activity opens the page of what it is about', () => {
  expect(pathOf({ type: 'email.opened', metadata: { emailId: 'e1', campaignId: 'c1' } })).toBe('/emails/e1')
  expect(pathOf({ type: 'workflow.failed', metadata: { workflowId: 'w1', executionId: 'x1' } })).toBe('/workflows/w1/executions?peek=x1')
  expect(pathOf({ type: 'campaign.sent', metadata: { campaignId: 'c1' } })).toBe('/campaigns/c1')
  expect(pathOf({ type: 'event.triggered', metadata: { eventName: 'signup' } })).toBe(undefined)
})

test('what machines do is known as such', () => {
  expect(isByMachine({ metadata: { machine: true } })).toBe(true)
  expect(isByMachine({ metadata: {} })).toBe(false)
})

test('what is due reads as a sentence', () => {
  const base = { id: 'i', timestamp: '2026-01-01T00:00:00.000Z', contactId: null, contactEmail: null }
  expect(describeUpcoming({ ...base, type: 'campaign.scheduled', metadata: { campaignName: 'May news' } })).toBe('May news is sent')
  expect(
    describeUpcoming({ ...base, type: 'workflow.email.scheduled', contactEmail: 'ada@example.com', metadata: { workflowName: 'Trial' } }),
  ).toBe('ada@example.com continues in Trial')
})
