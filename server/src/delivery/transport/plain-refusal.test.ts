import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GENUINE_REPLIES, REFUSALS_OF_US } from '../../../test/support/delivery/replies.ts'
import { isPlainRefusal } from './plain-refusal.ts'

const recipientOf = (reply: string) => (reply.includes('bob@yahoo.com') ? 'bob@yahoo.com' : 'bob@example.com')
const isPlain = (reply: string) => isPlainRefusal(reply, recipientOf(reply))

describe('a refusal is plain', () => {
  test.each(GENUINE_REPLIES)('when a real server says that the recipient is unknown: %s', (reply) => {
    expect(isPlain(reply)).toBe(true)
  })

  test('whatever the recipient is called', () => {
    for (const recipient of ['blocked@example.com', 'no-such.plan+x@mail.example.co', "o'hara@example.com"])
      for (const reply of GENUINE_REPLIES.filter((each) => !each.replaceAll('bob@example.com', '').includes('bob')))
        expect([isPlainRefusal(reply.replaceAll('bob@example.com', recipient), recipient), reply]).toEqual([true, reply])
  })
})

describe('a refusal is not plain', () => {
  test.each(REFUSALS_OF_US)('when it says more: %s', (reply) => {
    expect(isPlain(reply)).toBe(false)
  })

  test.each([
    '550',
    '550 5.1.1',
    '550 5.1.1 <bob@example.com>',
    '554 Transaction failed',
    '550 Your account has been disabled',
    '550 5.7.1 <bob@example.com>: Sender address rejected: User unknown',
    '550 Domain not found',
    '550 Requested action not taken: mailbox unavailable. Reject due to policy restrictions.',
    '550 no such user.Contact billing',
    '550 User unknown ⛔',
  ])('when it does not say so: %s', (reply) => {
    expect(isPlain(reply)).toBe(false)
  })

  test('when it names somebody who only happens to be the recipient', () => {
    expect(isPlainRefusal('550 User unknown, contact billing', 'billing@example.com')).toBe(false)
    expect(isPlainRefusal('550 User unknown, contact billing', 'bob@billing.example')).toBe(false)
  })

  test('with any one foreign word, anywhere', () => {
    const letters = fc
      .array(fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzäößéñçłя約'), { minLength: 4, maxLength: 14 })
      .map((each) => each.join(''))
    const isForeign = (word: string) => !isPlainRefusal(`550 user unknown ${word}`, 'nobody@example.com')
    const foreign = fc
      .oneof(letters, fc.constantFrom('trial', 'plan', 'licence', 'contract', 'blocked', 'policy', 'quota', 'sender', 'connector'))
      .filter(isForeign)
    fc.assert(
      fc.property(fc.constantFrom(...GENUINE_REPLIES), foreign, fc.nat(), (reply, word, at) => {
        const words = reply.split(' ')
        // After the code.
        words.splice(1 + (at % words.length), 0, word)
        expect(isPlain(words.join(' '))).toBe(false)
      }),
      { numRuns: 2_000 },
    )
  })

  test.each([
    'trial',
    'ended',
    'plan',
    'licence',
    'contract',
    'blocked',
    'denied',
    'policy',
    'quota',
    'sender',
    'connector',
    'relay',
    'disabled',
    'expired',
    'your',
  ])('with the word %s alone', (word) => {
    expect(isPlain(`550 5.1.1 user unknown ${word}`)).toBe(false)
  })
})
