import { randomUUID } from 'node:crypto'
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createConformance } from '../support/api/conformance.ts'
import { type Api, type Document, nameOf, type Operation, type Parameter, readApi, type Schema } from '../support/api/described-api.ts'
import { fewAtOnce } from '../support/api/few-at-once.ts'
import { probe } from '../support/api/probe.ts'
import { FREE_TEXT, resourceOf, useTwoProjects } from '../support/api/two-projects.ts'
import { useApp } from '../support/app.ts'
import { startCpuClock } from '../support/faults/cpu-clock.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' }, extend: probe })

/** The default limit of a body. */
const BODY_LIMIT = 1024 * 1024
/** The limit for whole emails, with the JSON around them. */
const MAIL_LIMIT = 2 * 1024 * 1024 + 64 * 1024
/** The limit with attachments. */
const SEND_LIMIT = 42 * 1024 * 1024 + 64 * 1024
const limitOf = ({ path }: Operation) =>
  path === '/v1/send' || path === '/emails'
    ? SEND_LIMIT
    : /^\/(templates(\/lint|\/preview|\/\{id\})?|campaigns(\/\{id\})?)$/.test(path)
      ? MAIL_LIMIT
      : BODY_LIMIT

let api: Api
let conformance: ReturnType<typeof createConformance>

beforeAll(async () => {
  const document: Document = (await sterna.call('GET', '/openapi.json')).body
  api = readApi(document)
  conformance = createConformance(document)
})

const isProbe = ({ path }: Operation) => path.startsWith('/probe/')
/** Operations that take no body for an empty one. */
const BODY_OPTIONAL = [
  ...['POST /campaigns/{id}/send', 'POST /campaigns/{id}/resend', 'POST /templates/{id}/preview', 'POST /workflows/{id}/simulate'],
  ...['POST /contacts/export', 'POST /emails/export', 'POST /suppressions/export', 'POST /webhook-endpoints/{id}/rotate-secret'],
  ...['POST /projects/{id}/brand/apply', 'POST /projects/{id}/keys/{keyId}/rotate'],
]
const withBody = () => api.operations.filter((operation) => operation.body && !isProbe(operation))

/** The maximum size of an array or record, if the schema is one or has one among its options. */
function boundOf(given: Schema): { of: 'items' | 'keys'; max: number } | undefined {
  const schema = api.resolve(given)
  if (schema.maxItems !== undefined) return { of: 'items', max: schema.maxItems }
  if (schema.maxProperties !== undefined) return { of: 'keys', max: schema.maxProperties }
  return (schema.anyOf ?? schema.oneOf)?.map(boundOf).find((bound) => bound !== undefined)
}

/** If the schema accepts a string of any length. */
const isUnbounded = (given: Schema) => {
  const schema = api.resolve(given)
  return api.kindsOf(schema)?.has('string') !== false && !schema.enum && !schema.format && (schema.maxLength ?? Infinity) > 10_000
}

// Requests ------------------------------------------------------------------------------------------------------------

const setting = useTwoProjects(sterna)
const { credentials, fill } = setting

// Quotas have tests of their own; a refused request may write only attempts. Each test opens a session.
const UNCOUNTED = { except: ['attempts', 'sessions'] }

/** No test of the group writes anything. Compared once for all of them: that takes longer than most of the tests. */
function expectNothingWritten() {
  let before: string
  beforeAll(async () => {
    before = await sterna.digest(UNCOUNTED)
  })
  afterAll(async () => expect(await sterna.digest(UNCOUNTED)).toBe(before))
}

beforeEach(() => sql`delete from attempts`.execute(sterna.db))

type Sent = { url?: string; payload?: string | Buffer | Readable; headers?: Record<string, string | undefined> }

const JSON_TYPE = { 'content-type': 'application/json' }

/** Sends a request and checks what holds for every refusal. */
async function refuse(operation: Operation, { url = fill(operation), payload, headers = {} }: Sent) {
  const cpuMs = startCpuClock()
  const given = Object.fromEntries(Object.entries({ ...credentials(operation), ...headers }).filter(([, value]) => value !== undefined))
  const answer = await sterna.app.inject({
    method: operation.method as 'GET',
    url,
    ...(payload === undefined ? {} : { payload }),
    headers: given as Record<string, string>,
  })
  const took = cpuMs()
  const complaints = isProbe(operation) ? [] : conformance.differences(operation, answer)
  const check = (holds: boolean, complaint: string) => {
    if (!holds) complaints.push(`${nameOf(operation)}: ${complaint}: ${answer.statusCode} ${answer.body.slice(0, 300)}`)
  }
  check(took < 2_000, `took ${Math.round(took)} ms of CPU`)
  check(answer.statusCode >= 400 && answer.statusCode < 500, 'not refused')
  check(answer.headers['content-type'] === 'application/json', 'not JSON')
  const body = answer.headers['content-type'] === 'application/json' ? answer.json() : {}
  const asDocumented = operation.plain.includes(answer.statusCode) && Object.keys(body).join() === 'error' && typeof body.error === 'string'
  check(asDocumented || isEnvelope(body, answer.statusCode, answer.headers['x-request-id']), 'not the envelope')
  check(!TELLTALE.test(answer.body), 'tells too much')
  check(Buffer.byteLength(answer.body) < MAX_ANSWER, `an answer of ${Buffer.byteLength(answer.body)} bytes`)
  return { status: answer.statusCode, code: asDocumented ? 'PLAIN' : body.error?.code, fields: fieldsOf(body), complaints, check }
}

