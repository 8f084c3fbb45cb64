import { expect, test } from 'vitest'
import { isInNetworks, parseCidr } from './cidr.ts'

test.each([
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['192.0.2.7', '192.0.2.7/32'],
  ['2001:db8::/32', '2001:db8::/32'],
  ['2001:DB8::1', '2001:db8::1/128'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['10.0.0.0/33', null],
  ['10.0.0.0/-1', null],
  ['10.0.0.0/', null],
  ['10.0.0/8', null],
  ['0x0a.0.0.1', null],
  ['::ffff:10.0.0.1/128', null],
  ['example.com', null],
  ['', null],
])('%s is read as %s', (text, cidr) => expect(parseCidr(text)).toBe(cidr))

test.each([
  ['10.1.2.3', true],
  ['::ffff:10.1.2.3', true],
  ['11.0.0.1', false],
  ['2001:db8:1::1', true],
  ['2001:db9::1', false],
  ['nonsense', false],
])('%s is in the networks: %s', (ip, isIn) => expect(isInNetworks(ip, ['10.0.0.0/8', '2001:db8::/32'])).toBe(isIn))
