import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDnsServer } from '../../../test/support/servers/dns-server.ts'
import { createDns, type Dns } from './dns.ts'

let server: Awaited<ReturnType<typeof startDnsServer>>
let dns: Dns

beforeAll(async () => {
  server = await startDnsServer()
  dns = createDns({ servers: [server.address] })
})
afterAll(() => server.stop())

const asked = (question: string) => server.queries.filter((each) => each === question).length

test('a record is found, its strings joined', async () => {
  server.set('split.example', { TXT: [['v=DKIM1; k=rsa; p=AAA', 'BBB'], 'another'] })
  expect(await dns.lookUp('TXT', 'split.example', 2_000)).toEqual({ is: 'found', records: ['v=DKIM1; k=rsa; p=AAABBB', 'another'] })
})

test('a name without such a record differs from a missing name', async () => {
  server.set('plain.example', { A: ['192.0.2.1'] })
  expect(await dns.lookUp('MX', 'plain.example', 2_000)).toEqual({ is: 'none' })
  expect(await dns.lookUp('MX', 'nowhere.example', 2_000)).toEqual({ is: 'missing' })
})

test('a reply that is too large for a datagram is read over TCP', async () => {
  server.set('large.example', 'truncated')
  const outcome = await dns.lookUp('TXT', 'large.example', 2_000)
  expect(outcome.is === 'found' && outcome.records.length).toBe(300)
})

test('a CNAME chain without an end is no record', async () => {
  server.set('loop.example', 'loop')
  expect(await dns.lookUp('TXT', 'loop.example', 2_000)).toEqual({ is: 'none' })
})

test.each(['servfail', 'refused', 'garbage', 'hang'] as const)('%s says nothing about the record, and says so in time', async (fault) => {
  server.set(`${fault}.example`, fault)
  const newDns = createDns({ servers: [server.address] })
  const start = performance.now()
  const outcome = await newDns.lookUp('TXT', `${fault}.example`, 600)
  expect(outcome).toMatchObject({ is: 'unknown', reason: expect.any(String) })
  // Without the limit, tries would go on for seven seconds.
  expect(performance.now() - start).toBeLessThan(4_000)
})

test('a name that takes longer is waited for, also when the server has answered others at once', async () => {
  for (let index = 0; index < 10; index++) await dns.lookUp('A', `fast${index}.example`, 2_000)
  let queries = 0
  server.set('slow.example', () => (++queries < 3 ? 'hang' : { A: ['192.0.2.1'] }))
  expect(await dns.lookUp('A', 'slow.example', 30_000)).toEqual({ is: 'found', records: ['192.0.2.1'] })
})

test('an unreachable server gives an unknown outcome', async () => {
  const gone = await startDnsServer()
  await gone.stop()
  expect((await createDns({ servers: [gone.address] }).lookUp('TXT', 'any.example', 1_000)).is).toBe('unknown')
})

test('an invalid name does not throw', async () => {
  for (const name of ['', '.', 'a..b', 'x'.repeat(64), `${'a.'.repeat(200)}example`, 'ü.example'])
    expect(['unknown', 'missing', 'none']).toContain((await dns.lookUp('TXT', name, 1_000)).is)
})

test('recall shares one lookup, and lookUp sees changes', async () => {
  server.set('often.example', { TXT: ['first'] })
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => dns.recall('TXT', 'often.example', 2_000)))
  server.set('often.example', { TXT: ['second'] })

  expect(await dns.recall('TXT', 'often.example', 2_000)).toEqual({ is: 'found', records: ['first'] })
  expect(outcomes).toEqual(outcomes.map(() => ({ is: 'found', records: ['first'] })))
  expect(asked('TXT often.example')).toBe(1)
  expect(await dns.lookUp('TXT', 'often.example', 2_000)).toEqual({ is: 'found', records: ['second'] })
})

test('record types are cached separately', async () => {
  server.set('apart.example', { TXT: ['text'], MX: [[5, 'mx.example']] })
  expect(await dns.recall('TXT', 'apart.example', 2_000)).toEqual({ is: 'found', records: ['text'] })
  expect(await dns.recall('MX', 'apart.example', 2_000)).toMatchObject({ is: 'found', records: [{ exchange: 'mx.example', priority: 5 }] })
})