type Refusal = Awaited<ReturnType<typeof refuse>>

/** The envelope of any validation error. */
const MAX_ANSWER = 64 * 1024

/** Of an object that may be null, too. */
const hasKnownKeys = (given: Schema): boolean => {
  const schema = api.resolve(given)
  return Boolean(schema.properties) || (schema.anyOf ?? []).some(hasKnownKeys)
}
const NOT_FOUND = ['RESOURCE_NOT_FOUND', 'CONTACT_NOT_FOUND', 'TEMPLATE_NOT_FOUND', 'CAMPAIGN_NOT_FOUND', 'WORKFLOW_NOT_FOUND', 'PLAIN']

type Envelope = { success?: unknown; error?: Record<string, unknown> & { errors?: { field: string }[] }; timestamp?: string }

const fieldsOf = ({ error }: Envelope) => (error?.errors ?? []).map(({ field }) => field)
const isEnvelope = ({ success, error, timestamp }: Envelope, status: number, requestId: unknown) =>
  success === false &&
  typeof error?.code === 'string' &&
  typeof error.message === 'string' &&
  error.statusCode === status &&
  typeof requestId === 'string' &&
  error.requestId === requestId &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(timestamp ?? '')

/** SQL, stacks and file names must not appear in an error. */
const TELLTALE = /select |insert into|relation "|syntax error at|node_modules|\.ts:\d|\n\s+at /i

/**
 * Every n-th item, beginning with the one of this turn. Values that one and the same code refuses are spread over the routes: each route
 * gets some of them, and each value reaches many routes. All pairs would take twice as long.
 */
const shareOf = <Item>(items: Item[], turn: number, of: number) => items.filter((_, index) => index % of === turn % of)

// Whole bodies --------------------------------------------------------------------------------------------------------

const nested = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`
const form = 'application/x-www-form-urlencoded'

describe('every operation with a body refuses', () => {
  expectNothingWritten()

  const MALFORMED = [400, 'VALIDATION_ERROR'] as const
  const WRONG_TYPE = [415, 'UNSUPPORTED_MEDIA_TYPE'] as const

  const BODIES: [string, readonly [number, string], string | Buffer, Record<string, string | undefined>?][] = [
    ['half a document', MALFORMED, '{"a":'],
    ['a list', MALFORMED, '[]'],
    ['a list of an object', MALFORMED, '[{}]'],
    ['a text', MALFORMED, '"x"'],
    ['a number', MALFORMED, '7'],
    ['true', MALFORMED, 'true'],
    ['null', MALFORMED, 'null'],
    ['nothing', MALFORMED, ''],
    ['spaces', MALFORMED, '  \n'],
    ['two byte order marks', MALFORMED, '\ufeff\ufeff{}'],
    ['UTF-16', MALFORMED, Buffer.from('{"name":"x"}', 'utf16le')],
    ['UTF-16 with its mark', MALFORMED, Buffer.from('\ufeff{"name":"x"}', 'utf16le')],
    ['bytes that are not UTF-8', MALFORMED, Buffer.from([...Buffer.from('{"a":"'), 0xff, 0xfe, ...Buffer.from('"}')])],
    ['an overlong encoding', MALFORMED, Buffer.from([...Buffer.from('{"a":"'), 0xc0, 0x80, ...Buffer.from('"}')])],
    ['a surrogate in UTF-8', MALFORMED, Buffer.from([...Buffer.from('{"a":"'), 0xed, 0xa0, 0x80, ...Buffer.from('"}')])],
    ['a trailing comma', MALFORMED, '{"a":1,}'],
    ['two documents', MALFORMED, '{}{}'],
    ['a comment', MALFORMED, '{/* */}'],
    ['single quotes', MALFORMED, "{'a':1}"],
    ['NaN', MALFORMED, '{"a":NaN}'],
    ['41 levels', MALFORMED, nested(41)],
    ['41 levels of lists', MALFORMED, `{"a":${'['.repeat(40)}${']'.repeat(40)}}`],
    ['5,000 levels', MALFORMED, nested(5_000)],
    ['100,000 levels that never close', MALFORMED, '['.repeat(100_000)],
    ['more levels behind a text full of quotes and brackets', MALFORMED, `{"a":"\\"}]\\\\","b":${nested(40)}}`],
    ['text/plain', WRONG_TYPE, '{}', { 'content-type': 'text/plain' }],
    ['a form', WRONG_TYPE, 'name=x', { 'content-type': form }],
    ['a form that says it is JSON too', WRONG_TYPE, '{}', { 'content-type': `${form}; application/json` }],
    ['a multipart form', WRONG_TYPE, '--x--', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['XML', WRONG_TYPE, '<a/>', { 'content-type': 'application/xml' }],
    ['something like JSON', WRONG_TYPE, '{}', { 'content-type': 'application/jsonx' }],
    ['no content type', WRONG_TYPE, '{}', { 'content-type': undefined }],
    ['gzip', WRONG_TYPE, gzipSync('{}'), { ...JSON_TYPE, 'content-encoding': 'gzip' }],
    ['a gzip bomb', WRONG_TYPE, gzipSync('0'.repeat(10_000_000)), { ...JSON_TYPE, 'content-encoding': 'gzip' }],
    ['brotli', WRONG_TYPE, '{}', { ...JSON_TYPE, 'content-encoding': 'br' }],
  ]
  test.each(BODIES.map(([name, ...rest], turn) => [name, turn, ...rest] as const))('%s', async (_, turn, expected, payload, headers) => {
    const [status, code] = expected
    const complaints: string[] = []
    const mayBeRefused = (operation: Operation) => payload !== '' || !BODY_OPTIONAL.includes(nameOf(operation))
    const concerned = shareOf(withBody(), turn, 6).filter(mayBeRefused)
    await fewAtOnce(concerned, async (operation) => {
      const answer = await refuse(operation, { payload, headers: headers ?? JSON_TYPE })
      answer.check(answer.status === status && answer.code === code, `expected ${status} ${code}`)
      complaints.push(...answer.complaints)
    })
    expect(complaints).toEqual([])
  })

  test('one byte more than the limit, with and without a Content-Length', async () => {
    const complaints: string[] = []
    for (const operation of withBody()) {
      const tooLarge = `{"a":"${'x'.repeat(limitOf(operation) - 7)}"}`
      expect(tooLarge).toHaveLength(limitOf(operation) + 1)
      const answers = [
        await refuse(operation, { payload: tooLarge, headers: JSON_TYPE }),
        await refuse(operation, { payload: Readable.from([tooLarge.slice(0, 9), tooLarge.slice(9)]), headers: JSON_TYPE }),
        await refuse(operation, { payload: '{}', headers: { ...JSON_TYPE, 'content-length': '999999999999' } }),
      ]
      for (const answer of answers) {
        answer.check(answer.status === 413 && answer.code === 'PAYLOAD_TOO_LARGE', 'expected 413')
        complaints.push(...answer.complaints)
      }
    }
    expect(complaints).toEqual([])
  })

  test('is not an empty list of operations', () => {
    expect(withBody().map(nameOf)).toEqual(expect.arrayContaining(['POST /auth/signup', 'PATCH /projects/{id}/members/{userId}']))
    expect(withBody().length).toBeGreaterThan(8)
  })
})

