import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildApp } from '../../src/app.ts'
import { many } from '../../src/db/index.ts'
import type { App } from '../../src/http/core/types.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { useSharedApp } from '../support/app.ts'
import { SECRET_KEY } from '../support/secret-key.ts'

const sterna = useSharedApp()

describe('private responses', () => {
  test('are never cached, as successes and as errors', async () => {
    const { id, sk, pk, owner } = await sterna.newProject()
    const session = { cookie: owner.cookie, headers: { 'x-project-id': id } }
    const answers = [
      await sterna.call('GET', '/users/@me/projects', session),
      await sterna.call('GET', '/contacts', { key: sk }),
      await sterna.call('GET', '/emails', session),
      await sterna.call('POST', '/v1/track', { key: pk, body: { email: 'ada@example.com', event: 'e' } }),
      await sterna.call('POST', '/v1/send', { key: sk, body: {} }),
      await sterna.call('POST', '/auth/login', { body: { email: owner.email, password: owner.password } }),
      await sterna.call('GET', '/contacts'),
      await sterna.call('GET', '/nowhere'),
      await sterna.call('GET', '/%zz'),
    ]
    expect(answers.map(({ headers }) => headers['cache-control'])).toEqual(answers.map(() => 'no-store'))
  })
})

describe('HEAD', () => {
  test('answers like GET, without the body', async () => {
    const { sk } = await sterna.newProject()
    for (const url of [
      '/health',
      '/ready',
      '/config',
      '/docs',
      '/openapi.json',
      '/contacts',
      '/events',
      '/templates',
      '/contacts/nobody',
    ]) {
      const ask = (method: 'GET' | 'HEAD') => sterna.app.inject({ method, url, headers: { authorization: `Bearer ${sk}` } })
      const [get, head] = [await ask('GET'), await ask('HEAD')]
      const { 'content-type': type } = get.headers
      expect([url, head.statusCode, head.headers['content-type'], head.body]).toEqual([url, get.statusCode, type, ''])
    }
    expect((await sterna.app.inject({ method: 'HEAD', url: '/contacts' })).statusCode).toBe(401)
  })

  test('does not sign out', async () => {
    const { cookie } = await sterna.newPerson()
    expect((await sterna.app.inject({ method: 'HEAD', url: '/auth/logout', headers: { cookie } })).statusCode).toBe(404)
    expect((await sterna.call('GET', '/users/@me', { cookie })).status).toBe(200)
  })
})

