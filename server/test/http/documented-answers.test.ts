import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { SenderName, Subject } from '../../src/templates/rendering/content.ts'
import { createConformance } from '../support/api/conformance.ts'
import { type Document, nameOf, type Operation, readApi, type Schema } from '../support/api/described-api.ts'
import { fewAtOnce } from '../support/api/few-at-once.ts'
import { FREE_TEXT, resourceOf, useTwoProjects } from '../support/api/two-projects.ts'
import { useApp } from '../support/app.ts'
import { image } from '../support/files/images.ts'
import { MULTIPART, multipart } from '../support/files/multipart.ts'

/** Another test checks that this file matches the routes. */
const document: Document = JSON.parse(readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'))
const api = readApi(document)
const conformance = createConformance(document)
const operationNamed = (name: string) => api.operations.find((operation) => nameOf(operation) === name)!

/** Every object in the document, with its path. */
function* walk(value: unknown, place = '#'): Generator<{ place: string; node: Record<string, unknown> }> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield { place, node: value as Record<string, unknown> }
  for (const [key, child] of Object.entries(value)) yield* walk(child, `${place}/${key}`)
}

describe('the OpenAPI document', () => {
  const patterns = [...walk(document)].flatMap(({ node: { pattern } }) => (typeof pattern === 'string' ? [pattern] : []))

  test('has only patterns that are valid in ECMAScript without flags and in RE2', () => {
    expect(patterns.length).toBeGreaterThan(3)
    const constructs = /\(\?(?!:)|\\[pPukK1-9cbB]/
    for (const pattern of new Set(patterns)) {
      expect(() => new RegExp(pattern), pattern).not.toThrow()
      // Removes escaped backslashes first: the character after them is not escaped.
      expect(pattern.replaceAll('\\\\', '')).not.toMatch(constructs)
    }
  })

  test.each([
    ['name of /v1/send', 'POST /v1/send', 'name', SenderName],
    ['subject of /templates', 'POST /templates', 'subject', Subject],
  ])('has a pattern for the %s that matches the server', (_, name, property, original) => {
    const pattern = new RegExp(operationNamed(name).body!.properties![property]!.pattern!)
    const around = [0, 9, 10, 11, 12, 13, 31, 32, 126, 127, 128, 133, 159, 160, 0x2027, 0x2028, 0x2029, 0x202a, 0xfffd, 0x1f99c]
    for (const code of around) {
      const text = `a${String.fromCodePoint(code)}b`
      expect([code, pattern.test(text)]).toEqual([code, original.safeParse(text).success])
    }
  })

  test('has no limits and enums for query parameters that accept any value', () => {
    const queries = api.operations.flatMap(({ parameters }) => parameters.filter((parameter) => parameter.in === 'query'))
    const lenient = queries.filter(({ name }) => ['limit', 'page', 'pageSize', 'sort', 'dir'].includes(name))
    expect(lenient.length).toBeGreaterThan(10)
    for (const { name, schema, description } of lenient) {
      expect([name, Object.keys(schema!)]).toEqual([name, ['type']])
      expect(description).toMatch(/the default\.$/)
    }
  })

  test.each<[string, object[], object[]]>([
    ['POST /contacts', [{ email: 'a@example.com' }], [{}, { subscribed: true }, { email: null }]],
    ['POST /contacts/lookup', [{ emails: ['a'] }], [{}, { emails: [] }, { emails: Array(501).fill('a') }]],
    [
      'POST /contacts/bulk-delete',
      [{ contactIds: ['a'] }, { ids: ['a'] }, { mode: 'query', filter: {} }, { mode: 'query', all: true }],
      [
        {},
        { mode: 'ids' },
        { contactIds: [] },
        { ids: Array(1_001).fill('a') },
        { mode: 'query', filter: { field: 'plan' } },
        { mode: 'query', filter: { x: 1 } },
      ],
    ],
    [
      'POST /suppressions',
      [{ address: 'a@example.com' }, { domain: 'example.com' }],
      [{}, { address: 'a@example.com', domain: 'example.com' }],
    ],
    [
      'POST /events/track',
      [{ name: 'a' }, { email: 'a@example.com', event: 'a' }, { name: 'a', email: 'a@example.com', event: 'a' }],
      [{}, { email: 'a@example.com' }, { event: 'a' }, { name: 'a', event: 'b' }],
    ],
    [
      'POST /v1/send',
      [
        { to: 'a@example.com', template: randomUUID() },
        { to: ['a@example.com'], from: 'a@example.com', subject: 'a', body: 'a' },
      ],
      [{ to: 'a@example.com' }, { to: 'a@example.com', subject: 'a', body: 'a' }, { template: randomUUID() }],
    ],
  ])('has the required properties of the body of %s', (name, valid, invalid) => {
    const body = operationNamed(name).body!
    for (const each of valid) expect([each, conformance.accepts(body, each)]).toEqual([each, true])
    for (const each of invalid) expect([each, conformance.accepts(body, each)]).toEqual([each, false])
  })

  test('lists the statuses of every operation under their conventional names', () => {
    const NAMES: Record<string, string> = { 200: 'OK', 201: 'Created', 202: 'Accepted', 404: 'Not Found', 422: 'Unprocessable Entity' }
    for (const operation of api.operations) {
      const { responses, security, path, method } = operation
      const expected = [
        ['422', '503', 'default'],
        security.length ? ['401', '429'] : [],
        security.includes('secretKey') || security.includes('publicKey') ? ['403'] : [],
        path.includes('{') ? ['404'] : [],
        method === 'GET' ? [] : ['400', '413', '415'],
      ].flat()
      expect([nameOf(operation), Object.keys(responses)]).toEqual([nameOf(operation), expect.arrayContaining(expected)])
      for (const [status, { description }] of Object.entries(responses)) {
        if (!responses[status]!.content?.['text/csv'] && !path.startsWith('/uploads/{'))
          expect([status, description]).toEqual([status, NAMES[status] ?? expect.stringMatching(/^[A-Z][a-z]+( [A-Z]?[a-z]+)*$/)])
      }
    }
    expect(Object.keys(operationNamed('POST /v1/send').responses)).toEqual(expect.arrayContaining(['404', '409']))
    expect(Object.keys(operationNamed('POST /auth/login').responses)).toContain('401')
  })

  test('allows the error envelope wherever a plain error is possible', () => {
    const plain = api.operations.filter((operation) => operation.plain.length)
    expect(plain.map(nameOf)).toEqual(expect.arrayContaining(['POST /contacts', 'POST /contacts/lookup', 'DELETE /events/{eventName}']))
    for (const { plain: statuses, responses } of plain) {
      for (const status of statuses)
        expect(responses[status]!.content!['application/json']!.schema.anyOf).toContainEqual({ $ref: '#/components/schemas/Error' })
    }
    const bare = [...walk(document.paths)].filter(
      ({ place, node }) => /\/[45]\d\d\/content\//.test(place) && node.properties && !place.includes('/anyOf/'),
    )
    expect(bare).toEqual([])
  })
})

// Generated requests --------------------------------------------------------------------------------------------------

/** A fixed seed: every run sends the same requests. */
const SEED = 20_260
const RUNS = { valid: 3, mutated: 4 }

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })
const setting = useTwoProjects(sterna)
beforeEach(() => sql`delete from attempts`.execute(sterna.db))