test('a body of exactly the limit is accepted, and so are 40 levels', async () => {
  const fits = `{"a":"${'x'.repeat(BODY_LIMIT - 8)}"}`
  expect(fits).toHaveLength(BODY_LIMIT)
  expect((await sterna.call('POST', '/probe/echo', { body: fits })).status).toBe(200)
  const deep = await sterna.call('POST', '/probe/echo', { body: nested(40) })
  expect([deep.status, JSON.stringify(deep.body.body)]).toEqual([200, nested(40)])
})

// Properties of bodies ------------------------------------------------------------------------------------------------

type Property = { operation: Operation; name: string; schema: Schema; required: boolean; valid: Record<string, unknown> }

/** Requirements of a body that its schema cannot express. */
const NEEDED: Record<string, Record<string, unknown>> = {
  'POST /v1/send': { to: 'sample@example.com', from: 'hello@mine.example', subject: 'Hi', body: 'Hi' },
  'POST /emails': { to: 'sample@example.com', from: 'hello@mine.example', subject: 'Hi', body: 'Hi' },
}

const properties = (): Property[] =>
  withBody().flatMap((operation) => {
    const body = api.resolve(operation.body!)
    return Object.entries(body.properties ?? {}).map(([name, schema]) => ({
      operation,
      name,
      schema,
      required: body.required?.includes(name) ?? false,
      valid: { ...api.sampleObject(body, name), ...NEEDED[nameOf(operation)] },
    }))
  })

/** The properties whose absence is a bare `{ error }`, and one whose wrong kind is, too. */
const MISSING_PLAINLY: Record<string, string[]> = { 'POST /contacts': ['email'], 'POST /segments': ['name', 'condition'] }
const isPlain = ({ status, code }: { status: number; code: string }) => status === 400 && code === 'PLAIN'
const isMissingPlainly = (operation: Operation, name: string, answer: { status: number; code: string }) =>
  Boolean(MISSING_PLAINLY[nameOf(operation)]?.includes(name)) && isPlain(answer)
const isWrongPlainly = (operation: Operation, name: string, answer: { status: number; code: string }) =>
  nameOf(operation) === 'POST /segments' && name === 'condition' && isPlain(answer)
/** The sample is a static segment, which ignores a condition. */
const isIgnored = ({ operation, name }: Property) => nameOf(operation) === 'PATCH /segments/{id}' && name === 'condition'

type Pair = (property: Property) => string
/** Characters from which two values may be longer than a body. */
const LONG = 100_000

/**
 * Refuses properties of one operation together: a request has a bad value for each that no error has named yet, so the last of them are
 * shown alone. That is a third of the requests. Properties with a plain error, which names none, have requests of their own.
 */
