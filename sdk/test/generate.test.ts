import { expect, test } from 'vitest'
import { printTypes, type Schema } from '../scripts/generate.ts'

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
  const source = printTypes({
    paths: {
      '/things/{id}': {
        get: {
          summary: 'One thing.',
          parameters: [
            { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
            { name: 'fields', in: 'query', description: 'Which */ to show', schema: { type: 'string' } },
            { name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } },
          ],
          responses: { 200: json({ $ref: '#/components/schemas/thing' }), 404: json({ type: 'string' }) },
        },
        delete: { parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }], responses: { 204: {} } },
      },
      '/files': {
        post: {
          requestBody: { content: { 'multipart/form-data': {} } },
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

  expect(source).toBe(`// Generated from docs/openapi.json by \`npm run openapi\`. Do not edit.

/**
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
    body: FormData
    response: {
      jobId: string
    }
  }

  /** One thing. */
  'GET /things/{id}': {
    params: {
      id: string
    }
    query: {
      /** Which *\\/ to show */
      fields?: string
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
