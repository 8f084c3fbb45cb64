import { randomUUID } from 'node:crypto'

/** The API as described by its OpenAPI document, for tests that run over all operations. */

export type Schema = {
  $ref?: string
  type?: string | string[]
  format?: string
  pattern?: string
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  oneOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  maxProperties?: number
  minimum?: number
}
export type Parameter = { name: string; in: 'path' | 'query' | 'header'; schema?: Schema; description?: string }
export type Response = { $ref?: string; description?: string; content?: Record<string, { schema: Schema }> }
type Described = {
  responses: Record<string, Response>
  security?: object[]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema }> }
}
export type Document = {
  components: { schemas: Record<string, Schema>; responses: Record<string, Response> }
  paths: Record<string, Record<string, Described>>
}
export type Operation = {
  method: string
  path: string
  security: string[]
  parameters: Parameter[]
  body: Schema | undefined
  responses: Record<string, Response>
  /** Statuses whose body may be a bare `{ error }`. */
  plain: number[]
}

export const nameOf = ({ method, path }: Operation) => `${method} ${path}`

/** Choices that only restrict which properties go together; the schema beside them describes the value. */
const isRestriction = (schema: Schema) => !schema.type && !schema.$ref && !schema.enum && schema.const === undefined
const choicesOf = (schema: Schema) => {
  const choices = schema.anyOf ?? schema.oneOf
  return choices?.every(isRestriction) ? undefined : choices
}

export function readApi(document: Document) {
  const resolve = (schema: Schema): Schema => (schema.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)!]! : schema)
  const responseOf = (response: Response): Response =>
    response.$ref ? document.components.responses[response.$ref.split('/').at(-1)!]! : response

  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]): Operation => {
      const responses = Object.fromEntries(Object.entries(described.responses).map(([status, each]) => [status, responseOf(each)]))
      return {
        method: method.toUpperCase(),
        path,
        security: (described.security ?? []).flatMap((entry) => Object.keys(entry)),
        parameters: described.parameters ?? [],
        body: described.requestBody?.content['application/json']?.schema,
        responses,
        plain: Object.entries(responses)
          .filter(([, { content }]) => content?.['application/json']?.schema.anyOf?.some(({ properties }) => properties?.error))
          .map(([status]) => Number(status)),
      }
    }),
  )

  /** The kinds of JSON value that a schema accepts; undefined if it does not restrict them. */
  function kindsOf(given: Schema): Set<string> | undefined {
    const schema = resolve(given)
    const options = choicesOf(schema)
    if (options) {
      const kinds = options.map(kindsOf)
      return kinds.some((each) => each === undefined) ? undefined : new Set(kinds.flatMap((each) => [...each!]))
    }
    const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
    if (values) return new Set(values.map((value) => (value === null ? 'null' : typeof value)))
    if (schema.type === undefined) return undefined
    return new Set([schema.type].flat().map((type) => (type === 'integer' ? 'number' : type)))
  }

  /** A value the schema takes. */
  function sample(given: Schema): unknown {
    const schema = resolve(given)
    const options = choicesOf(schema)
    if (options) return sample(options[0]!)
    if (schema.enum) return schema.enum[0]
    if (schema.const !== undefined) return schema.const
    const [type] = [schema.type].flat()
    if (type === 'object') return sampleObject(schema)
    if (type === 'array') return Array.from({ length: schema.minItems ?? 0 }, () => sample(schema.items!))
    if (type === 'number' || type === 'integer') return schema.minimum ?? 1
    if (type === 'boolean') return true
    if (schema.format === 'email') return `sample${randomUUID()}@example.com`
    if (schema.format === 'hostname') return `sample${randomUUID()}.example`
    if (schema.format === 'uuid') return randomUUID()
    if (schema.format === 'date-time') return new Date().toISOString()
    if (schema.format === 'uri') return 'https://example.com/'
    return 'sample text'.padEnd(schema.minLength ?? 0, 'x').slice(0, schema.maxLength)
  }

  /** A sample object; of several choices it takes the one with this property, or else the first. */
  const sampleObject = (given: Schema, property = ''): Record<string, unknown> => {
    const schema = resolve(given)
    return Object.fromEntries(requiredOf(schema, property).map((name) => [name, sample(schema.properties![name]!)]))
  }

  function requiredOf(schema: Schema, property = ''): string[] {
    const choices = schema.anyOf ?? schema.oneOf ?? []
    const choice = choices.find(({ required }) => required?.includes(property)) ?? choices[0]
    return [...(schema.required ?? []), ...(choice?.required ?? [])]
  }

  return { document, operations, resolve, kindsOf, sample, sampleObject, requiredOf }
}

export type Api = ReturnType<typeof readApi>
