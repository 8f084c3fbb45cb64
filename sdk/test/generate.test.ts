import { expect, test } from 'vitest'
import { printMethods, printTypes, type Schema } from '../scripts/generate.ts'

/** The type of a schema, on one line. */
function typeOf(schema: Schema): string {
  const source = printTypes({ components: { schemas: { it: schema } } })
  const [, type] = /export type It = (.*?)\n\n\/\*\* The input/s.exec(source)!
  return type!.replaceAll(/\s+/g, ' ').trim()
}

test.each<[Schema, string]>([
  [true, 'unknown'],
  [false, 'never'],
  [{}, 'unknown'],
  [{ not: {} }, 'never'],
  [{ type: 'string' }, 'string'],
  [{ type: 'integer' }, 'number'],
  [{ type: 'string', format: 'binary' }, 'Blob'],
  [{ type: 'null' }, 'null'],
  [{ type: ['string', 'null'] }, 'string | null'],
  [{ type: ['integer', 'number'] }, 'number'],
  [{ type: 'string', nullable: true }, 'string | null'],
  [{ type: 'boolean', const: true }, 'true'],
  [{ const: null }, 'null'],
  [{ type: 'string', enum: ['a', "it's", 'say "hi"', 1, null] }, `'a' | 'it\\'s' | 'say "hi"' | 1 | null`],
  [{ $ref: '#/components/schemas/project-member' }, 'ProjectMember'],
  [{ $ref: '#/components/schemas/A', description: 'described' }, 'A'],
  [{ $ref: '#/components/schemas/A', properties: { b: { type: 'string' } } }, 'A & { b?: string }'],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'string | null'],
  [{ oneOf: [{ type: 'string' }, { type: 'number' }, { type: 'string' }] }, 'string | number'],
  [{ allOf: [{ $ref: '#/x/A' }, { anyOf: [{ $ref: '#/x/B' }, { $ref: '#/x/C' }] }] }, 'A & (B | C)'],
  [{ type: 'object', anyOf: [{ $ref: '#/x/A' }, { $ref: '#/x/B' }] }, 'A | B'],
  [{ properties: { a: {}, b: {} }, oneOf: [{ required: ['a'] }, { required: ['b'] }] }, '{ a?: unknown b?: unknown }'],
  [{ type: 'array', items: { type: 'string' } }, 'string[]'],
  [{ type: 'array', items: { type: ['string', 'null'] } }, '(string | null)[]'],
  [{ type: 'array' }, 'unknown[]'],
  [{ type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] }, '[string, number]'],
  [{ prefixItems: [{ type: 'string' }], items: { type: 'number' } }, '[string, ...number[]]'],
  [{ prefixItems: [{ type: 'string' }], items: false }, '[string]'],
  [{ type: 'object' }, 'Record<string, unknown>'],
  [{ type: 'object', additionalProperties: false }, 'Record<string, never>'],
  [{ additionalProperties: { type: 'integer' } }, 'Record<string, number>'],
  [{ properties: { a: { type: 'string' }, 'b-c': true }, required: ['a'] }, "{ a: string 'b-c'?: unknown }"],
  [{ properties: { a: { type: 'string' } }, additionalProperties: {} }, '{ a?: string } & Record<string, unknown>'],
])('%j is %s', (schema, type) => {
  expect(typeOf(schema)).toBe(type)
})

test('a document becomes types with comments and one entry per operation', () => {
  const json = (schema: Schema) => ({ content: { 'application/json': { schema } } })
  const form: Schema = { type: 'object', properties: { file: { type: 'string', format: 'binary' } }, required: ['file'] }
  const source = printTypes({
    paths: {
      '/things/{id}': {
        get: {
          summary: 'One thing.',
          parameters: [
            { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
            { name: 'fields', in: 'query', description: 'Which */ to show', schema: { type: 'string' } },
            { name: 'archived', in: 'query', schema: { type: 'string', enum: ['true', 'false'] } },
            { name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } },
          ],
          responses: { 200: json({ $ref: '#/components/schemas/thing' }), 404: json({ type: 'string' }) },
        },
        delete: { parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }], responses: { 204: {} } },
      },
      '/things.csv': { get: { responses: { 200: { content: { 'text/csv': { schema: { type: 'string' } } } } } } },
      '/files': {
        post: {
          requestBody: { content: { 'multipart/form-data': { schema: form } } },
          responses: { 202: json({ type: 'object', properties: { jobId: { type: 'string' } }, required: ['jobId'] }) },
        },
      },
    },
    components: {
      schemas: {
        thing: {
          description: 'A thing.\nWith a second line.',
          type: 'object',
          properties: { kind: { enum: ['x'.repeat(70), 'y'.repeat(70)] }, name: { type: 'string', description: 'Shown to people.' } },
          required: ['kind', 'name'],
        },
      },
    },
  })

  expect(source).toBe(`/**
 * A thing.
 * With a second line.
 */
export type Thing = {
  kind:
    | '${'x'.repeat(70)}'
    | '${'y'.repeat(70)}'
  /** Shown to people. */
  name: string
}

/** The input and the 2xx response of every endpoint. */
export interface Operations {
  'POST /files': {
    params: undefined
    query: undefined
    headers: undefined
    body: {
      file: Blob
    }
    response: {
      jobId: string
    }
  }

  'GET /things.csv': {
    params: undefined
    query: undefined
    headers: undefined
    body: undefined
    response: Download
  }

  /** One thing. */
  'GET /things/{id}': {
    params: {
      id: string
    }
    query: {
      /** Which *\\/ to show */
      fields?: string
      archived?: boolean | 'true' | 'false'
    }
    headers: {
      'Idempotency-Key'?: string
    }
    body: undefined
    response: Thing
  }

  'DELETE /things/{id}': {
    params: {
      id: string
    }
    query: undefined
    headers: undefined
    body: undefined
    response: undefined
  }
}
`)
})

