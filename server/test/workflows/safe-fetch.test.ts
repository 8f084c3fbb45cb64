import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createDns } from '../../src/lib/network/dns.ts'
import { createSafeFetch, createSafeSession, type SafeFetch, type SafeRequest } from '../../src/lib/network/safe-fetch.ts'
import { eventually } from '../support/eventually.ts'
import { CERTIFICATE, KEY } from '../support/files/certificate.ts'
import { startDnsServer } from '../support/servers/dns-server.ts'

/** 127.0.0.2 stands for the public internet, 127.0.0.1 for the network that no customer may reach. Both listen on the same port. */
const PUBLIC = '127.0.0.2'
const FORBIDDEN = '127.0.0.1'
const TIMEOUT_MS = 20_000
/** For hosts that never finish. */
const SHORT_MS = 300

let dns: Awaited<ReturnType<typeof startDnsServer>>
let safeFetch: SafeFetch
let port: number
let respond: RequestListener
let received: { request: IncomingMessage; body: string }[]
let intrusions: number
const servers: Server[] = []

beforeAll(async () => {
  dns = await startDnsServer()
  const target = { allowed: [`${PUBLIC}/32`], ownHost: 'mail.example.com' }
  safeFetch = createSafeFetch(createDns({ servers: [dns.address] }), target)
  port = await listenOnBoth()
})
afterAll(async () => {
  for (const server of servers) server.close()
  await dns.stop()
})
beforeEach(() => {
  received = []
  intrusions = 0
  respond = (_, res) => res.end('secret of the other side')
  dns.queries.length = 0
})

/** A port that is free on both addresses. */
async function listenOnBoth(): Promise<number> {
  for (let tries = 1; ; tries++) {
    const allowed = createHttpServer((req, res) => {
      let body = ''
      req.on('data', (chunk) => (body += chunk))
      req.on('end', () => {
        received.push({ request: req, body })
        respond(req, res)
      })
    })
    const forbidden = createServer((socket) => {
      intrusions++
      socket.destroy()
    })
    const number = await listen(allowed, 0, PUBLIC)
    try {
      await listen(forbidden, number, FORBIDDEN)
      servers.push(allowed, forbidden)
      return number
    } catch (err) {
      allowed.close()
      if (tries === 20) throw err
    }
  }
}

async function listen(server: Server, at: number, host: string) {
  server.listen(at, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const get = (url: string, more: Partial<Parameters<SafeFetch>[0]> = {}) =>
  safeFetch({ url, method: 'GET', headers: {}, body: undefined, timeoutMs: TIMEOUT_MS, ...more })
const urlOf = (host: string, path = '/') => `http://${host}:${port}${path}`

/** A server of raw bytes on the public address. */
async function withRawServer(talk: (socket: Socket) => void, work: (url: string) => Promise<void>) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}) // the client hangs up
    socket.on('close', () => sockets.delete(socket))
    socket.resume()
    talk(socket)
  })
  const at = await listen(server, 0, PUBLIC)
  try {
    await work(`http://${PUBLIC}:${at}/`)
    // Whatever the other side does, our end of the connection is closed.
    await eventually(() => expect(sockets.size).toBe(0))
  } finally {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
}

describe('an allowed host', () => {
  test('gets the request, and only the status of its reply is returned', async () => {
    dns.set('hook.example', { A: [PUBLIC] })
    respond = (_, res) => res.writeHead(429, { 'retry-after': '17', 'x-secret': 'secret' }).end('secret of the other side')
    const outcome = await get(urlOf('hook.example', '/a%20b?c=d#e'), { method: 'POST', headers: { 'x-plan': 'pro' }, body: 'grüße' })
    expect(outcome).toEqual({ is: 'status', status: 429, retryAfter: '17', ms: expect.any(Number) })
    expect(JSON.stringify(outcome)).not.toContain('secret')
    const [{ request, body }] = received as [(typeof received)[0]]
    expect([request.method, request.url, body]).toEqual(['POST', '/a%20b?c=d', 'grüße'])
    expect(request.headers).toMatchObject({ host: `hook.example:${port}`, 'x-plan': 'pro', 'content-length': '7' })
  })

  test('is found by an IPv4-mapped literal too', async () => {
    expect(await get(urlOf('[::ffff:7f00:2]'))).toMatchObject({ is: 'status', status: 200 })
  })
})

