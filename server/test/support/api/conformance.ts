import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { LightMyRequestResponse } from 'fastify'
import { type Document, nameOf, type Operation, type Schema } from './described-api.ts'

type Answer = Pick<LightMyRequestResponse, 'statusCode' | 'headers' | 'body'>

const FORMATS = {
  uuid: /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/,
  email: /^[^@\s]+@[^@\s]+$/,
  hostname: /^[^\s/:@]+$/,
  uri: /^[a-z][a-z0-9+.-]*:/i,
  binary: true as const,
}
const MAX_ERROR_BYTES = 64 * 1024

/** Compares responses with the OpenAPI document. */
export function createConformance(document: Document) {
  const ajv = new Ajv2020({ strict: false, formats: FORMATS })
  ajv.addSchema({ ...document, $id: 'api' })
  const compiled = new WeakMap<Schema, ValidateFunction>()
  /** By their text: every operation has the schema of the error envelope, and to compile one takes a millisecond. */
  const byText = new Map<string, ValidateFunction>()

  /** References in the schema point into the document. */
  function compile(schema: Schema) {
    const text = JSON.stringify(schema).replaceAll('"#/', '"api#/')
    const validate = byText.get(text) ?? ajv.compile(JSON.parse(text))
    byText.set(text, validate)
    return validate
  }

  function validatorOf(schema: Schema) {
    const known = compiled.get(schema) ?? compile(schema)
    compiled.set(schema, known)
    return known
  }

  /** All differences between a response and the document. */
  function differences(operation: Operation, { statusCode, headers, body }: Answer): string[] {
    const found: string[] = []
    const check = (holds: boolean, difference: string) => {
      if (!holds) found.push(`${nameOf(operation)}: ${difference}: ${statusCode} ${body.slice(0, 300)}`)
    }
    check(statusCode < 500, 'failed')
    if (statusCode >= 400) check(Buffer.byteLength(body) < MAX_ERROR_BYTES, 'an error of more than 64 KB')
    const response = operation.responses[statusCode]
    if (!response) return [...found, `${nameOf(operation)}: ${statusCode} is not documented: ${body.slice(0, 300)}`]
    const documented = Object.entries(response.content ?? {})
    // A response may be documented in several types: JSON, or a CSV file.
    const [type, content] = documented.find(([each]) => String(headers['content-type']).startsWith(each)) ?? documented[0] ?? []
    if (!type) {
      check(body === '', 'documented without a body')
    } else if (type === 'application/json') {
      check(/^application\/json(; charset=utf-8)?$/.test(String(headers['content-type'])), `content type ${headers['content-type']}`)
      const validate = validatorOf(content!.schema)
      check(validate(JSON.parse(body || 'null')), `not as documented (${ajv.errorsText(validate.errors)})`)
    } else {
      check(String(headers['content-type']).startsWith(type.replace('*', '')), `content type ${headers['content-type']}`)
    }
    return found
  }

  return { differences, accepts: (schema: Schema, value: unknown) => validatorOf(schema)(value) }
}