test('an operation becomes a method, and a list an iterator as well', () => {
  const json = (schema: Schema) => ({ 200: { content: { 'application/json': { schema } } } })
  const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } as Schema }
  const query = (name: string) => ({ name, in: 'query', schema: { type: 'string' } as Schema })
  const items: Schema = { type: 'array', items: { $ref: '#/components/schemas/thing' } }
  const page: Schema = { type: 'object', properties: { things: items, page: {}, totalPages: {} } }
  const form: Schema = { properties: { picture: { type: 'string', format: 'binary' }, alt: { type: 'string' } }, required: ['picture'] }
  const source = printMethods({
    paths: {
      '/things': {
        get: {
          summary: 'List things',
          parameters: [query('cursor'), query('limit')],
          responses: json({ $ref: '#/components/schemas/list' }),
        },
        post: { requestBody: { required: true, content: { 'application/json': { schema: { required: ['name'] } } } } },
      },
      '/things/{id}': {
        put: {
          parameters: [id, { name: 'If-Match', in: 'header', schema: { type: 'string' } }],
          requestBody: { required: true, content: { 'application/json': { schema: { $ref: '#/components/schemas/thing' } } } },
        },
      },
      '/things/{id}/parts': { get: { parameters: [id, query('page'), query('pageSize')], responses: json(page) } },
      '/things/{id}/labels': { get: { parameters: [id, query('like')], responses: json({ properties: { labels: items, count: {} } }) } },
      '/things/{id}/picture': { post: { parameters: [id], requestBody: { content: { 'multipart/form-data': { schema: form } } } } },
      '/things.csv': { get: { responses: { 200: { content: { 'text/csv': {} } } } } },
    },
    components: {
      schemas: {
        list: { type: 'object', properties: { data: items, cursor: { type: ['string', 'null'] }, hasMore: { type: 'boolean' } } },
      },
    },
  })
  expect(source).toMatchInlineSnapshot(`
    "/** Operations that return a file. */
    export const DOWNLOADS: ReadonlySet<string> = /* @__PURE__ */ new Set<string>([
      'GET /things.csv',
    ])

    export class ThingsApi extends Resource {
      /** List things */
      readonly list = (query: Query<'GET /things'> = {}, options: CallOptions = {}): Promise<Result<'GET /things'>> =>
        this.call('GET /things', { query }, options)

      /** Iterates over all items of \`list\`, page by page. */
      readonly all = (query: Omit<Query<'GET /things'>, 'cursor'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /things'>['data'][number]> =>
        iterateByCursor(
          (limit, cursor) => this.list({ ...query, limit, cursor }, options),
          (page) => page.data,
          { max, pageSize: query.limit },
        )

      readonly create = (body: Body<'POST /things'>, options: CallOptions = {}): Promise<Result<'POST /things'>> =>
        this.call('POST /things', { body }, options)

      readonly update = (id: string, body: Body<'PUT /things/{id}'>, options: RevisionOptions = {}): Promise<Result<'PUT /things/{id}'>> =>
        this.call('PUT /things/{id}', { params: { id }, body }, options)

      readonly labels = (id: string, query: Query<'GET /things/{id}/labels'> = {}, options: CallOptions = {}): Promise<Result<'GET /things/{id}/labels'>> =>
        this.call('GET /things/{id}/labels', { params: { id }, query }, options)

      /** Iterates over all items of \`labels\`. */
      readonly allLabels = (id: string, query: Query<'GET /things/{id}/labels'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /things/{id}/labels'>['labels'][number]> =>
        iterateWhole(() => this.labels(id, query, options).then(({ labels }) => labels), { max })

      readonly parts = (id: string, query: Query<'GET /things/{id}/parts'> = {}, options: CallOptions = {}): Promise<Result<'GET /things/{id}/parts'>> =>
        this.call('GET /things/{id}/parts', { params: { id }, query }, options)

      /** Iterates over all items of \`parts\`, page by page. */
      readonly allParts = (id: string, query: Omit<Query<'GET /things/{id}/parts'>, 'page'> = {}, { max, ...options }: CallOptions & Bound = {}): Items<Result<'GET /things/{id}/parts'>['things'][number]> =>
        iterateByPage(
          (pageSize, page) => this.parts(id, { ...query, pageSize, page }, options),
          (page) => page.things,
          { max, pageSize: query.pageSize },
        )

      readonly picture = (id: string, file: Blob, fields: Omit<Body<'POST /things/{id}/picture'>, 'picture'> = {}, options: CallOptions = {}): Promise<Result<'POST /things/{id}/picture'>> =>
        this.call('POST /things/{id}/picture', { params: { id }, body: { ...fields, picture: file } }, options)
    }

    export class ThingsCsvApi extends Resource {
      readonly get = (options: CallOptions = {}): Promise<Result<'GET /things.csv'>> =>
        this.call('GET /things.csv', {}, options)
    }

    /** All resources of the API. */
    export class Resources {
      readonly things: ThingsApi
      readonly thingsCsv: ThingsCsvApi

      constructor(call: Call) {
        this.things = new ThingsApi(call)
        this.thingsCsv = new ThingsCsvApi(call)
      }
    }
    "
  `)
})
