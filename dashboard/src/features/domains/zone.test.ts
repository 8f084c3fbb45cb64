import { expect, test } from 'vitest'
import { nameInZone } from './zone.ts'

test.each([
  ['s1._domainkey.example.com', 'example.com', 's1._domainkey'],
  ['example.com', 'example.com', '@'],
  ['_dmarc.other.org', 'example.com', '_dmarc.other.org'],
  ['notexample.com', 'example.com', 'notexample.com'],
])('%s in the zone %s is %s', (name, domain, short) => {
  expect(nameInZone(name, domain)).toBe(short)
})