describe('the dashboard', () => {
  let folder: string
  let app: App
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sterna-dashboard-'))
    mkdirSync(join(folder, 'assets'))
    writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Sterna</title>')
    const script = Buffer.from('console.log(1)\n'.repeat(99))
    writeFileSync(join(folder, 'assets', 'app.js'), script)
    writeFileSync(join(folder, 'assets', 'app.js.br'), brotliCompressSync(script))
    writeFileSync(join(folder, 'assets', 'app.js.gz'), gzipSync(script))
    const deps = { config: loadConfig({ SECRET_KEY }), db: sterna.db, secrets: sterna.secrets, log: createLog('silent') }
    app = await buildApp(deps, { dashboard: folder })
  })
  afterAll(async () => {
    await app.close()
    rmSync(folder, { recursive: true })
  })

  const ask = (method: 'GET' | 'HEAD', url: string, accept?: string) =>
    app.inject({ method, url, headers: accept === undefined ? {} : { accept } })

  test.each([undefined, '*/*', 'text/html', 'application/json'])('is at / for the Accept header %s', async (accept) => {
    const answer = await ask('GET', '/', accept)
    expect([answer.statusCode, answer.headers['content-type'], answer.headers['cache-control']]).toEqual([
      200,
      'text/html; charset=utf-8',
      'no-cache',
    ])
    expect(answer.body).toContain('<title>Sterna</title>')
    const head = await ask('HEAD', '/', accept)
    expect([head.statusCode, head.headers['content-type'], head.body]).toEqual([200, 'text/html; charset=utf-8', ''])
  })

  test.each([
    '/verify-email?token=x',
    '/reset-password?token=x',
    '/accept-invitation?token=x&email=a%40example.com',
    '/app/p/0199a000-0000-7000-8000-000000000000',
    '/app/p/0199a000-0000-7000-8000-000000000000/settings/billing',
  ])('is at %s, which account emails link to, for any Accept header', async (url) => {
    for (const accept of [undefined, '*/*', 'text/html', 'application/json', 'image/png'])
      for (const method of ['GET', 'HEAD'] as const) {
        const { statusCode, headers } = await ask(method, url, accept)
        expect([method, accept, statusCode, headers['content-type']]).toEqual([method, accept, 200, 'text/html; charset=utf-8'])
      }
    expect((await app.inject({ method: 'POST', url })).statusCode).toBe(404)
  })

  test('is at other paths for browsers only, and its files are cacheable', async () => {
    expect((await ask('GET', '/somewhere/new', 'text/html,*/*')).statusCode).toBe(200)
    expect((await ask('GET', '/somewhere/new', '*/*')).statusCode).toBe(404)
    expect((await ask('GET', '/assets/app.js')).headers['cache-control']).toContain('immutable')
    expect((await ask('HEAD', '/assets/app.js')).statusCode).toBe(200)
  })

  test('is sent in the compressed form that the browser accepts, each with a validator of its own', async () => {
    const etags = new Set<unknown>()
    for (const [accepted, encoding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['identity', undefined],
    ]) {
      const get = (headers: object) => app.inject({ url: '/assets/app.js', headers: { 'accept-encoding': accepted, ...headers } })
      const { headers } = await get({})
      expect([accepted, headers['content-encoding']]).toEqual([accepted, encoding])
      expect([headers.vary, headers['content-type']]).toEqual(['accept-encoding', expect.stringContaining('javascript')])
      expect((await get({ 'if-none-match': headers.etag })).statusCode).toBe(304)
      etags.add(headers.etag)
    }
    expect(etags.size).toBe(3)
  })
})

describe('a body that may be empty', () => {
  type Described = { paths: Record<string, Record<string, { requestBody?: { required?: boolean } }>> }
  const optional = async () => {
    const { paths } = (await sterna.call('GET', '/openapi.json')).body as Described
    return Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { requestBody }]) => (requestBody?.required === false ? [`${method} ${path}`] : [])),
    )
  }
  const UNKNOWN = '0199a000-0000-7000-8000-000000000000'

  test('is documented as optional, and may be absent with its content type', async () => {
    const operations = await optional()
    expect(operations).toEqual([
      'post /projects/{id}/keys/{keyId}/rotate',
      'post /contacts/export',
      'post /templates/{id}/preview',
      'post /emails/export',
      'post /suppressions/export',
      'post /projects/{id}/brand/apply',
      'post /campaigns/{id}/send',
      'post /campaigns/{id}/resend',
      'post /workflows/recipes/{key}',
      'post /workflows/{id}/simulate',
      'post /webhook-endpoints/{id}/rotate-secret',
    ])
    const { sk, owner } = await sterna.newProject()
    for (const [method, path] of operations.map((operation) => operation.split(' ') as ['post', string])) {
      const url = path.replace(/\{\w+\}/g, UNKNOWN)
      const headers = path.startsWith('/projects/') ? { cookie: owner.cookie } : { authorization: `Bearer ${sk}` }
      const answers = [
        await sterna.app.inject({ method, url, headers }),
        await sterna.app.inject({ method, url, headers: { ...headers, 'content-length': '0' } }),
        await sterna.app.inject({ method, url, headers: { ...headers, 'content-type': 'application/json' } }),
      ]
      const expected = path.includes('{') ? 404 : expect.toSatisfy((status) => status === 202 || status === 429)
      expect([path, ...answers.map(({ statusCode }) => statusCode)]).toEqual([path, expected, expected, expected])
    }
  })
})

