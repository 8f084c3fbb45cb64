import { expect, test } from 'vitest'
import { describeSelectors, readSelectors, writeSelectors } from './selectors.ts'

test.each([[['*']], [['email.bounce', 'contact.created']], [['email.bounce', 'event.signed up', 'segment.vip.entry', 'email.*']]])(
  '%j is shown and stored unchanged',
  (events) => {
    expect(writeSelectors(readSelectors(events))).toEqual(events)
  },
)

test.each([
  [['*'], 'Everything'],
  [['email.bounce'], 'email.bounce'],
  [['email.bounce', 'email.open', 'event.x'], 'email.bounce and 2 more'],
])('%j is described', (events, text) => {
  expect(describeSelectors(events)).toBe(text)
})
