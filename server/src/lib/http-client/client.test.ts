import { once } from 'node:events'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import { CERTIFICATE, KEY } from '../../../test/support/files/certificate.ts'
import { createHttpClient } from './client.ts'
import { type HttpOutcome, httpTarget } from './connection.ts'
import { requestText } from './request-text.ts'

const HOST = '127.0.0.1'
/** For hosts that never finish. */
const SHORT_MS = 250
const LONG_MS = 20_000

const servers: Server[] = []
const sockets = new Set<Socket>()
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers.splice(0)) server.close()
})

/** A server of raw bytes. */
async function serve(talk: (socket: Socket) => void, { isTls = false } = {}) {
  const listener = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {}) // the client hangs up
    socket.on('close', () => sockets.delete(socket))
    talk(socket)
  }
  const server = isTls ? createTlsServer({ key: KEY, cert: CERTIFICATE }, listener) : createServer(listener)
  server.on('tlsClientError', () => {})
  servers.push(server.listen(0, HOST))
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Answers every request with the same bytes, after its body. The requests are small: each comes in one piece. */
const answering = (bytes: string) => (socket: Socket) => void socket.on('data', () => socket.write(bytes, 'latin1'))
const reply = (head: string, body = '') => `HTTP/1.1 ${head}\r\n\r\n${body}`

type Call = { port: number; isTls?: boolean; servername?: string; ca?: string; body?: string; timeoutMs?: number }

function askWith(
  client: ReturnType<typeof createHttpClient>,
  { port, isTls = false, servername, ca, body = '{}', timeoutMs = LONG_MS }: Call,
  mayRepeat = true,
) {
  const url = new URL(`http://${HOST}:${port}/in`)
  const text = requestText({ method: 'POST', url, headers: {}, body, isKept: mayRepeat })!
  return client.request(
    httpTarget({ ip: HOST, port, isTls, servername, ...(ca ? { ca } : {}) }),
    { text, isHead: false, timeoutMs },
    mayRepeat,
  )
}

const CLOSED = new Set(['CLOSED', 'ECONNRESET', 'EPIPE'])
const classOf = (code: string) => {
  if (CLOSED.has(code)) return 'closed'
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) return 'no TLS'
  return code === 'BAD_RESPONSE' || (code.startsWith('HPE_') && code !== 'HPE_HEADER_OVERFLOW') ? 'bad response' : code
}
const told = (outcome: HttpOutcome) => ('reply' in outcome ? [outcome.reply.status, outcome.reply.retryAfter] : classOf(outcome.error.code))

/** The result of Node's client for the same request. */
const askNode = ({ port, isTls, servername, ca, body = '{}', timeoutMs = LONG_MS }: Call) =>
  new Promise<unknown>((resolve) => {
    const end = (outcome: unknown) => {
      clearTimeout(timer)
      resolve(outcome)
      sent.destroy()
    }
    const sent = (isTls ? requestHttps : requestHttp)({
      host: HOST,
      port,
      method: 'POST',
      path: '/in',
      agent: false,
      headers: { 'content-length': body.length },
      ...(servername ? { servername } : {}),
      ...(ca ? { ca } : {}),
    })
    const timer = setTimeout(() => end('TIMED_OUT'), timeoutMs)
    sent.on('response', ({ statusCode, headers }) => end([statusCode, headers['retry-after']]))
    sent.on('upgrade', () => end('bad response'))
    sent.on('error', ({ code = '' }: NodeJS.ErrnoException) => end(code === 'HPE_HEADER_OVERFLOW' ? 'HEAD_TOO_LARGE' : classOf(code)))
    sent.end(body)
  })

const repeat = (bytes: string) => (socket: Socket) => {
  const write = () => {
    while (!socket.destroyed && socket.write(bytes));
  }
  socket.on('drain', write)
  socket.once('data', write)
}

const drip = (socket: Socket) => {
  const timer = setInterval(() => socket.write('x'), 20)
  socket.write('HTTP/1.1 200 OK\r\nx-a: ')
  socket.on('close', () => clearInterval(timer))
}