type Sent = {
  query?: Record<string, string>
  path?: Record<string, string>
  headers?: Record<string, string>
  credentials?: Record<string, string>
  body?: string | Buffer
  type?: string | null
}

async function send(operation: Operation, { query = {}, path = {}, headers = {}, credentials, body, type = 'application/json' }: Sent) {
  const search = new URLSearchParams(query).toString()
  const given: InjectOptions = {
    method: operation.method as 'GET',
    url: setting.fill(operation, path) + (search && `?${search}`),
    headers: {
      ...(credentials ?? setting.credentials(operation)),
      ...headers,
      ...(body === undefined || type === null ? {} : { 'content-type': type }),
    },
  }
  return sterna.app.inject(body === undefined ? given : { ...given, payload: body })
}

/** A condition has rules that a schema cannot express, and is recursive. */
const CONDITION = { logic: 'AND', groups: [{ filters: [{ field: 'email', operator: 'contains', value: 'a' }] }] }

/** Recursive as well. */
const DESIGN = { version: 1, content: [{ type: 'paragraph', attrs: { id: 'p' }, content: [{ type: 'text', text: 'Hello' }] }] }

/** Values that match a schema. */
function arbitrary(given: Schema): fc.Arbitrary<unknown> {
  if (/\/Condition(Input)?$/.test(given.$ref ?? '')) return fc.constant(CONDITION)
  if (/\/Design(Input)?$/.test(given.$ref ?? '')) return fc.constant(DESIGN)
  const schema = api.resolve(given)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices && !schema.properties) return fc.oneof(...choices.map(arbitrary))
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.const !== undefined) return fc.constant(schema.const)
  const [type] = [schema.type].flat()
  if (type === 'object') return objectOf(schema)
  if (type === 'array')
    return fc.array(arbitrary(schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: (schema.minItems ?? 0) + 3 })
  if (type === 'integer') return fc.integer({ min: schema.minimum ?? 0, max: 1_000 })
  if (type === 'number') return fc.double({ noNaN: true, min: -1e6, max: 1e6 })
  if (type === 'boolean') return fc.boolean()
  if (type === 'string') return textOf(schema)
  return fc.oneof(fc.string({ maxLength: 5 }), fc.boolean(), fc.constant(null), fc.integer())
}