describe('a forbidden host is never connected to', () => {
  test.each([
    '127.0.0.1',
    '127.0.0.1.',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0x7f.0.0.0x1',
    '0177.0.0.1',
    '017700000001',
    '①②⑦.⓪.⓪.①',
    '127。0。0。1',
    '0',
    '0.0.0.0',
    '[::]',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:0:7f00:1::]',
    'localhost',
    'LOCALHOST.',
    'app.localhost',
    'user@127.0.0.1',
    '127.0.0.2@127.0.0.1',
    '127.0.0\n.1',
  ])('%s', async (host) => {
    expect(await get(urlOf(host))).toMatchObject({ is: 'refused' })
    expect(await get(`http:\\\\${host}:${port}/`)).toMatchObject({ is: 'refused' })
    expect([intrusions, received.length, dns.queries]).toEqual([0, 0, []])
  })

  test.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://169.254.170.2/v2/credentials',
    'http://[fd00:ec2::254]/latest/meta-data/',
    'http://100.100.100.200/latest/meta-data/',
    'http://168.63.129.16/machine',
    'http://192.0.0.192/opc/v2/',
    'http://10.0.0.1/',
    'http://172.16.0.1/',
    'http://192.168.0.1/',
    'http://100.64.0.1/',
    'http://198.18.0.1/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'file:///etc/passwd',
    'gopher://127.0.0.1/',
    'https://mail.example.com/',
    'http://1.1.1.1:25/',
    'http://[2606:4700:4700::1111]:5432/',
  ])('%s', async (url) => {
    expect(await get(url)).toMatchObject({ is: 'refused' })
  })
})

describe('a name', () => {
  test.each([
    ['the forbidden address', { A: [FORBIDDEN] }],
    ['the forbidden address after an allowed one', { A: [PUBLIC, FORBIDDEN] }],
    ['an allowed address, and IPv6 loopback', { A: [PUBLIC], AAAA: ['::1'] }],
    ['an allowed address, and a unique local one', { A: [PUBLIC], AAAA: ['fd00::1'] }],
    ['an allowed address, and NAT64', { A: [PUBLIC], AAAA: ['64:ff9b::7f00:1'] }],
    ['an allowed address, and 6to4', { A: [PUBLIC], AAAA: ['2002:7f00:1::'] }],
    ['an IPv4-mapped address', { AAAA: ['::ffff:127.0.0.1'] }],
    ['a metadata address', { A: ['169.254.169.254'] }],
    ['this host', { A: ['0.0.0.0'] }],
  ])('with %s is refused', async (_, records) => {
    dns.set('evil.example', records)
    expect(await get(urlOf('evil.example'))).toMatchObject({ is: 'refused', reason: 'The address is not a public one.' })
    expect([intrusions, received.length]).toEqual([0, 0])
  })

  test('with a public address is refused on a port of a database, though a private one may use it', async () => {
    dns.set('hook.example', { A: ['1.1.1.1'] })
    expect(await get('http://hook.example:5432/')).toMatchObject({ is: 'refused', reason: 'Port 5432 is not allowed.' })
  })

  test('that changes between look-ups is looked up once: the connection goes to the address that was checked', async () => {
    let lookups = 0
    dns.set('rebind.example', (type) => (type === 'A' ? { A: [lookups++ ? FORBIDDEN : PUBLIC] } : {}))
    expect(await get(urlOf('rebind.example'))).toMatchObject({ is: 'status', status: 200 })
    expect(dns.queries.filter((query) => query === 'A rebind.example')).toHaveLength(1)
    expect([intrusions, received.length]).toEqual([0, 1])
    // The next request looks it up again: the first answer is not trusted any longer.
    expect(await get(urlOf('rebind.example'))).toMatchObject({ is: 'refused' })
    expect([intrusions, received.length]).toEqual([0, 1])
  })

  test.each([
    ['does not exist', undefined, 'The host does not exist.'],
    ['has no address', {}, 'The host does not exist.'],
    ['fails to resolve', 'servfail', 'The name of the host could not be resolved: the DNS server reported a failure (SERVFAIL).'],
    ['is never answered', 'hang', 'The name of the host could not be resolved: the DNS server did not answer in time.'],
  ] as const)('that %s fails, which may be retried', async (_, records, reason) => {
    dns.forget('lost.example')
    if (records) dns.set('lost.example', records)
    expect(await get(urlOf('lost.example'), { timeoutMs: SHORT_MS })).toMatchObject({ is: 'failed', reason })
  })
})

