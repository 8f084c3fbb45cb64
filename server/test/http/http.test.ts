import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { dropExpiredKeys } from '../../src/http/idempotency.ts'
import { OF_PROBES, probe } from '../support/api/probe.ts'
import { useApp } from '../support/app.ts'

const sterna = useApp({ extend: probe })

describe('requests and responses', () => {
  test('a valid X-Request-ID is returned in the header and in the error', async () => {
    const answer = await sterna.call('GET', '/nowhere', { headers: { 'x-request-id': 'order-42' } })
    expect(answer.headers['x-request-id']).toBe('order-42')
    expect(answer.body.error.requestId).toBe('order-42')
  })

  test.each(['', 'a b', 'x'.repeat(129), '<script>'])('the X-Request-ID %j is replaced by one of ours', async (given) => {
    const answer = await sterna.call('GET', '/health', { headers: { 'x-request-id': given } })
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })

  test.each([
    ['GET', '/nowhere'],
    ['DELETE', '/health'],
    ['GET', '//health'],
    ['GET', '/HEALTH'],
    ['GET', '/users/%2e%2e/etc'],
    ['GET', '/%00'],
    ['GET', '/%zz'],
    ['GET', `/${'x'.repeat(3000)}`],
  ])('%s %s is a 404 with the error envelope', async (method, url) => {
    const answer = await sterna.call(method, url)
    expect(answer.status).toBe(404)
    expect(answer.body).toMatchObject({
      success: false,
      error: { code: 'RESOURCE_NOT_FOUND', statusCode: 404, requestId: answer.headers['x-request-id'] },
    })
    expect(Date.parse(answer.body.timestamp)).toBeGreaterThan(0)
  })

  test('an unexpected error reveals no details', async () => {
    const answer = await sterna.call('GET', '/probe/crash')
    expect(answer.status).toBe(500)
    expect(answer.body.error).toMatchObject({ code: 'INTERNAL_SERVER_ERROR' })
    expect(JSON.stringify(answer.body)).not.toContain('select')
  })

  test('security headers are on every response, HSTS only on https', async () => {
    const { headers } = await sterna.call('GET', '/nowhere')
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY', 'referrer-policy': 'no-referrer' })
    expect(headers['content-security-policy']).toMatch(/;script-src 'self';/)
    expect(headers['strict-transport-security']).toBeUndefined()
    const data = await sterna.call('POST', '/v1/send', { body: {} })
    expect(data.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY', 'referrer-policy': 'no-referrer' })
    expect(data.headers['content-security-policy']).toBe("default-src 'none'; frame-ancestors 'none'")
  })

  test('a route that does not declare itself as a whole prevents the start', async () => {
    const { createServer } = await import('../../src/http/server.ts')
    const { loadConfig } = await import('../../src/lib/config.ts')
    const { createLog } = await import('../../src/lib/process/log.ts')
    const app = await createServer({ config: loadConfig({}), db: sterna.db, secrets: sterna.secrets, log: createLog('silent') })
    expect(() => app.get('/oops', () => 1)).toThrow('GET /oops does not declare: caller, role, scope, read')
    const { audit: _audit, senders: _senders, ...others } = OF_PROBES
    expect(() => app.post('/oops', { config: others }, () => 1)).toThrow('POST /oops does not declare: senders, audit')
    expect(() => app.get('/oops', { config: { ...OF_PROBES, scope: null } }, () => 1)).toThrow('routes for secret keys')
    expect(() => app.post('/oops', { config: { ...OF_PROBES, role: null } }, () => 1)).toThrow('POST /oops does not declare the role')
  })
})

describe('bodies', () => {
  const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

  test.each([
    ['40 levels', nested(40), 200],
    ['41 levels', nested(41), 400],
    ['5,000 levels', nested(5_000), 400],
    ['brackets inside strings', JSON.stringify({ a: '[{'.repeat(100) }), 200],
    ['escaped quotes before brackets', JSON.stringify({ a: `"\\"${'['.repeat(100)}` }), 200],
    ['a byte order mark', '\ufeff{}', 200],
    ['two byte order marks', '\ufeff\ufeff{}', 400],
    ['an array', '[]', 400],
    ['a string', '"x"', 400],
    ['null', 'null', 400],
    ['nothing', '', 400],
    ['a trailing comma', '{"a":1,}', 400],
    ['U+0000', '{"a":"\\u0000"}', 422],
    ['U+0000 in a key', '{"a":{"\\u0000":1}}', 422],
    ['half a surrogate pair', '{"a":"\\ud800"}', 422],
    ['a whole surrogate pair', '{"a":"\\ud83d\\ude00"}', 200],
    ['a backslash before u0000', '{"a":"\\\\u0000"}', 200],
    ['a number that is not finite', '{"a":1e400}', 422],
    ['an integer beyond 2^53', '{"a":9007199254740993}', 422],
    ['the largest exact integer', '{"a":9007199254740991}', 200],
    ['a long number in a string', '{"a":"9007199254740993"}', 200],
  ])('a body with %s has the right status', async (_, body, status) => {
    expect((await sterna.call('POST', '/probe/echo', { body, headers: { 'content-type': 'application/json' } })).status).toBe(status)
  })

  test('the path of an invalid value is in the error', async () => {
    const { body } = await sterna.call('POST', '/probe/echo', { body: '{"data":{"tags":["ok","\\u0000"],"big":1e99}}' })
    expect(body.error.errors.map((issue: { field: string; code: string }) => [issue.field, issue.code])).toEqual([
      ['data.tags.1', 'invalid_string'],
      ['data.big', 'too_big'],
    ])
  })

  test('the last of two equal keys counts, and __proto__ has no effect', async () => {
    const { body } = await sterna.call('POST', '/probe/echo', {
      body: '{"a":1,"a":2,"__proto__":{"polluted":1},"b":{"\\u005f_proto__":1}}',
    })
    expect(body).toEqual({ body: { a: 2, b: {} } })
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  test('a body that is too large is refused by its length, before it is parsed', async () => {
    const large = `{"a":"${'x'.repeat(1_100_000)}`
    expect(await sterna.call('POST', '/probe/echo', { body: large })).toMatchObject({
      status: 413,
      body: { error: { code: 'PAYLOAD_TOO_LARGE' } },
    })
    expect((await sterna.call('POST', '/probe/large', { body: `${large}"}` })).status).toBe(200)
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/xml'])(
    '%s is refused',
    async (type) => {
      const answer = await sterna.call('POST', '/probe/echo', { body: '{}', headers: { 'content-type': type } })
      expect(answer).toMatchObject({ status: 415, body: { error: { code: 'UNSUPPORTED_MEDIA_TYPE' } } })
    },
  )

  test('a compressed body is refused', async () => {
    expect((await sterna.call('POST', '/probe/echo', { body: '{}', headers: { 'content-encoding': 'gzip' } })).status).toBe(415)
  })

  test.each([
    ['Ada@Example.COM', 'ada@example.com'],
    [' ada@example.com ', 'ada@example.com'],
    ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
    ['ada@XN--BCHER-KVA.example', 'ada@xn--bcher-kva.example'],
    ["o'hara+news@example.co.uk", "o'hara+news@example.co.uk"],
    ['пример@почта.рф', 'пример@xn--80a1acny.xn--p1ai'],
    ['cafe\u0301@example.com', 'caf\u00e9@example.com'],
    ['ſ@example.com', 'ſ@example.com'],
  ])('the address %j is read as %j', async (given, read) => {
    expect((await sterna.call('POST', '/probe/address', { body: { email: given } })).body).toEqual({ email: read })
  })

  test.each([
    'ada',
    '@example.com',
    'ada@',
    'ada@localhost',
    'ada@127.0.0.1',
    'ada@[127.0.0.1]',
    'ada@example..com',
    'ada@example.com.',
    'ada@-example.com',
    'a b@example.com',
    '"a b"@example.com',
    'ada(comment)@example.com',
    'Ada <ada@example.com>',
    'ada@example.com, bob@example.com',
    'g: ada@example.com;',
    'ada@example.com\r\nBcc: x@example.com',
    'a\u200bda@example.com',
    '.ada@example.com',
    'a..da@example.com',
    `${'a'.repeat(65)}@example.com`,
    `ada@${'a'.repeat(64)}.com`,
    `a@${'abcdefg.'.repeat(40)}com`,
  ])('%j is not an address', async (given) => {
    const answer = await sterna.call('POST', '/probe/address', { body: { email: given } })
    expect(answer.status).toBe(422)
    expect(answer.body.error.errors).toMatchObject([{ field: 'email' }])
  })
})

describe('pages of other origins', () => {
  const preflight = (url: string) =>
    sterna.call('OPTIONS', url, {
      headers: {
        origin: 'https://shop.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    })

  test('may call routes for the public key, without credentials', async () => {
    const { headers } = await preflight('/probe/track')
    expect(headers['access-control-allow-origin']).toBe('*')
    expect(headers['access-control-allow-headers']).toBe('Authorization, Content-Type, Idempotency-Key, Idempotency-Replay')
    expect(headers['access-control-allow-credentials']).toBeUndefined()
  })

  test('can read the errors of these routes', async () => {
    const answer = await sterna.call('POST', '/probe/track', { body: {}, headers: { origin: 'https://shop.example' } })
    expect(answer.status).toBe(401)
    expect(answer.headers['access-control-allow-origin']).toBe('*')
  })

  test.each(['/probe/echo', '/users/@me', '/auth/login', '/nowhere'])('may not call %s', async (url) => {
    expect((await preflight(url)).headers['access-control-allow-origin']).toBeUndefined()
    const answer = await sterna.call('GET', url, { headers: { origin: 'https://shop.example' } })
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
  })
})

describe('Idempotency-Key', () => {
  const made = async (projectId: string) => (await many(sterna.db, sql`select 1 from account_mails where subject = ${projectId}`)).length
  const once = (sk: string, key: string | undefined, body: object = {}) =>
    sterna.call('POST', '/probe/once', { key: sk, body, headers: key === undefined ? {} : { 'idempotency-key': key } })

  test('a repeat is refused with the result of the first request', async () => {
    const project = await sterna.newProject()
    const first = await once(project.sk, 'k')
    const second = await once(project.sk, 'k')
    expect(first.status).toBe(200)
    expect(second).toMatchObject({
      status: 409,
      body: {
        error: {
          code: 'IDEMPOTENCY_KEY_REUSED',
          details: { key: 'k', originalRequest: 'POST /probe/once', originalStatusCode: 200, event: first.body.id },
        },
      },
    })
    expect(Date.parse(second.body.error.details.originalRequestAt)).toBeGreaterThan(Date.now() - 60_000)
    expect(await made(project.id)).toBe(1)
  })

  test('one of 20 concurrent requests is executed, and the others get its result', async () => {
    const project = await sterna.newProject()
    const answers = await Promise.all(Array.from({ length: 20 }, () => once(project.sk, 'twin', { wait: 0.05 })))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array(19).fill(409)])
    const id = answers.find(({ status }) => status === 200)!.body.id
    for (const { status, body } of answers)
      if (status === 409) expect(body.error.details).toMatchObject({ originalStatusCode: 200, event: id })
    expect(await made(project.id)).toBe(1)
  })

  test('a failed request leaves no key', async () => {
    const project = await sterna.newProject()
    expect((await once(project.sk, 'k', { fail: true })).status).toBe(500)
    expect((await once(project.sk, 'k', { fail: 'not a boolean' })).status).toBe(422)
    expect((await once(project.sk, 'k')).status).toBe(200)
    expect(await made(project.id)).toBe(1)
  })

  test('a repeat that times out gets the answer that the first request is still running', async () => {
    const project = await sterna.newProject()
    await sterna.db.transaction().execute(async (tx) => {
      await sql`insert into idempotency_keys (project_id, key, request, status_code) values (${project.id}, 'slow', 'POST /probe/once', 200)`.execute(
        tx,
      )
      const twin = await once(project.sk, 'slow')
      expect(twin).toMatchObject({
        status: 409,
        body: { error: { code: 'IDEMPOTENCY_KEY_REUSED', details: { key: 'slow', originalStatusCode: null } } },
      })
      expect(Number(twin.headers['retry-after'])).toBeGreaterThan(0)
    })
  })

  test('keys are per project and expire, and an expired key can be used again', async () => {
    const [ours, theirs] = [await sterna.newProject(), await sterna.newProject()]
    await once(ours.sk, 'k')
    expect((await once(theirs.sk, 'k')).status).toBe(200)
    await sql`update idempotency_keys set created_at = now() - interval '23 hours 59 minutes' where project_id = ${ours.id}`.execute(
      sterna.db,
    )
    expect((await once(ours.sk, 'k')).status).toBe(409)
    await sql`update idempotency_keys set created_at = now() - interval '24 hours' where project_id = ${ours.id}`.execute(sterna.db)
    expect((await once(ours.sk, 'k')).status).toBe(200)
    expect((await once(ours.sk, 'k')).status).toBe(409)
    expect(await made(ours.id)).toBe(2)
  })

  test('expired keys are removed on every page of the table, and no others', async () => {
    const project = await sterna.newProject()
    // About 1,500 pages: more than one batch.
    await sql`
      insert into idempotency_keys (project_id, key, request, status_code, created_at)
      select ${project.id}, n || repeat('x', 200), repeat('y', 200), 200, now() - make_interval(hours => case when n % 3 = 0 then 23 else 25 end)
      from generate_series(1, 24000) n
    `.execute(sterna.db)
    await dropExpiredKeys(sterna.db, 24)
    const { rows } = await sql<{ left: number; expired: number }>`
      select count(*)::int as left, (count(*) filter (where created_at < now() - interval '24 hours'))::int as expired
      from idempotency_keys where project_id = ${project.id}
    `.execute(sterna.db)
    expect(rows).toEqual([{ left: 8_000, expired: 0 }])
  })

  test.each(['', 'x'.repeat(256), 'a\tb', 'schlüssel', 'a\x7f'])('%j is an invalid key', async (key) => {
    const project = await sterna.newProject()
    const answer = await once(project.sk, key)
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'BAD_REQUEST' } } })
    expect(await made(project.id)).toBe(0)
  })

  test('requests without a key are all executed', async () => {
    const project = await sterna.newProject()
    await Promise.all([once(project.sk, undefined), once(project.sk, undefined)])
    expect(await made(project.id)).toBe(2)
  })
})

describe('paging', () => {
  test.each([
    ['', { page: 1, pageSize: 20 }],
    ['?page=3&pageSize=50', { page: 3, pageSize: 50 }],
    ['?page=0&pageSize=0', { page: 1, pageSize: 20 }],
    ['?page=-1&pageSize=1.5', { page: 1, pageSize: 20 }],
    ['?page=abc&pageSize=[]', { page: 1, pageSize: 20 }],
    ['?page=9007199254740993&pageSize=1e9', { page: 1_000_000_000, pageSize: 20 }],
    [`?pageSize=${'9'.repeat(400)}`, { page: 1, pageSize: 100 }],
    ['?pageSize=101', { page: 1, pageSize: 100 }],
    ['?pageSize=999999999999', { page: 1, pageSize: 100 }],
    ['?page=2&page=3', { page: 1, pageSize: 20 }],
  ])('%s means %j', async (query, used) => {
    expect((await sterna.call('GET', `/probe/pages${query}`)).body).toMatchObject(used)
  })

  test('a cursor continues its own list', async () => {
    const { sk } = await sterna.newProject()
    const first = await sterna.call('GET', '/probe/list?limit=3', { key: sk })
    const second = await sterna.call('GET', `/probe/list?limit=3&cursor=${first.body.cursor}`, { key: sk })
    expect([first.body.data, second.body.data]).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ])
  })

  test('a foreign, altered or invented cursor is a 400', async () => {
    const [ours, theirs] = [await sterna.newProject(), await sterna.newProject()]
    const { body } = await sterna.call('GET', '/probe/list', { key: theirs.sk })
    const altered = `${body.cursor.slice(0, -2)}AA`
    for (const cursor of [body.cursor, 'x', '', altered, 'A'.repeat(1500)].filter(Boolean)) {
      const answer = await sterna.call('GET', `/probe/list?cursor=${cursor}`, { key: ours.sk })
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 'BAD_REQUEST' } } })
    }
  })

  test('U+0000 in a query is a 422 that names the parameter', async () => {
    const { sk } = await sterna.newProject()
    const answer = await sterna.call('GET', '/probe/list?limit=1&cursor=a%00b', { key: sk })
    expect(answer).toMatchObject({ status: 422, body: { error: { errors: [{ field: 'cursor' }] } } })
  })
})
