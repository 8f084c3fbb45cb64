import { expect, test } from 'vitest'
import { addressesToCsv, readAddresses } from './pasted-addresses.ts'

test('addresses are found between names, commas, semicolons and lines, each once', () => {
  const text = 'Ada Lovelace <ada@example.com>; "Grace" (grace@example.com)\nalan@example.com, ADA@example.com no-address'
  expect(readAddresses(text)).toEqual(['ADA@example.com', 'grace@example.com', 'alan@example.com'])
})

test('pasted addresses become a CSV file with one column', () => {
  expect(addressesToCsv(readAddresses('a@example.com\nb@example.com'))).toBe('email\na@example.com\nb@example.com')
})
