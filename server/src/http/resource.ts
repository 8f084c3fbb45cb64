import type {
  ContextConfigDefault,
  FastifyBaseLogger,
  FastifyContextConfig,
  FastifyReply,
  FastifyRequest,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteGenericInterface,
  RouteHandlerMethod,
  RouteShorthandOptions,
} from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { ColumnOf, RouteDeclaration } from './auth/declaration.ts'
import { etagOf } from './core/if-match.ts'
import type { App } from './core/types.ts'

/** Response of a route that answers 204. */
export const NO_CONTENT = { 204: z.null().describe('No content') }

type Options = Pick<RouteShorthandOptions, 'bodyLimit' | 'preValidation' | 'serializerCompiler' | 'exposeHeadRoute'>
type Schemas = {
  tags?: readonly string[]
  summary?: string
  description?: string
  hide?: boolean
  consumes?: string[]
  params?: z.ZodType
  querystring?: z.ZodType
  headers?: z.ZodType
  body?: z.ZodType
  /** A schema is that of 200. */
  response?: z.ZodType | Record<number, unknown>
}
/** All that a route declares: its schemas, its caller, and its limits. `etag`: the answer has its revision as a header. */
type Declaration = Schemas & FastifyContextConfig & Options & { etag?: true }

type SchemaOf<D extends Declaration> = Pick<D, keyof D & ('params' | 'querystring' | 'headers' | 'body')> & {
  response: D['response'] extends z.ZodType ? { 200: D['response'] } : D['response']
}
type Handler<D extends Declaration> = RouteHandlerMethod<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  RouteGenericInterface,
  ContextConfigDefault,
  SchemaOf<D>,
  ZodTypeProvider,
  FastifyBaseLogger
>

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const
type Method = (typeof METHODS)[number]
/** Shared by the routes of a group. */
type Common = Schemas & FastifyContextConfig
/** A route states every column that its group does not. */
type Rest<Group, M extends Method> = Declaration & Pick<RouteDeclaration, Exclude<ColumnOf<M>, keyof Group>>
type Methods<Group> = { [M in Method]: <D extends Rest<Group, M>>(url: string, declared: D, handler: Handler<D>) => void }

const SCHEMA = ['tags', 'summary', 'description', 'hide', 'consumes', 'params', 'querystring', 'headers', 'body'] as const
const OPTIONS = ['bodyLimit', 'preValidation', 'serializerCompiler', 'exposeHeadRoute'] as const

/** Routes of people, not of keys, without their audit actions. */
export type PersonRoutes = Methods<Omit<RouteDeclaration, 'audit'>>

/** Adds routes that share a caller and tags. A route declares everything in one object. */
export function routesOf<Group extends Common>(app: App, common: Group): Methods<Group> {
  const add =
    (method: Method) =>
    (url: string, { etag, ...declared }: Declaration, handler: (req: FastifyRequest, reply: FastifyReply) => unknown) =>
      app.route({ method, url, ...optionsOf({ ...common, ...declared }), handler: (etag ? withEtag(handler) : handler) as never })
  return Object.fromEntries(METHODS.map((method) => [method, add(method)])) as unknown as Methods<Group>
}

const withEtag = (handler: (req: FastifyRequest, reply: FastifyReply) => unknown) => async (req: FastifyRequest, reply: FastifyReply) => {
  const shown = (await handler(req, reply)) as { updatedAt: Date | string }
  return reply.header('etag', etagOf(shown)).send(shown)
}

function optionsOf(declared: Declaration) {
  const { response, ...rest } = declared
  const pick = (keys: readonly string[]) => Object.fromEntries(Object.entries(rest).filter(([key]) => keys.includes(key)))
  const config = Object.fromEntries(Object.entries(rest).filter(([key]) => ![...SCHEMA, ...OPTIONS].includes(key as never)))
  const responses = response && { response: response instanceof z.ZodType ? { 200: response } : response }
  return { ...pick(OPTIONS), config, schema: { ...pick(SCHEMA), ...responses } }
}

type WithParams<D extends Declaration, Params extends z.ZodType> = D['params'] extends z.ZodType ? D : D & { params: Params }
type OfRecord<D extends Declaration, Found> =
  Handler<D> extends (this: infer _, req: infer Req, reply: infer Reply) => infer Answer
    ? (req: Req, found: Found, reply: Reply) => Answer
    : never
type RecordMethods<Params extends z.ZodType, Found, Group> = {
  [M in Method]: <D extends Rest<Group, M>>(url: string, declared: D, handler: OfRecord<WithParams<D, Params>, Found>) => void
}
type Find<Params extends z.ZodType, Found> = { params: Params; find: (req: FastifyRequest, params: z.output<Params>) => Promise<Found> }

/** Routes below `/things/:id`: `find` reads the record, or fails with 404, before the handler runs. */
export function resource<Params extends z.ZodType, Found, Group extends Common>(
  app: App,
  { find, ...common }: Group & Find<Params, Found>,
): RecordMethods<Params, Found, Group> {
  const route = routesOf<RouteDeclaration & Common>(app, common as never)
  const add =
    (method: Method) =>
    (url: string, declared: Declaration, handler: (req: FastifyRequest, found: Found, reply: FastifyReply) => unknown) =>
      route[method](url, declared, (async (req: FastifyRequest, reply: FastifyReply) => {
        const found = await find(req, req.params as z.output<Params>)
        req.record = found
        return handler(req, found, reply)
      }) as never)
  return Object.fromEntries(METHODS.map((method) => [method, add(method)])) as unknown as RecordMethods<Params, Found, Group>
}