const word = (max: number) => fc.string({ unit: fc.constantFrom(...'abcdefghij0123456789'), minLength: 1, maxLength: max })

function textOf(schema: Schema): fc.Arbitrary<string> {
  if (schema.format === 'email') return word(20).map((name) => `${name}@example.com`)
  if (schema.format === 'hostname') return word(20).map((name) => `${name}.example.com`)
  if (schema.format === 'uuid') return fc.uuid()
  if (schema.format) return fc.constant(String(api.sample(schema)))
  return word(Math.min(schema.maxLength ?? 40, 40)).map((text) => text.padEnd(schema.minLength ?? 0, 'x'))
}

function objectOf(schema: Schema): fc.Arbitrary<unknown> {
  const properties = Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, each]) => [name, arbitrary(each)]))
  return fc.record(properties, { requiredKeys: api.requiredOf(schema) })
}

/** A valid body with one change: another value, a long string, one property less or more. */
const mutation = (schema: Schema) => {
  const names = Object.keys(schema.properties ?? {})
  const strange = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom('', 'x'.repeat(5_000), '\u2028', '\t', -1, 1e15, [], {}, [null], { email: 1 }),
  )
  const key = names.length ? fc.constantFrom(...names) : fc.constant('x')
  return fc.tuple(arbitrary(schema), key, strange, fc.constantFrom('change', 'drop', 'add')).map(([valid, name, value, how]) => {
    const body = { ...(valid as Record<string, unknown>) }
    if (how === 'drop') delete body[name]
    else body[how === 'change' ? name : 'unknown key'] = value
    return body
  })
}

const samples = <T>(values: fc.Arbitrary<T>, numRuns: number) => fc.sample(values, { seed: SEED, numRuns })

const STRANGE_TEXTS = ['', '0', '-1', '999999999999', 'nonsense', 'x'.repeat(3_000), '2026-02-30', '%', '\u{1f99c}']
let asked = 0

/** Values that fit the type of a parameter, and every third of the others in turn: most parameters share their code. */
const queryValues = (schema: Schema = {}) => {
  const turn = asked++ % 3
  return [...samples(arbitrary(schema), 2).map(String), ...STRANGE_TEXTS.filter((_, index) => index % 3 === turn)]
}

const pathValues = (operation: Operation, name: string) => {
  const resource = resourceOf(operation.path, name)
  const { own, foreign } = setting.ids[resource]!
  const names = ['email', 'data.email', 'data.plan', 'createdAt', 'subscribed', 'contact.created', 'email.sent']
  return Object.hasOwn(FREE_TEXT, resource) ? names : [own.toUpperCase(), foreign, randomUUID(), 'nonsense', 'x'.repeat(1_500)]
}

