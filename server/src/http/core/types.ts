import type { FastifyBaseLogger, FastifyInstance, RawReplyDefaultExpression, RawRequestDefaultExpression, RawServerDefault } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { Pool } from '../../db/index.ts'
import type { Config } from '../../lib/config.ts'
import type { Log } from '../../lib/process/log.ts'
import type { Secrets } from '../../lib/secrets.ts'

export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>

/** Dependencies of all route modules. */
export type Deps = { config: Config; db: Pool; secrets: Secrets; log: Log }