async function refuseAll(properties: Property[], badPair: Pair, mayBePlain: (property: Property, answer: Refusal) => boolean) {
  const complaints: string[] = []
  const [{ operation }] = properties as [Property]
  const isAlone = nameOf(operation) in MISSING_PLAINLY
  let left = properties
  while (left.length) {
    const asked = isAlone || badPair(left[0]!).length > LONG ? left.slice(0, 1) : left
    const names = asked.map(({ name }) => name)
    const others = Object.entries(asked[0]!.valid).filter(([other]) => !names.includes(other))
    const pairs = [...others.map(([other, value]) => `${JSON.stringify(other)}:${JSON.stringify(value)}`), ...asked.map(badPair)]
    const answer = await refuse(operation, { payload: `{${pairs.join()}}`, headers: JSON_TYPE })
    const named = answer.fields.map((field) => field.split('.')[0]!)
    const isPlainly = isAlone && mayBePlain(asked[0]!, answer)
    const isNamed = answer.status === 422 && answer.code === 'VALIDATION_ERROR' && named.length > 0
    answer.check(isPlainly || isNamed, `${names}: expected 422`)
    answer.check(
      named.every((name) => names.includes(name)),
      `expected ${names} and nothing else to be named`,
    )
    complaints.push(...answer.complaints)
    if (answer.complaints.length) break
    left = left.filter((property) => !(isPlainly ? asked[0] === property : named.includes(property.name)))
  }
  return complaints
}

const byOperation = (properties: Property[]) =>
  withBody()
    .map((operation) => properties.filter((property) => property.operation === operation))
    .filter(({ length }) => length > 0)

const refusesKind = (kind: string) => (schema: Schema) => api.kindsOf(schema)?.has(kind) === false
const always = () => true

describe('every property of every body refuses, by name,', () => {
  expectNothingWritten()

  // JSON text, because several values do not survive JSON.stringify. Of values with a share, each property gets one.
  test.each<[string, string, (schema: Schema) => boolean, { turn: number; of: number }?]>([
    ['null', 'null', refusesKind('null')],
    ['a number', '7', refusesKind('number')],
    ['true', 'true', refusesKind('boolean')],
    ['a list', '["sample text"]', refusesKind('array'), { turn: 0, of: 2 }],
    ['an empty list', '[]', refusesKind('array'), { turn: 1, of: 2 }],
    ['an object', '{"a":"b"}', refusesKind('object'), { turn: 0, of: 3 }],
    ['an object that poses as a text', '{"length":9,"toString":"x"}', refusesKind('object'), { turn: 1, of: 3 }],
    ['an object with a prototype', '{"__proto__":{"length":9}}', refusesKind('object'), { turn: 2, of: 3 }],
    ['a text', '"sample text"', refusesKind('string')],
    ['U+0000', '"sample\\u0000text"', always, { turn: 0, of: 2 }],
    ['U+0000 at the end of something valid', '"sample@example.com\\u0000"', always, { turn: 1, of: 2 }],
    ['a high surrogate alone', '"sample\\ud83d text"', always, { turn: 0, of: 3 }],
    ['a low surrogate alone', '"sample\\uDC00 text"', always, { turn: 1, of: 3 }],
    ['surrogates the wrong way round', '"sample\\udc00\\ud83d text"', always, { turn: 2, of: 3 }],
    ['10 kB of text', `"${'x'.repeat(10_000)}"`, (schema) => !isUnbounded(schema), { turn: 0, of: 2 }],
    ['half a megabyte of text', `"${'x'.repeat(500_000)}"`, (schema) => !isUnbounded(schema), { turn: 1, of: 2 }],
    ['1e400', '1e400', always, { turn: 0, of: 2 }],
    ['-1e400', '-1e400', always, { turn: 1, of: 2 }],
    ['2^53 + 1', '9007199254740993', always, { turn: 0, of: 2 }],
    ['-2^53 - 1', '-9007199254740993', always, { turn: 1, of: 2 }],
    // Where keys are known, unknown keys are ignored with their values.
    ['2^53 + 1 deep inside', '{"a":[{"b":9007199254740993}]}', (schema) => !hasKnownKeys(schema)],
  ])('%s', async (_, json, applies, { turn, of } = { turn: 0, of: 1 }) => {
    const affected = shareOf(properties(), turn, of).filter((property) => applies(property.schema) && !isIgnored(property))
    const complaints: string[] = []
    await fewAtOnce(byOperation(affected), async (each) => {
      const mayBePlain = ({ operation, name }: Property, answer: Refusal) =>
        isWrongPlainly(operation, name, answer) || (json === 'null' && isMissingPlainly(operation, name, answer))
      complaints.push(...(await refuseAll(each, (property) => `${JSON.stringify(property.name)}:${json}`, mayBePlain)))
    })
    expect(complaints).toEqual([])
  })

  test('more items or keys than the limit, and a maximum of invalid ones', async () => {
    const complaints: string[] = []
    const lists = properties().filter(({ schema }) => boundOf(schema) !== undefined)
    expect(lists.map(({ operation, name }) => `${nameOf(operation)} ${name}`)).toEqual(
      expect.arrayContaining(['POST /contacts/lookup emails', 'POST /v1/send headers', 'POST /v1/send to', 'POST /v1/track data']),
    )
    const keys = (many: number, length: number) =>
      Object.fromEntries(Array.from({ length: many }, (_, n) => [`${n}`.padEnd(length, 'é'), {}]))
    /** JSON texts by their numbers: most properties have the same limits, and 99,000 keys take 100 ms. */
    const texts = new Map<string, string>()
    const textOf = (of: 'items' | 'keys', many: number, length: number) => {
      const made = `${of} ${many} ${length}`
      const text = texts.get(made) ?? JSON.stringify(of === 'items' ? Array(many).fill(0) : keys(many, length))
      texts.set(made, text)
      return text
    }
    for (const { operation, name, schema, valid } of lists) {
      const { of, max } = boundOf(schema)!
      const { [name]: _, ...others } = valid
      const rest = JSON.stringify(others).slice(1, -1)
      for (const [many, length] of [[max + 1, 400], [99_000, 8], ...(of === 'items' ? [[max, 8]] : [])] as [number, number][]) {
        const pair = `"${name}":${textOf(of, many, length)}`
        const answer = await refuse(operation, { payload: `{${[rest, pair].filter(Boolean).join()}}`, headers: JSON_TYPE })
        answer.check(answer.status < 500, 'expected a refusal')
        answer.check(answer.fields.length <= 50, `${answer.fields.length} errors`)
        complaints.push(...answer.complaints)
      }
    }
    expect(complaints).toEqual([])
  })

  test('its absence if it is required, also if it is in a prototype or in another case', async () => {
    const complaints: string[] = []
    const required = properties().filter(({ required }) => required)
    expect(required.length).toBeGreaterThan(8)
    await fewAtOnce(required, async ({ operation, name, valid }) => {
      const { [name]: value, ...others } = valid
      const rest = JSON.stringify(others).slice(1, -1)
      const given = JSON.stringify({ [name]: value })
      for (const extra of [
        `"${name.toUpperCase()}":"x"`,
        `"__proto__":${given}`,
        `"\\u005f_proto__":${given}`,
        `"__\\u0070roto__":${given}`,
        `"constructor":{"prototype":${given}}`,
      ]) {
        const answer = await refuse(operation, { payload: `{${[rest, extra].filter(Boolean).join()}}`, headers: JSON_TYPE })
        const isNamed = answer.status === 422 && answer.fields.join() === name
        answer.check(isNamed || isMissingPlainly(operation, name, answer), `${name}: expected 422 for ${extra}`)
        complaints.push(...answer.complaints)
      }
    })
    expect(complaints).toEqual([])
    expect(({} as Record<string, unknown>).email).toBeUndefined()
  })

  test('the last of two values, not the first', async () => {
    const complaints: string[] = []
    const affected = properties().filter((property) => refusesKind('number')(property.schema) && !isIgnored(property))
    const twice: Pair = ({ name, schema, valid: { [name]: value = api.sample(schema) } }) =>
      `"${name}":${JSON.stringify(value)},"${name}":7`
    const mayBePlain = ({ operation, name }: Property, answer: Refusal) => isWrongPlainly(operation, name, answer)
    await fewAtOnce(byOperation(affected), async (each) => void complaints.push(...(await refuseAll(each, twice, mayBePlain))))
    expect(complaints).toEqual([])
    const { body } = await sterna.call('POST', '/probe/echo', { body: '{"a":1,"b":{"c":1,"c":2},"a":"last"}' })
    expect(body).toEqual({ body: { a: 'last', b: { c: 2 } } })
  })
})