describe('unknown keys of a body', () => {
  test.each([
    ['a number beyond 2^53', '12345678901234567890'],
    ['a number that is not finite', '1e400'],
    ['U+0000', '"a\\u0000b"'],
    ['half a surrogate pair', '"\\ud800"'],
    ['all of it deep inside', '{"a":[{"\\u0000":1e400}]}'],
    ['a prototype', '{"__proto__":{"email":"x"}}'],
  ])('are ignored with %s, which known keys refuse', async (_, json) => {
    const { sk, pk } = await sterna.newProject()
    const created = await sterna.call('POST', '/contacts', { key: sk, body: `{"email":"ada@example.com","unknownKey":${json}}` })
    expect([created.status, created.body.data]).toEqual([201, null])
    const tracked = await sterna.call('POST', '/v1/track', { key: pk, body: `{"email":"ada@example.com","event":"e","id":${json}}` })
    expect(tracked.status).toBe(200)
    if (json.includes('__proto__')) return
    const refused = await sterna.call('POST', '/contacts', { key: sk, body: `{"email":"ada@example.com","data":{"known":${json}}}` })
    expect([refused.status, refused.body.error.errors[0].field.split('.').slice(0, 2)]).toEqual([422, ['data', 'known']])
  })
})

describe('a byte order mark', () => {
  test('before the JSON of a body is skipped', async () => {
    const { sk } = await sterna.newProject()
    const { status, body } = await sterna.call('POST', '/contacts', { key: sk, body: '\ufeff{"email":"ada@example.com"}' })
    expect([status, body.email]).toEqual([201, 'ada@example.com'])
  })
})

describe('two Idempotency-Key headers', () => {
  let port: number
  beforeAll(async () => {
    await sterna.app.listen({ host: '127.0.0.1', port: 0 })
    port = (sterna.app.server.address() as AddressInfo).port
  })

  const track = (pk: string, lines: string[]) =>
    new Promise<number>((resolve, reject) => {
      const body = JSON.stringify({ email: 'ada@example.com', event: 'e' })
      const socket = connect(port, '127.0.0.1', () =>
        socket.write(
          `POST /v1/track HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${pk}\r\nContent-Type: application/json\r\n${lines.join('')}` +
            `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
        ),
      )
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk
      })
      socket.on('end', () => resolve(Number(text.split(' ')[1])))
      socket.on('error', reject)
    })

  test('are refused, and one with a comma is a valid key', async () => {
    const { id, pk } = await sterna.newProject()
    expect(await track(pk, ['Idempotency-Key: one\r\n', 'idempotency-key: two\r\n'])).toBe(400)
    expect(await track(pk, ['Idempotency-Key: one\r\n', 'Idempotency-Key: one\r\n'])).toBe(400)
    expect(await track(pk, ['Idempotency-Key: one, two\r\n'])).toBe(200)
    const keys = await many(sterna.db, sql<{ key: string }>`select key from idempotency_keys where project_id = ${id}`)
    expect(keys).toEqual([{ key: 'one, two' }])
  })
})

describe('logout', () => {
  test.each<Record<string, string>>([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
  ])('by a link or image of another site is refused: %j', async (headers) => {
    const { cookie } = await sterna.newPerson()
    const answer = await sterna.call('GET', '/auth/logout', { cookie, headers })
    expect([answer.status, answer.body.error.code, answer.headers['set-cookie']]).toEqual([403, 'FORBIDDEN', undefined])
    expect((await sterna.call('GET', '/users/@me', { cookie })).status).toBe(200)
  })

  test.each<Record<string, string>>([{ 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }, {}])(
    'by our own page works: %j',
    async (headers) => {
      const { cookie } = await sterna.newPerson()
      expect((await sterna.call('GET', '/auth/logout', { cookie, headers })).status).toBe(200)
      expect((await sterna.call('GET', '/users/@me', { cookie })).status).toBe(401)
    },
  )
})