describe('the same outcome as with the client of Node', () => {
  const SERVERS: [string, (socket: Socket) => void][] = [
    ['a length', answering(reply('200 OK\r\ncontent-length: 2', 'ok'))],
    ['no content', answering(reply('204 No Content'))],
    ['a redirect', answering(reply('302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0'))],
    ['chunks', answering(reply('500 Oops\r\ntransfer-encoding: chunked', '3\r\nabc\r\n0\r\n\r\n'))],
    ['a bad chunk after the status', answering(reply('200 OK\r\ntransfer-encoding: chunked', 'x\r\n'))],
    ['Retry-After, twice', answering(reply('429 Slow\r\nretry-after: 17\r\nretry-after: 18\r\ncontent-length: 0'))],
    ['interim replies', answering(`${reply('100 Continue')}${reply('103 Early Hints\r\nlink: x')}${reply('201 Created')}`)],
    ['no reason', answering(reply('200'))],
    ['an unknown status', answering(reply('799 x'))],
    ['HTTP/1.0', answering('HTTP/1.0 200 OK\r\n\r\nbody')],
    ['a body until the end', (socket) => void socket.once('data', () => socket.end(reply('200 OK', 'body')))],
    ['a body without end', repeat(reply('200 OK', 'x'.repeat(100_000)))],
    ['a reply before the request', (socket) => void socket.end(reply('413 Too large\r\nconnection: close'))],
    ['a cut head', (socket) => void socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nx-a: b'))],
    ['nothing, then the end', (socket) => void socket.once('data', () => socket.end())],
    ['a reset', (socket) => void socket.once('data', () => socket.resetAndDestroy())],
    ['no HTTP', answering('SSH-2.0-OpenSSH_9.6\r\n\r\n')],
    ['another protocol', answering(reply('101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade'))],
    ['large headers', answering(reply(`200 OK\r\nx-a: ${'b'.repeat(20_000)}`))],
    ['two lengths', answering(reply('200 OK\r\ncontent-length: 0\r\ncontent-length: 1'))],
    ['a length beside chunks', answering(reply('200 OK\r\ncontent-length: 0\r\ntransfer-encoding: chunked'))],
    ['a length that is none', answering(reply('200 OK\r\ncontent-length: -1'))],
    ['a space before the colon', answering(reply('200 OK\r\nx : y'))],
    ['NUL in a header', answering(reply('200 OK\r\nx: a\0b'))],
  ]
  test.each(SERVERS)('of a host that sends %s', async (_, talk) => {
    const call = { port: await serve(talk) }
    const expected = await askNode(call)
    const client = createHttpClient()
    expect(told(await askWith(client, call, false))).toEqual(expected)
    // A second time, perhaps on the same connection.
    for (let n = 0; n < 2; n++) expect(told(await askWith(client, call))).toEqual(expected)
  })

  test.each<[string, (socket: Socket) => void]>([
    ['says nothing', (socket) => void socket.resume()],
    ['ends no header', (socket) => void socket.write('HTTP/1.1 200 OK\r\nx-a: b')],
    ['sends a byte now and then', drip],
    ['sends interim replies without end', repeat(reply('102 Processing'))],
  ])('of a host that %s', async (_, talk) => {
    const call = { port: await serve(talk), timeoutMs: SHORT_MS }
    const [lean, node] = await Promise.all([askWith(createHttpClient(), call), askNode(call)])
    expect([told(lean), node]).toEqual(['TIMED_OUT', 'TIMED_OUT'])
  })

  test('of a host that does not listen', async () => {
    const port = await serve(() => {})
    await new Promise((resolve) => servers.pop()!.close(resolve))
    expect([told(await askWith(createHttpClient(), { port })), await askNode({ port })]).toEqual(['ECONNREFUSED', 'ECONNREFUSED'])
  })

  test('of a host that answers before it has read a large body', async () => {
    const talk = (socket: Socket) => void socket.once('data', () => socket.pause().write(reply('413 Too large\r\ncontent-length: 0')))
    const call = { port: await serve(talk), body: 'x'.repeat(8_000_000) }
    expect([told(await askWith(createHttpClient(), call)), await askNode(call)]).toEqual([
      [413, undefined],
      [413, undefined],
    ])
  })

  test.each([
    ['nobody vouches for', 'hook.example', false],
    ['is for another name', 'other.example', true],
    ['is for no address', undefined, true],
    ['is right', 'hook.example', true],
  ])('of a certificate that %s', async (_, servername, isTrusted) => {
    let requests = 0
    const port = await serve(
      (socket) =>
        void socket.on('data', () => {
          requests++
          socket.write(reply('200 OK\r\ncontent-length: 0'))
        }),
      { isTls: true },
    )
    const call = { port, isTls: true, ...(servername ? { servername } : {}), ...(isTrusted ? { ca: CERTIFICATE } : {}) }
    const client = createHttpClient()
    const expected = await askNode(call)
    requests = 0
    for (let n = 0; n < 2; n++) expect(told(await askWith(client, call))).toEqual(expected)
    // Nothing is sent to a host that is not the right one.
    expect(requests).toBe(Array.isArray(expected) ? 2 : 0)
  })

  test('of a host that speaks no TLS', async () => {
    const call = { port: await serve(answering(reply('400 Bad'))), isTls: true, servername: 'hook.example' }
    expect(told(await askWith(createHttpClient(), call))).toBe(await askNode(call))
  })
})

describe('connections', () => {
  /** Counts connections and requests. */
  async function counting(talk: (socket: Socket, n: number) => void) {
    const seen = { connections: 0, requests: 0 }
    const port = await serve((socket) => {
      seen.connections++
      socket.on('data', () => talk(socket, ++seen.requests))
    })
    return { seen, call: { port } }
  }
  const OK = reply('200 OK\r\ncontent-length: 2', 'ok')

  test('are used again, one request at a time', async () => {
    const { seen, call } = await counting((socket) => socket.write(OK))
    const client = createHttpClient()
    for (let n = 0; n < 5; n++) expect(told(await askWith(client, call))).toEqual([200, undefined])
    expect(seen).toEqual({ connections: 1, requests: 5 })
    await Promise.all(Array.from({ length: 3 }, () => askWith(client, call)))
    expect(seen).toEqual({ connections: 3, requests: 8 })
  })

  test('are not used for a request that must not be repeated', async () => {
    const { seen, call } = await counting((socket) => socket.write(OK))
    const client = createHttpClient()
    await askWith(client, call)
    for (let n = 0; n < 2; n++) await askWith(client, call, false)
    expect(seen.connections).toBe(3)
    await expect.poll(() => sockets.size).toBe(1)
  })

  test.each([
    ['closes', reply('200 OK\r\ncontent-length: 0\r\nconnection: close')],
    ['says more than the reply', `${OK}more`],
    ['says a second reply', `${OK}${OK}`],
    ['does not end the body', reply('200 OK\r\ncontent-length: 99', 'ok')],
    ['sends a long body', reply('200 OK\r\ncontent-length: 99999', 'x'.repeat(99_999))],
  ])('of a host that %s are not used again', async (_, bytes) => {
    const { seen, call } = await counting((socket) => socket.write(bytes))
    const client = createHttpClient()
    for (let n = 0; n < 2; n++) expect(told(await askWith(client, call))).toEqual([200, undefined])
    expect(seen).toEqual({ connections: 2, requests: 2 })
    await expect.poll(() => sockets.size).toBe(0)
  })

  test.each<[string, (socket: Socket) => void]>([
    ['closed', (socket) => socket.destroy()],
    ['reset', (socket) => socket.resetAndDestroy()],
  ])('that the host has %s meanwhile: the request is made once more, on a new one', async (_, breakOff) => {
    const { seen, call } = await counting((socket, n) => (n === 2 ? breakOff(socket) : void socket.write(OK)))
    const client = createHttpClient()
    for (let n = 0; n < 2; n++) expect(told(await askWith(client, call))).toEqual([200, undefined])
    expect(seen).toEqual({ connections: 2, requests: 3 })
  })

  test('that break once more, or in the middle of a reply, are an error', async () => {
    const { seen, call } = await counting((socket, n) => (n > 1 ? socket.destroy() : void socket.write(OK)))
    const client = createHttpClient()
    await askWith(client, call)
    expect(told(await askWith(client, call))).toBe('closed')
    expect(seen).toEqual({ connections: 2, requests: 3 })
    const cut = await counting((socket, n) => (n === 2 ? socket.end('HTTP/1.1 2') : void socket.write(OK)))
    await askWith(client, cut.call)
    expect(told(await askWith(client, cut.call))).toBe('closed')
    expect(cut.seen).toEqual({ connections: 1, requests: 2 })
  })

  test('are closed when they are idle for long, or the host says something that nobody asked for', async () => {
    const { call } = await counting((socket) => socket.write(OK))
    await askWith(createHttpClient({ idleMs: 50 }), call)
    await expect.poll(() => sockets.size).toBe(0)
    await askWith(createHttpClient(), call)
    for (const socket of sockets) socket.write(reply('408 Too slow'))
    await expect.poll(() => sockets.size).toBe(0)
  })

  test('read only some of interim replies without end', async () => {
    const port = await serve(repeat(reply('102 Processing')))
    void askWith(createHttpClient(), { port, timeoutMs: 30_000 })
    await expect.poll(() => sockets.size).toBe(1)
    const [socket] = sockets
    // The host cannot write any more: nobody reads.
    for (let before = -1; before !== socket!.bytesWritten || !before; await sleep(200)) before = socket!.bytesWritten
    expect(socket!.destroyed).toBe(false)
  })
})

test('the text of a reply is read up to a limit', async () => {
  const client = createHttpClient()
  const ask = async (bytes: string, maxText: number) => {
    const port = await serve((socket) => void socket.on('data', () => socket.end(bytes)))
    const url = new URL(`http://${HOST}:${port}/`)
    const request = requestText({ method: 'GET', url, headers: {}, body: undefined, isKept: false })!
    return client.request(
      httpTarget({ ip: HOST, port, isTls: false, servername: undefined }),
      { text: request, isHead: false, timeoutMs: LONG_MS, maxText },
      false,
    )
  }
  expect(await ask(reply('200 OK\r\ncontent-length: 2', 'ok'), 2)).toMatchObject({ reply: { status: 200, text: 'ok' } })
  expect(await ask(reply('200 OK', 'ok'), 2)).toMatchObject({ reply: { text: 'ok' } })
  expect(await ask(reply('200 OK', 'too long'), 2)).toMatchObject({ error: { code: 'TEXT_TOO_LARGE' } })
  expect(await ask(reply('200 OK\r\ncontent-length: 3', 'ok'), 9)).toMatchObject({ error: { code: 'CLOSED' } })
})
