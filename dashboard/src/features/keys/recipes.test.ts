import { expect, test } from 'vitest'
import { describeLimits, readWords } from './recipes.ts'

test('a list is read from words', () => {
  expect(readWords(' a.example, b.example\nc.example ')).toEqual(['a.example', 'b.example', 'c.example'])
  expect(readWords(' ')).toBeUndefined()
})

test('the limits of a key are a line', () => {
  const none = { senderDomains: null, networks: null }
  expect(describeLimits({ kind: 'public', scopes: null, ...none })).toBe('tracks events')
  expect(describeLimits({ kind: 'secret', scopes: ['send', 'read'], senderDomains: ['a.example'], networks: ['10.0.0.0/8'] })).toBe(
    'send, read · from a.example · in 10.0.0.0/8',
  )
})