function* requestsFor(operation: Operation): Generator<Sent> {
  const body = operation.body && api.resolve(operation.body)
  const usual: Sent =
    FORMS[nameOf(operation)] ?? (body ? { body: JSON.stringify({ ...api.sampleObject(body), ...knownFor(operation) }) } : {})
  yield usual
  yield { ...usual, credentials: {} }
  yield { ...usual, credentials: { authorization: 'Bearer sk_unknown' } }
  yield { ...usual, credentials: { cookie: setting.mine.owner.cookie } }
  yield { ...usual, credentials: { cookie: setting.mine.owner.cookie, 'x-project-id': setting.theirs.id } }
  yield { ...usual, credentials: { authorization: `Bearer ${setting.mine.pk}` } }
  for (const { name, schema, in: where } of operation.parameters) {
    if (where === 'query') for (const value of queryValues(schema)) yield { ...usual, query: { [name]: value } }
    if (where === 'header') for (const value of HEADER_VALUES) yield { ...usual, headers: { [name]: value } }
    if (where === 'path') for (const value of pathValues(operation, name)) yield { ...usual, path: { [name]: value } }
  }
  if (!body) return
  for (const valid of samples(arbitrary(body), RUNS.valid)) yield { body: JSON.stringify(valid) }
  for (const mutated of samples(mutation(body), RUNS.mutated)) yield { body: JSON.stringify(mutated) }
}

/** Requirements of a valid body that its schema cannot express. */
const knownFor = (operation: Operation) => KNOWN[nameOf(operation)]?.() ?? {}
const KNOWN: Record<string, () => object> = {
  'POST /v1/send': () => ({ from: 'hello@mine.example' }),
  'POST /emails': () => ({ from: 'hello@mine.example' }),
  'POST /campaigns': () => ({ from: 'hello@mine.example', body: '<p>Hi</p>' }),
  'PUT /campaigns/{id}': () => ({ from: 'hello@mine.example', body: '<p>Hi</p>' }),
  'POST /templates': () => ({ body: '<p>Hi</p>' }),
  'POST /templates/preview': () => ({ body: '<p>Hi</p>' }),
  'POST /designs/render': () => ({ design: DESIGN }),
  'POST /segments': () => ({ condition: CONDITION }),
  'POST /segments/preview': () => ({ condition: CONDITION }),
  'POST /segments/explain': () => ({ condition: CONDITION, contactId: setting.ids.contacts!.own }),
  'POST /contacts/bulk-add-to-segment': () => ({ segmentId: setting.ids.segments!.own }),
  'POST /webhook-endpoints': () => ({ url: 'https://hooks.example.com/in?token=TOKEN-OF-URL', events: ['event.never'] }),
  'POST /workflows/{id}/webhook-preview': () => ({ config: { url: 'https://hooks.example.com', method: 'POST' } }),
  'POST /workflows/{id}/steps': () => ({ type: 'EXIT', config: {} }),
  'POST /workflows/{id}/transitions': () => ({ fromStepId: setting.ids.steps!.own, toStepId: setting.ids.exits!.own, branch: null }),
}
const FORMS: Record<string, Sent> = {
  'POST /contacts/import': { body: multipart([{ content: 'email\nimported@example.com\n' }]), type: MULTIPART['content-type'] },
  'POST /uploads/image': { body: multipart([{ content: await image('png'), field: 'image' }]), type: MULTIPART['content-type'] },
}
/** A repeated key: the second request may be refused. */
const HEADER_VALUES = ['a key', 'a key', '', 'é', 'x'.repeat(300), '"2026-01-31T12:00:00.000Z"', '*']

/** Last, in this order: each removes data that the others need. */
const LAST = [
  'POST /contacts/bulk-delete',
  'POST /workflows/{id}/executions/cancel-all',
  'DELETE /workflows/{id}/steps/{stepId}',
  'DELETE /workflows/{id}',
  'POST /users/@me/projects/{id}/regenerate-keys',
  'POST /users/@me/projects/{id}/reset',
  'GET /auth/logout',
  'DELETE /users/@me/projects/{id}',
]
const REMOVES_NO_RESOURCE = ['DELETE /segments/{id}/members']
const isDeletion = (operation: Operation) => operation.method === 'DELETE' && !REMOVES_NO_RESOURCE.includes(nameOf(operation))
const turnOf = (operation: Operation) => (isDeletion(operation) ? 1 : 0) + 2 * (LAST.indexOf(nameOf(operation)) + 1)
const ordered = api.operations.toSorted((a, b) => turnOf(a) - turnOf(b))
const succeeded = new Set<string>()