test.each([
  ...['9007199254740992', '1e16', '1E16', '1e+16', '1e0016', '-1e16', '9007199254740993.0', '12345678901234567890', '1e308', '1e309'],
  ...['999999999999999e9', '90071992547409.93e2', '999999999999999.9e8', '999999999999999E+9'],
])('the number %s would lose digits and is refused with its field', async (number) => {
  const answer = await sterna.call('POST', '/probe/echo', { body: `{"a":[{"b":${number}}]}` })
  expect([answer.status, fieldsOf(answer.body)]).toEqual([422, ['a.0.b']])
})

test.each(['9007199254740991', '-9007199254740991', '1e15', '0.1234567890123456789', '1e-400', '123456789012345.6789'])(
  'the number %s is accepted',
  async (number) => {
    const answer = await sterna.call('POST', '/probe/echo', { body: `{"a":${number}}` })
    expect([answer.status, answer.body.body]).toEqual([200, { a: Number(number) }])
  },
)

test('a key that cannot be stored is refused at any depth', async () => {
  for (const body of ['{"a\\u0000b":1}', '{"a":{"\\ud800":1}}', '{"a":[{"b\\u0000":{}}]}']) {
    const answer = await sterna.call('POST', '/probe/echo', { body })
    expect([answer.status, answer.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
  }
})

test.each(['__proto__', '\\u005f_proto__', '__\\u0070roto__', '__prot\\u006f__'])('%s has no effect at any depth', async (key) => {
  const { status, body } = await sterna.call('POST', '/probe/echo', {
    body: `{"a":{"b":[{"${key}":{"polluted":true}}]},"${key}":{"polluted":true}}`,
  })
  expect([status, JSON.stringify(body)]).toEqual([200, '{"body":{"a":{"b":[{}]}}}'])
})

// Parameters ----------------------------------------------------------------------------------------------------------

const withParameters = (kind: Parameter['in']) =>
  api.operations.flatMap((operation) =>
    operation.parameters.filter((parameter) => parameter.in === kind).map(({ name }) => ({ operation, name })),
  )

const isId = ({ operation, name }: { operation: Operation; name: string }) => !Object.hasOwn(FREE_TEXT, resourceOf(operation.path, name))

const payloadFor = ({ body }: Operation) =>
  body ? { payload: JSON.stringify(api.sampleObject(api.resolve(body))), headers: JSON_TYPE } : {}

describe('every parameter in a path', () => {
  expectNothingWritten()

  const PATHS: [string, string | ((parameter: { operation: Operation; name: string }) => string)][] = [
    ['a foreign id', ({ operation, name }) => setting.ids[resourceOf(operation.path, name)]!.foreign],
    ['a random id', () => randomUUID()],
    ['the nil id', '00000000-0000-0000-0000-000000000000'],
    ['an id and more', () => `${randomUUID()}0`],
    ['an id without hyphens', () => randomUUID().replaceAll('-', '')],
    ['an id in braces', () => `%7b${randomUUID()}%7d`],
    ['its own id with U+0000 behind', ({ operation, name }) => `${setting.ids[resourceOf(operation.path, name)]!.own}%00`],
    ['its own id with a space behind', ({ operation, name }) => `${setting.ids[resourceOf(operation.path, name)]!.own}%20`],
    ['its own id with a line break behind', ({ operation, name }) => `${setting.ids[resourceOf(operation.path, name)]!.own}%0a`],
    ['U+0000', '%00'],
    ['U+0000 in the middle', 'a%00b'],
    ['bytes that are not UTF-8', '%ff%fe'],
    ['a broken escape', '%zz'],
    ['a dot dot', '%2e%2e%2f%2e%2e%2fetc%2fpasswd'],
    ['SQL', `1'%20or%20'1'='1`],
    ['more SQL', `'%3b%20drop%20table%20users%3b--`],
    ['a list', '%5b%22a%22%5d'],
    ['a word', 'undefined'],
    // Not 1, which is the version of a template.
    ['a number', '7'],
    ['an emoji', '%F0%9F%A6%9C'],
    ['__proto__', '__proto__'],
    ['1,999 characters', 'x'.repeat(1_999)],
    ['10 kB', 'x'.repeat(10_000)],
  ]
  /** Every route gets these: only its own query decides what they find. */
  const LOOKED_UP = ['a foreign id', 'a random id']
  test.each(PATHS.map(([name, value], turn) => [name, value, turn] as const))('that is %s is not found', async (what, value, turn) => {
    const complaints: string[] = []
    await fewAtOnce(shareOf(withParameters('path').filter(isId), turn, LOOKED_UP.includes(what) ? 1 : 3), async (parameter) => {
      const { operation, name } = parameter
      const url = fill(operation, { [name]: typeof value === 'string' ? value : value(parameter) })
      const answer = await refuse(operation, { url, ...payloadFor(operation) })
      answer.check(answer.status === 404 && NOT_FOUND.includes(answer.code), `{${name}}: expected 404`)
      complaints.push(...answer.complaints)
    })
    expect(complaints).toEqual([])
  })

  test.each(["a'b", 'a"b', 'a.b', '%2F', '%F0%9F%A6%9C', '__proto__', 'constructor', '%27%3b--', 'x'.repeat(1_500)])(
    'that is a name may be %s without an internal error',
    async (value) => {
      const names = withParameters('path').filter((parameter) => !isId(parameter) && parameter.operation.method === 'GET')
      expect(names.length).toBeGreaterThan(2)
      for (const { operation, name } of names) {
        const answer = await sterna.app.inject({ method: 'GET', url: fill(operation, { [name]: value }), headers: credentials(operation) })
        expect([nameOf(operation), answer.statusCode]).toEqual([nameOf(operation), 200])
      }
    },
  )

  test('is covered by these tests', () => {
    expect(withParameters('path').length).toBeGreaterThan(10)
    for (const { path, parameters } of api.operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect(parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)).toEqual(inPath)
    }
  })
})

describe('every parameter in a query', () => {
  expectNothingWritten()

  /** The value alone, after other values and after a second question mark. */
  const ask = async (operation: Operation, query: string) => {
    const cpuMs = startCpuClock()
    const url = `${fill(operation)}?${query}`
    const answer = await sterna.app.inject({
      method: operation.method as 'GET',
      url,
      headers: { ...credentials(operation), ...payloadFor(operation).headers },
    })
    expect([operation.path, query.slice(0, 50), answer.statusCode < 500, cpuMs() < 2_000]).toEqual([
      operation.path,
      query.slice(0, 50),
      true,
      true,
    ])
    if (!isProbe(operation)) expect(conformance.differences(operation, answer)).toEqual([])
    return answer
  }

  test('refuses U+0000 by name', async () => {
    expect(withParameters('query').length).toBeGreaterThan(3)
    await fewAtOnce(withParameters('query'), async ({ operation, name }) => {
      for (const query of [`${name}=%00`, `a=b&${name}=x%00y`, `${name}=%00&${name}=%00`]) {
        const answer = await ask(operation, query)
        expect([answer.statusCode, fieldsOf(answer.json())]).toEqual([422, [name]])
      }
    })
  })

  /** A value or spelling reaches every n-th parameter: what reads a query is the same code for all of them. */
  const askSome = async (turn: number, of: number, queriesOf: (name: string) => string[]) => {
    // Unknown parameters are ignored, so deletions and cancellations happen.
    const writes = ({ method, path }: Operation) => method === 'DELETE' || path.endsWith('/cancel-all')
    const read = withParameters('query').filter((each) => !writes(each.operation))
    await fewAtOnce(shareOf(read, turn, of), async ({ operation, name }) => {
      for (const query of queriesOf(name)) {
        const answer = await ask(operation, query)
        if (answer.statusCode >= 400) expect(isEnvelope(answer.json(), answer.statusCode, answer.headers['x-request-id'])).toBe(true)
      }
    })
  }

  const VALUES = [
    ['nothing', ''],
    ['10 kB', 'x'.repeat(10_000)],
    ['SQL', `1'%20or%20'1'='1;--`],
    ['-1', '-1'],
    ['0', '0'],
    ['1e400', '1e400'],
    ['2^63', '9223372036854775808'],
    ['a broken escape', '%zz'],
    ['bytes that are not UTF-8', '%ff'],
    ['half a surrogate pair', '%ed%a0%80'],
    ['base64 of nothing', 'AAAAAAAAAAAAAAAAAAAAAAAA'],
  ]
  test.each(VALUES.map(([what, value], turn) => [what, value, turn] as const))(
    'accepts or refuses %s, once and twice, without an internal error',
    (_, value, turn) => askSome(turn, 3, (name) => [`${name}=${value}`, `${name}=${value}&${name}=${value}`]),
  )

  // Other names to the parser: their values do not reach the schema, so one value for each spelling is enough.
  test.each([
    ['a list', (name: string) => `${name}[]=0`, 0],
    ['an object', (name: string) => `${name}[a]=%zz`, 1],
    ['a path', (name: string) => `${name}.a=-1`, 2],
    ['a property of the prototype', (name: string) => `__proto__[${name}]=%ff`, 3],
  ] as const)('accepts or refuses the spelling of %s without an internal error', (_, spell, turn) =>
    askSome(turn, 4, (name) => [spell(name)]),
  )

  test('may follow a second question mark', async () => {
    for (const path of ['/health?a=1?b=%00', '/probe/pages?page=1?x=%00']) {
      expect([path, (await sterna.call('GET', path)).status]).toEqual([path, 422])
    }
  })
})

test.each(['/users/%zz', '/%', '/projects/%ff%fe/members'])('%s, which matches no route, has the error envelope', async (url) => {
  const { status, headers, body } = await sterna.call('GET', url, { headers: { 'x-request-id': 'order-42' } })
  expect([status, headers['x-request-id'], body.error.requestId]).toEqual([404, 'order-42', 'order-42'])
  expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' })
})

// Sockets -------------------------------------------------------------------------------------------------------------

describe('on a socket', () => {
  expectNothingWritten()

  let port: number
  beforeAll(async () => {
    await sterna.app.listen({ port: 0, host: '127.0.0.1' })
    port = (sterna.app.server.address() as AddressInfo).port
  })

  /** All bytes of the server until it closes the connection. Rejects if it does not. */
  const talk = (...chunks: (string | Buffer)[]) =>
    new Promise<string>((done, failed) => {
      const received: Buffer[] = []
      const socket = connect(port, '127.0.0.1', () => {
        for (const chunk of chunks) socket.write(chunk)
      })
      const text = () => Buffer.concat(received).toString('latin1')
      socket.setTimeout(15_000, () => socket.destroy(new Error(`still open after: ${text()}`)))
      socket.on('data', (bytes) => received.push(bytes))
      // Closing while the client still sends resets the connection: the response was read before, or it is lost.
      socket.on('error', (err: NodeJS.ErrnoException) => (err.code === 'ECONNRESET' || err.code === 'EPIPE' ? undefined : failed(err)))
      socket.on('close', () => done(text()))
    })

  const parse = (text: string) => {
    const [head = '', body = ''] = text.split(/\r\n\r\n(.*)/s)
    const [line = '', ...lines] = head.split('\r\n')
    const headers = Object.fromEntries(lines.map((each) => [each.split(':')[0]!.toLowerCase(), each.slice(each.indexOf(':') + 2)]))
    return {
      status: Number(line.split(' ')[1]),
      headers,
      body: headers['content-type']?.startsWith('application/json') ? JSON.parse(body) : body,
    }
  }

  const HOST = 'Host: localhost\r\n'
  const POST = `POST /probe/echo HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n`

  test.each<[string, number, string, string]>([
    ['two different lengths', 400, 'BAD_REQUEST', `${POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ['two equal lengths', 400, 'BAD_REQUEST', `${POST}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`],
    ['a length and chunks', 400, 'BAD_REQUEST', `${POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
    ['chunks and a length', 400, 'BAD_REQUEST', `${POST}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n`],
    ['a coding that is not chunked', 400, 'BAD_REQUEST', `${POST}Transfer-Encoding: xchunked\r\n\r\n{}`],
    ['chunked with a twist', 400, 'BAD_REQUEST', `${POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['a negative length', 400, 'BAD_REQUEST', `${POST}Content-Length: -1\r\n\r\n`],
    ['a length in hex', 400, 'BAD_REQUEST', `${POST}Content-Length: 0x2\r\n\r\n{}`],
    ['a length with a plus', 400, 'BAD_REQUEST', `${POST}Content-Length: +2\r\n\r\n{}`],
    ['a chunk without a size', 400, 'BAD_REQUEST', `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n`],
    ['a header line that ends in CR', 400, 'BAD_REQUEST', `GET /health HTTP/1.1\r\n${HOST}A: b\rC: d\r\n\r\n`],
    ['a space before the colon', 400, 'BAD_REQUEST', `${POST}Content-Length : 2\r\n\r\n{}`],
    ['U+0000 in a header', 400, 'BAD_REQUEST', `GET /health HTTP/1.1\r\n${HOST}A: b\0c\r\n\r\n`],
    ['a garbage request line', 400, 'BAD_REQUEST', 'garbage\r\n\r\n'],
    ['a greeting of another protocol', 400, 'BAD_REQUEST', 'EHLO example.com\r\n\r\n'],
    ['a TLS hello', 400, 'BAD_REQUEST', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['an unknown method', 400, 'BAD_REQUEST', `FOO /health HTTP/1.1\r\n${HOST}\r\n`],
    ['an unknown version', 400, 'BAD_REQUEST', `GET /health HTTP/9.9\r\n${HOST}\r\n`],
    ['100 kB of one header', 431, 'HEADERS_TOO_LARGE', `GET /health HTTP/1.1\r\n${HOST}A: ${'x'.repeat(100_000)}\r\n\r\n`],
    ['100 kB of many headers', 431, 'HEADERS_TOO_LARGE', `GET /health HTTP/1.1\r\n${HOST}${'A: xxxxxxx\r\n'.repeat(8_500)}\r\n`],
    ['100 kB of a path', 431, 'HEADERS_TOO_LARGE', `GET /${'x'.repeat(100_000)} HTTP/1.1\r\n${HOST}\r\n`],
  ])('%s ends the connection with a JSON error, and the next one works', async (_, status, code, request) => {
    const answer = parse(await talk(Buffer.from(request, 'latin1')))

    expect([answer.status, answer.body.error?.code]).toEqual([status, code])
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', connection: 'close' })
    expect(isEnvelope(answer.body, status, answer.body.error.requestId)).toBe(true)
    expect(parse(await talk(`GET /health HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`)).status).toBe(200)
  })

  test('an invalid request has a request id, too', async () => {
    const { headers, body } = parse(await talk('garbage\r\n\r\n'))
    expect(headers['x-request-id']).toBe(body.error.requestId)
  })

  test('a smuggled second request is not answered', async () => {
    const smuggled = `GET /probe/pages HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`
    const text = await talk(`${POST}Content-Length: ${smuggled.length + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`)
    expect(text.match(/^HTTP\/1\.1 /gm)).toHaveLength(1)
    expect(parse(text).status).toBe(400)
  })

  test.each([
    '/projects/../members',
    '/projects/%2e%2e/members',
    '/users/@me/projects/../../..',
    '/../../etc/passwd',
    '//health',
    '/health/',
    '/./health',
    '/HEALTH',
    '/health%2f..',
    '/health;a',
    '/health\\..',
  ])('%s, sent unencoded, is not found', async (path) => {
    const { status, headers, body } = parse(
      await talk(
        `GET ${path} HTTP/1.1\r\n${HOST}X-Project-Id: ${setting.mine.id}\r\nCookie: ${setting.mine.owner.cookie}\r\nConnection: close\r\n\r\n`,
      ),
    )
    expect(status).toBe(404)
    expect(isEnvelope(body, 404, headers['x-request-id'])).toBe(true)
  })

  test('".." instead of any id is not found', async () => {
    const bodiless = withParameters('path')
      .filter(isId)
      .filter(({ operation }) => operation.method === 'GET' || (operation.method === 'DELETE' && !operation.body))
    await fewAtOnce(bodiless, async ({ operation, name }) => {
      // In a row over one connection, which the last one closes: a connection for each takes twice as long.
      const requests = ['..', '%2e%2e', '.', '..%2f..'].map((dots, index, { length }) => {
        const closing = index === length - 1 ? 'Connection: close\r\n' : ''
        return `${operation.method} ${fill(operation, { [name]: dots })} HTTP/1.1\r\n${HOST}X-Project-Id: ${setting.mine.id}\r\nCookie: ${setting.mine.owner.cookie}\r\n${closing}\r\n`
      })
      const statuses = (await talk(requests.join(''))).match(/(?<=HTTP\/1\.1 )\d{3}/g)
      expect([requests, statuses]).toEqual([requests, ['404', '404', '404', '404']])
    })
  })

  test('a body longer than its Content-Length is not a second request', async () => {
    const text = await talk(`${POST}Content-Length: 2\r\nConnection: close\r\n\r\n{}GET /health HTTP/1.1\r\n${HOST}\r\n`)
    expect(text.match(/^HTTP\/1\.1 /gm)).toHaveLength(1)
  })

  test('a body that is too large is refused while it arrives, with and without a Content-Length', async () => {
    const megabytes = Buffer.alloc(3_000_000, 0x20)
    const byLength = parse(await talk(`${POST}Content-Length: ${megabytes.length}\r\nConnection: close\r\n\r\n`, megabytes))
    expect([byLength.status, byLength.body.error?.code]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
    const chunk = `${(100_000).toString(16)}\r\n${' '.repeat(100_000)}\r\n`
    const inChunks = parse(await talk(`${POST}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n`, chunk.repeat(30), '0\r\n\r\n'))
    expect([inChunks.status, inChunks.body.error?.code]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
  })
})
