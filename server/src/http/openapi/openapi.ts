import swagger from '@fastify/swagger'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import type { Config } from '../../lib/config.ts'
import { VERSION } from '../../lib/process/version-number.ts'
import { ANYONE, type Caller } from '../auth/declaration.ts'
import type { App } from '../core/types.ts'
import { guideRoutes } from './guides.ts'
import { portablePattern } from './portable-pattern.ts'
import { referenceRoutes } from './reference.ts'
import { nameStatus, responsesOf } from './responses.ts'

/** A header that a route reads. Documented only: a schema would be validated on every request. */
type TakenHeader = { name: string; description: string; maxLength: number }

declare module 'fastify' {
  interface FastifyContextConfig {
    takesHeaders?: TakenHeader[]
  }
}

export const IDEMPOTENCY_KEY: TakenHeader = {
  name: 'Idempotency-Key',
  description:
    '1 to 255 printable ASCII characters. A repeat with the same key is refused with 409, with the ids that the first request created.',
  maxLength: 255,
}

export const IDEMPOTENCY_REPLAY: TakenHeader = {
  name: 'Idempotency-Replay',
  description:
    '`true`: a repeat with the same Idempotency-Key and the same body is answered like the first request, with the header `Idempotency-Replayed: true`.',
  maxLength: 10,
}

export const IF_MATCH: TakenHeader = {
  name: 'If-Match',
  description: 'The `ETag` of the revision to change: its `updatedAt` in quotes. Refused with 409 if there is a newer revision.',
  maxLength: 1_000,
}

const headersOf = (headers: TakenHeader[]) => ({
  type: 'object',
  properties: Object.fromEntries(headers.map(({ name, ...about }) => [name, { type: 'string', minLength: 1, ...about }])),
})

const SECURITY: Record<Caller, Record<string, string[]>[]> = {
  anyone: [],
  visitor: [],
  session: [{ session: [] }],
  'public-key': [{ publicKey: [] }],
  'secret-key': [{ secretKey: [] }],
  project: [{ secretKey: [] }, { session: [], projectId: [] }],
}

/** A file is read as a stream and has no zod schema, so its form is described here. */
const formOf = ({ field, fields = {} }: { field: string; fields?: Record<string, string> }) => ({
  type: 'object',
  properties: {
    [field]: { type: 'string', format: 'binary' },
    ...Object.fromEntries(Object.entries(fields).map(([name, description]) => [name, { type: 'string', description }])),
  },
  required: [field],
})

/** Must be registered before the routes it describes. `webhooks`: requests that Sterna makes. */
export async function describeApi(app: App, { publicUrl }: Config, webhooks: Record<string, object> = {}) {
  const optionalBodies = new Set<string>()
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Sterna API',
        version: VERSION,
        description: 'Send, track, segment and automate email.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: publicUrl }],
      components: {
        securitySchemes: {
          secretKey: { type: 'http', scheme: 'bearer', description: 'The secret key of a project, `sk_…`.' },
          publicKey: { type: 'http', scheme: 'bearer', description: 'The public key of a project, `pk_…`.' },
          session: { type: 'apiKey', in: 'cookie', name: 'sterna_session' },
          projectId: { type: 'apiKey', in: 'header', name: 'X-Project-Id' },
        },
      },
    },
    transform: ({ schema, url, route, ...rest }) => {
      const described = schema && { ...schema, response: responsesOf(route, schema.response as Record<string, unknown>) }
      const formFile = route.config?.formFile
      const operationId = nameOperation(String(route.method), url)
      if (route.config?.bodyOptional) optionalBodies.add(operationId)
      const result = jsonSchemaTransform({ schema: described, url, route, ...rest } as Parameters<typeof jsonSchemaTransform>[0])
      return {
        ...result,
        schema: {
          ...result.schema,
          ...(formFile ? { body: formOf(formFile) } : {}),
          ...(route.config?.takesHeaders ? { headers: headersOf(route.config.takesHeaders) } : {}),
          security: SECURITY[route.config?.caller ?? 'anyone'],
          operationId,
        },
      }
    },
    transformObject: (document) =>
      tidy({ ...markOptionalBodies(nameResponses(jsonSchemaTransformObject(document)), optionalBodies), webhooks }),
  })

  app.get('/openapi.json', { config: ANYONE, schema: { hide: true } }, () => app.swagger())
  referenceRoutes(app, { publicUrl })
  guideRoutes(app)
}

/** `GET /users/@me/projects/:id` becomes `getUsersMeProjectsId`: stable, and unique because routes are. */
const nameOperation = (method: string, url: string) =>
  method.toLowerCase() +
  url
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('')

type Response = { $ref: string } | { description?: string; content?: Record<string, { schema?: { $ref?: string } }> }
type DescribedOperation = { operationId?: string; responses?: Record<string, Response>; requestBody?: { required?: boolean } }
type Described = {
  paths?: Record<string, Record<string, DescribedOperation>>
  components?: { responses?: Record<string, Response> }
}

/** Describes responses by the reason phrase of their status, and shares those that are only the error envelope. */
function nameResponses<Document extends object>(document: Document): Document {
  const { paths = {}, components = {} } = document as Described
  const shared: Record<string, Response> = {}
  for (const { responses = {} } of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    for (const [status, response] of Object.entries(responses)) {
      if ('$ref' in response || response.description !== 'Default Response') continue
      response.description = nameStatus(status)
      if (response.content?.['application/json']?.schema?.$ref !== '#/components/schemas/Error') continue
      const name = response.description.replaceAll(' ', '')
      shared[name] = response
      responses[status] = { $ref: `#/components/responses/${name}` }
    }
  }
  components.responses = shared
  return document
}

/** The generator calls every body required. */
function markOptionalBodies<Document extends object>(document: Document, operationIds: ReadonlySet<string>): Document {
  for (const operation of Object.values((document as Described).paths ?? {}).flatMap((methods) => Object.values(methods)))
    if (operation.requestBody && operationIds.has(operation.operationId ?? '')) operation.requestBody.required = false
  return document
}

/** Removes unused schemas and patterns that repeat a format, and makes the other patterns portable. Sorted: imports decide no order. */
function tidy<Document extends object>(document: Document): Document {
  const { components = {} } = document as { components?: { schemas?: Record<string, unknown> } }
  const used = usedSchemas(document, components.schemas ?? {})
  const sorted = Object.entries(components.schemas ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1))
  components.schemas = Object.fromEntries(sorted.filter(([name]) => used.has(name)))
  return JSON.parse(JSON.stringify(document), (_key, value) => {
    if (value?.format === 'uuid' || value?.format === 'date-time') delete value.pattern
    if (typeof value?.pattern === 'string') value.pattern = portablePattern(value.pattern)
    if (value?.minimum === Number.MIN_SAFE_INTEGER) delete value.minimum
    if (value?.maximum === Number.MAX_SAFE_INTEGER) delete value.maximum
    return value
  })
}

/** Names of the schemas that are used outside of the list of schemas, or by one of those. A recursive schema refers to itself. */
function usedSchemas(document: object, schemas: Record<string, unknown>): Set<string> {
  const used = new Set<string>()
  const visit = (text: string) => {
    for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (used.has(name)) continue
      used.add(name)
      visit(JSON.stringify(schemas[name] ?? null))
    }
  }
  visit(JSON.stringify(document, (_key, value) => (value === schemas ? undefined : value)))
  return used
}
