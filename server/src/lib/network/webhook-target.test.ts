import { describe, expect, test } from 'vitest'
import { isGlobalAddress, refusalOfAddress, refusalOfHeader, refusalOfUrl } from './webhook-target.ts'

const nothing = { allowed: [] as string[], ownHost: 'mail.example.com' }
const refusal = (url: string, target = nothing) => {
  const read = refusalOfUrl(url, target)
  return 'refusal' in read ? read.refusal : undefined
}

describe('a public address', () => {
  test.each(['93.184.216.34', '1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111', '2a00:1450::1'])('%s', (ip) => {
    expect(isGlobalAddress(ip)).toBe(true)
  })

  test('is no name', () => {
    expect(isGlobalAddress('example.com')).toBe(false)
  })
})

describe('an address that is not public', () => {
  test.each([
    ['loopback', '127.0.0.1'],
    ['loopback, another', '127.255.255.254'],
    ['this host', '0.0.0.0'],
    ['this network', '0.1.2.3'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.1.1'],
    ['link-local', '169.254.1.1'],
    ['metadata of AWS, Google Cloud and Azure', '169.254.169.254'],
    ['metadata of AWS ECS', '169.254.170.2'],
    ['metadata of Azure, in the public range', '168.63.129.16'],
    ['metadata of Alibaba Cloud', '100.100.100.200'],
    ['metadata of Oracle Cloud', '192.0.0.192'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.1'],
    ['documentation', '203.0.113.1'],
    ['benchmarking', '198.18.0.1'],
    ['6to4 relays', '192.88.99.1'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['IPv6 loopback', '::1'],
    ['IPv6 unspecified', '::'],
    ['IPv4-mapped', '::ffff:127.0.0.1'],
    ['IPv4-mapped, of a public address', '::ffff:1.1.1.1'],
    ['IPv4-compatible', '::7f00:1'],
    ['IPv4-translated', '::ffff:0:7f00:1'],
    ['NAT64', '64:ff9b::7f00:1'],
    ['NAT64, local', '64:ff9b:1::7f00:1'],
    ['6to4', '2002:7f00:1::'],
    ['Teredo', '2001::1'],
    ['unique local', 'fd00::1'],
    ['metadata of AWS by IPv6', 'fd00:ec2::254'],
    ['metadata of Google Cloud by IPv6', 'fd20:ce::254'],
    ['IPv6 link-local', 'fe80::1'],
    ['IPv6 site-local', 'fec0::1'],
    ['IPv6 multicast', 'ff02::1'],
    ['IPv6 documentation', '2001:db8::1'],
    ['IPv6 documentation', '3fff::1'],
    ['IPv6 discard', '100::1'],
    ['not assigned', '4000::1'],
  ])('%s: %s', (_, ip) => {
    expect(isGlobalAddress(ip)).toBe(false)
    expect(refusalOfAddress(ip, 443, nothing.allowed)).toBe('The address is not a public one.')
  })
})

describe('an allowed network', () => {
  const allowed = ['10.1.0.0/16', 'fd00:1::/32']

  test('admits its own addresses on every port, also as IPv4-mapped ones', () => {
    for (const ip of ['10.1.2.3', '::ffff:10.1.2.3', 'fd00:1::5']) expect(refusalOfAddress(ip, 5432, allowed)).toBeUndefined()
  })

  test('admits no others', () => {
    for (const ip of ['10.2.0.1', 'fd00:2::1', '127.0.0.1', '169.254.169.254'])
      expect(refusalOfAddress(ip, 443, allowed)).toBe('The address is not a public one.')
  })

  test('admits names of one label, as containers have: their address decides', () => {
    expect(refusal('http://automation:5678/hook')).toBe('The host is not a public one.')
    expect(refusal('http://automation:5678/hook', { ...nothing, allowed })).toBeUndefined()
    expect(refusal('http://localhost:5678/', { ...nothing, allowed })).toBe('The host is not a public one.')
  })
})

describe('a port', () => {
  test.each([80, 443, 1024, 3000, 8080, 8443, 65535])('%s is allowed', (port) => {
    expect(refusalOfAddress('1.1.1.1', port, nothing.allowed)).toBeUndefined()
    expect(refusal(`https://hook.example.org:${port}/`)).toBeUndefined()
  })
  test.each([0, 1, 21, 22, 23, 25, 53, 110, 143, 389, 445, 465, 587, 993, 2375, 2525, 3306, 5432, 6379, 9200, 11211, 27017])(
    '%s is refused',
    (port) => {
      expect(refusalOfAddress('1.1.1.1', port, nothing.allowed)).toBe(`Port ${port} is not allowed.`)
      expect(refusal(`https://hook.example.org:${port}/`)).toBe(`Port ${port} is not allowed.`)
    },
  )
})

describe('a URL', () => {
  test.each(['https://example.org/a?b=c#d', 'http://EXAMPLE.org.', 'https://1.1.1.1/', 'https://[2606:4700:4700::1111]/'])(
    '%s is allowed',
    (url) => expect(refusal(url)).toBeUndefined(),
  )
  test.each([
    ['', 'Not a valid URL.'],
    ['/path', 'Not a valid URL.'],
    ['https://', 'Not a valid URL.'],
    ['https://a b.example/', 'Not a valid URL.'],
    ['https://[::1%25eth0]/', 'Not a valid URL.'],
    ['file:///etc/passwd', 'Must begin with http:// or https://.'],
    ['gopher://127.0.0.1:6379/_x', 'Must begin with http:// or https://.'],
    ['ftp://example.org/', 'Must begin with http:// or https://.'],
    ['javascript:alert(1)', 'Must begin with http:// or https://.'],
    ['data:text/plain,x', 'Must begin with http:// or https://.'],
    ['https://user@example.org/', 'Must not contain a user name or password.'],
    ['https://user:secret@example.org/', 'Must not contain a user name or password.'],
    ['https://example.org@127.0.0.1/', 'Must not contain a user name or password.'],
    ['https://mail.example.com/v1/track', 'A webhook cannot call Sterna itself.'],
    ['https://MAIL.example.com./v1/track', 'A webhook cannot call Sterna itself.'],
    ['https://intranet/', 'The host is not a public one.'],
    ['https://app.localhost/', 'The host is not a public one.'],
  ])('%s is refused', (url, reason) => expect(refusal(url)).toBe(reason))
})

describe('a header', () => {
  test.each([
    ['Authorization', 'Bearer x'],
    ['X-Plan', 'pro\tplus'],
    ['content-type', 'text/plain'],
  ])('%s can be set', (name, value) => expect(refusalOfHeader(name, value)).toBeUndefined())

  test.each([
    'Host',
    'content-LENGTH',
    'Transfer-Encoding',
    'Connection',
    'Upgrade',
    'Expect',
    'TE',
    'Trailer',
    'Keep-Alive',
    'Via',
    'Forwarded',
    'X-Forwarded-For',
    'Proxy-Authorization',
    'Metadata',
    'Metadata-Flavor',
    'X-aws-ec2-metadata-token',
    'X-aws-ec2-metadata-token-ttl-seconds',
    'X-Google-Metadata-Request',
    'webhook-id',
    'Webhook-Signature',
  ])('%s cannot be set', (name) => expect(refusalOfHeader(name, 'x')).toBe('This header cannot be set.'))

  test.each(['', 'a b', 'a:b', 'a\r\nb', 'é', 'x'.repeat(77)])('%j is no name', (name) =>
    expect(refusalOfHeader(name, 'x')).toBe('Not a valid header name.'),
  )
  test.each(['a\r\nHost: b', 'a\nb', 'a\rb', 'a\0b', '\u2028', 'ü€'])('%j is no value', (value) =>
    expect(refusalOfHeader('X-A', value)).toBe('Has a character that a header cannot contain.'),
  )
})
