import { expect, test } from 'vitest'
import { nameInZone, zonesOf } from './zone.ts'

test.each([
  ['s1._domainkey.example.com', 'example.com', 's1._domainkey'],
  ['s1._domainkey.mail.example.com', 'example.com', 's1._domainkey.mail'],
  ['example.com', 'example.com', '@'],
  ['_dmarc.other.org', 'example.com', '_dmarc.other.org'],
  ['notexample.com', 'example.com', 'notexample.com'],
])('%s in the zone %s is %s', (name, domain, short) => {
  expect(nameInZone(name, domain)).toBe(short)
})

test.each([
  ['example.com', ['example.com']],
  ['mail.example.com', ['example.com', 'mail.example.com']],
  ['mail.example.co.uk', ['example.co.uk', 'mail.example.co.uk']],
])('the zones of %s are %j', (domain, zones) => {
  expect(zonesOf(domain)).toEqual(zones)
})