test.each([301, 302, 303, 307, 308])('a redirect (%s) to a forbidden host is not followed', async (status) => {
  respond = (_, res) => res.writeHead(status, { location: urlOf(FORBIDDEN) }).end()
  expect(await get(urlOf(PUBLIC))).toMatchObject({ is: 'status', status })
  expect([intrusions, received.length]).toEqual([0, 1])
})

describe('a request', () => {
  test.each<Partial<SafeRequest>>([
    { headers: { 'x-a': 'b\r\nx-c: d' } },
    { headers: { 'x-a\r\nx-b': 'c' } },
    { headers: { 'x-a': '\0' } },
    { method: 'GET / HTTP/1.1\r\nx-a: b' },
  ])('with %j is refused before anything is sent', async (more) => {
    expect(await get(urlOf(PUBLIC), more)).toMatchObject({ is: 'refused' })
    expect(received).toHaveLength(0)
  })

  test('cannot be split by its URL', async () => {
    await get(urlOf(PUBLIC, '/a\r\nx-b: c /?d=e f\r\n'))
    expect(received.map(({ request }) => [request.url, request.headers['x-b']])).toEqual([['/ax-b:%20c%20/?d=e%20f', undefined]])
  })
})

describe('a host that misbehaves', () => {
  const reply = (head: string) => `HTTP/1.1 ${head}\r\n\r\n`
  const repeat = (bytes: Buffer | string) => (socket: Socket) => {
    const write = () => {
      while (!socket.destroyed && socket.write(bytes));
    }
    socket.on('drain', write)
    write()
  }

  test.each([
    ['says nothing', () => {}],
    ['ends no header', (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\nx-a: b')],
    ['sends 1xx replies without end', repeat(reply('102 Processing'))],
    [
      'sends a byte now and then',
      (socket: Socket) => {
        const timer = setInterval(() => socket.write('x'), 20)
        socket.write('HTTP/1.1 200 OK\r\nx-a: ')
        socket.on('close', () => clearInterval(timer))
      },
    ],
  ])('and %s is given up in time', async (_, talk) => {
    await withRawServer(talk, async (url) => {
      const outcome = await get(url, { timeoutMs: SHORT_MS })
      expect(outcome).toMatchObject({ is: 'failed', reason: 'No reply in time.' })
      expect(outcome.ms).toBeGreaterThanOrEqual(SHORT_MS - 1)
    })
  })

  const megabyte = Buffer.alloc(1_000_000)
  test.each([
    ['a body without end', reply('200 OK'), megabyte],
    ['a body that is far larger when decompressed', reply('200 OK\r\ncontent-encoding: gzip'), gzipSync(megabyte)],
    ['a body by chunks without end', reply('200 OK\r\ntransfer-encoding: chunked'), `f4240\r\n${megabyte.toString('latin1')}\r\n`],
  ])('and sends %s is cut off after its status', async (_, head, body) => {
    let bytes = 0
    const talk = (socket: Socket) => {
      socket.write(head)
      repeat(body)(socket)
      socket.on('close', () => (bytes = socket.bytesWritten))
    }
    await withRawServer(talk, async (url) => expect(await get(url)).toMatchObject({ is: 'status', status: 200 }))
    // Not more than the buffers of both systems hold.
    expect(bytes).toBeLessThan(50_000_000)
  })

  test.each([
    ['sends too many headers', `HTTP/1.1 200 OK\r\nx-a: ${'b'.repeat(20_000)}\r\n\r\n`, 'The headers of the reply are too large.'],
    ['speaks no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', 'The reply is not valid HTTP.'],
    ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n', 'The reply is not valid HTTP.'],
  ])('and %s is told apart without showing its reply', async (_, bytes, reason) => {
    await withRawServer(
      (socket) => void socket.write(bytes),
      async (url) => expect(await get(url)).toMatchObject({ is: 'failed', reason }),
    )
  })

  test('and closes the connection, or refuses it, has failed', async () => {
    let refusing = ''
    await withRawServer(
      (socket) => void socket.end(),
      async (url) => {
        refusing = url
        expect(await get(url)).toMatchObject({ is: 'failed', reason: 'The host closed the connection.' })
      },
    )
    expect(await get(refusing)).toMatchObject({ is: 'failed', reason: 'The host refused the connection.' })
  })

  test('and has a certificate that nobody vouches for gets no request', async () => {
    let requests = 0
    const names: string[] = []
    const server = createTlsServer(
      {
        key: KEY,
        cert: CERTIFICATE,
        SNICallback: (name, done) => {
          names.push(name)
          done(null)
        },
      },
      () => requests++,
    )
    const at = await listen(server, 0, PUBLIC)
    dns.set('hook.example', { A: [PUBLIC] })
    const outcome = await get(`https://hook.example:${at}/`).finally(() => server.close())
    expect(outcome).toMatchObject({ is: 'failed', reason: 'The certificate of the host is not valid.' })
    // The name that the certificate is checked for, though the connection goes to an address.
    expect([requests, names]).toEqual([0, ['hook.example']])
  })
})

describe('several requests of a session', () => {
  const post = (session: ReturnType<typeof createSafeSession>, name = 'hooks.example.com') =>
    safeFetch(
      { url: `http://${name}:${port}/in`, method: 'POST', headers: {}, body: '{}', timeoutMs: TIMEOUT_MS, mayRepeat: true },
      session,
    )

  test('share connections and one lookup', async () => {
    dns.set('hooks.example.com', { A: [PUBLIC] })
    const session = createSafeSession()
    for (let n = 0; n < 6; n++) expect(await post(session)).toMatchObject({ is: 'status', status: 200 })
    const sockets = new Set(received.map(({ request }) => request.socket.remotePort))
    expect([sockets.size, dns.queries.filter((query) => query.startsWith('A ')).length]).toEqual([1, 1])
    // A connection to a name is not one to another name at the same address.
    dns.set('other.example.com', { A: [PUBLIC] })
    await post(session, 'other.example.com')
    expect(sockets).not.toContain(received.at(-1)!.request.socket.remotePort)
  })

  test('do not wait for a reply that never ends, and end it', async () => {
    dns.set('hooks.example.com', { A: [PUBLIC] })
    let closed = false
    respond = (req, res) => {
      res.write('and so on')
      req.socket.on('close', () => {
        closed = true
      })
    }
    const session = createSafeSession()
    expect(await post(session)).toMatchObject({ is: 'status', status: 200 })
    await eventually(() => expect(closed).toBe(true))
  })

  test('read no more than a little of a long reply', async () => {
    dns.set('hooks.example.com', { A: [PUBLIC] })
    let closed = false
    respond = (req, res) => {
      req.socket.on('close', () => {
        closed = true
      })
      const more = () => res.write('x'.repeat(100_000), more)
      more()
    }
    const session = createSafeSession()
    expect(await post(session)).toMatchObject({ is: 'status', status: 200 })
    await eventually(() => expect(closed).toBe(true))
  })

  test('survive a host that closes its connections', async () => {
    dns.set('hooks.example.com', { A: [PUBLIC] })
    respond = (req, res) => {
      res.end()
      setImmediate(() => req.socket.destroy())
    }
    const session = createSafeSession()
    for (let n = 0; n < 5; n++) expect(await post(session)).toMatchObject({ is: 'status', status: 200 })
  })

  test('do not go on where the name no longer leads', async () => {
    dns.set('moved.example.com', { A: [PUBLIC] })
    expect(await post(createSafeSession(), 'moved.example.com')).toMatchObject({ is: 'status', status: 200 })
    dns.set('moved.example.com', { A: [FORBIDDEN] })
    expect(await post(createSafeSession(), 'moved.example.com')).toMatchObject({ is: 'refused' })
    expect([received.length, intrusions]).toEqual([1, 0])
  })

  test('are refused each time for a private address', async () => {
    dns.set('inner.example.com', { A: [FORBIDDEN] })
    const session = createSafeSession()
    for (let n = 0; n < 2; n++) expect(await post(session, 'inner.example.com')).toMatchObject({ is: 'refused' })
    expect(intrusions).toBe(0)
  })
})