/** What an operation needs, where it depends on the speed of a worker. */
const BEFORE: Record<string, () => Promise<unknown>> = {
  // It was sent before, and may have ended since.
  'POST /campaigns/{id}/cancel': () =>
    sql`update campaigns set status = 'SCHEDULED', scheduled_for = now() + interval '1 day' where id = ${setting.ids.campaigns!.own}`.execute(
      sterna.db,
    ),
}

/** Links, keys and tokens. Targets are names and ids; values are those of settings. */
const SECRETS = sql`a.target_name like '%://%' or a::text ~ '(token|secret|key)=|[ps]k_[0-9a-f]{64}|TOKEN-OF-URL'`

// Bodies that cannot be read are in `bad-input.test.ts`, which compares its answers with the document, too.
describe('every response matches the document, for valid and invalid requests to', () => {
  test.each(ordered.map((operation) => [nameOf(operation), operation] as const))('%s', async (name, operation) => {
    await BEFORE[name]?.()
    const differences: string[] = []
    const ask = async (request: Sent) => {
      const answer: LightMyRequestResponse = await send(operation, request)
      if (answer.statusCode < 400) succeeded.add(name)
      for (const found of conformance.differences(operation, answer))
        differences.push(`${JSON.stringify(request).slice(0, 300)} → ${found}`)
    }
    // Reads may overlap; of writes, each begins with the data that the one before has left.
    if (operation.method === 'GET' && name !== 'GET /auth/logout') await fewAtOnce([...requestsFor(operation)], ask)
    else for (const request of requestsFor(operation)) await ask(request)
    expect(differences).toEqual([])
    expect(await many(sterna.db, sql`select a::text from audit_entries a where ${SECRETS}`)).toEqual([])
  })

  test('all operations with at least one success, except those that need a secret or an earlier result', () => {
    const NEVER = [
      'POST /auth/login',
      'POST /auth/verify-email',
      'POST /auth/reset-password',
      'POST /auth/change-password',
      'POST /auth/accept-invitation',
      'DELETE /users/@me/sessions/{sessionId}',
      'GET /contacts/import/{jobId}',
      'GET /contacts/import/{jobId}/errors',
      // No host points here.
      'GET /link-hosts/allowed',
      'GET /uploads/{key}',
      // The id of a job is only known after its start.
      'GET /emails/export/{jobId}',
      'GET /emails/export/{jobId}/file',
      // The sample email is not scheduled.
      'PATCH /emails/{id}',
      'POST /emails/{id}/cancel',
      'POST /emails/{id}/resend',
      'GET /suppressions/export/{jobId}',
      'GET /suppressions/export/{jobId}/file',
      // The sample is a static segment.
      'POST /segments/{id}/compute',
      // The sample campaign is not in the right state.
      'POST /campaigns/{id}/pause',
      'POST /campaigns/{id}/resume',
      'PUT /campaigns/{id}/rate',
      'POST /campaigns/{id}/resend',
      'GET /campaigns/export/{jobId}',
      'GET /campaigns/export/{jobId}/file',
      // The version grows with the requests before it.
      'PUT /workflows/{id}/graph',
      // The sample contact is in the workflow already.
      'POST /workflows/{id}/executions',
      // The sample execution has been cancelled with all others.
      'DELETE /workflows/{id}/executions/{executionId}',
      // It would call another host.
      'POST /workflows/{id}/webhook-test',
      // No project is suspended.
      'POST /suspensions/{id}/lift',
      // Without Stripe.
      'POST /users/@me/projects/{id}/checkout',
      'POST /users/@me/projects/{id}/billing-portal',
      'GET /users/@me/projects/{id}/billing-invoices',
    ]
    expect(api.operations.map(nameOf).filter((name) => !succeeded.has(name))).toEqual(NEVER)
  })
})
