import { sql } from 'kysely'
import { z } from 'zod'
import type { Extend } from '../../../src/app.ts'
import { transact } from '../../../src/db/index.ts'
import { ANYONE, SENDS_NOTHING } from '../../../src/http/auth/declaration.ts'
import { CursorQuery, cursorList, PageQuery, pageList, readCursor, writeCursor } from '../../../src/http/core/paging.ts'
import { Address } from '../../../src/http/core/validate.ts'
import { claimKeys, explainRepeats, lockTimeoutFor, readIdempotencyKey } from '../../../src/http/idempotency.ts'
import { newId } from '../../../src/lib/id.ts'

/** Of routes of tests. */
export const OF_PROBES = { caller: 'project', role: 'MEMBER', scope: 'full', read: true, ...SENDS_NOTHING, audit: null } as const

/** Test routes: each accepts one kind of caller and exercises one part of the HTTP layer. */
export const probe: Extend = (app, { secrets, db, config }) => {
  const Anything = z.object({}).loose().meta({ maxProperties: 100_000 })
  const echo = { schema: { body: Anything } }

  app.get('/probe/secret', { config: { ...OF_PROBES, caller: 'secret-key', role: null } }, (req) => ({ project: req.project.id }))
  app.get('/probe/project', { config: OF_PROBES }, (req) => ({ project: req.project.id }))
  app.get('/probe/admin', { config: { ...OF_PROBES, role: 'ADMIN' } }, (req) => ({ project: req.project.id }))
  app.post('/probe/project', { config: OF_PROBES, ...echo }, (req) => ({ body: req.body }))
  app.post('/probe/track', { config: { ...ANYONE, caller: 'public-key' }, ...echo }, (req) => ({ project: req.project.id, body: req.body }))
  app.post('/probe/echo', { config: ANYONE, ...echo }, (req) => ({ body: req.body }))
  app.post('/probe/large', { config: ANYONE, bodyLimit: 3_000_000, ...echo }, (req) => ({ keys: Object.keys(req.body) }))
  app.post('/probe/address', { config: ANYONE, schema: { body: z.object({ email: Address }) } }, (req) => req.body)

  /** Inserts a row in the transaction of its key; `fail` throws after the insert, `wait` keeps the transaction open. */
  app.post(
    '/probe/once',
    {
      config: { ...OF_PROBES, caller: 'secret-key', role: null },
      schema: { body: z.object({ fail: z.boolean().optional(), wait: z.number().optional() }) },
    },
    (req) =>
      transact(db, async (tx) => {
        const id = newId()
        const key = readIdempotencyKey(req)
        const claims = key === undefined ? [] : [{ projectId: req.project.id, key, request: 'POST /probe/once', result: { event: id } }]
        await sql`select set_config('lock_timeout', ${`${lockTimeoutFor(1)}ms`}, true)`.execute(tx)
        const [claimed] = await claimKeys(tx, claims, { ttlHours: config.idempotencyTtlHours, alone: true })
        if (claimed === false) throw (await explainRepeats(tx, claims))[0]
        await sql`insert into account_mails (id, recipient, subject, sealed_text, message_token, link_expires_at) values (${id}, 'probe', ${req.project.id}, '', '', now())`.execute(
          tx,
        )
        if (req.body.wait) await sql`select pg_sleep(${req.body.wait})`.execute(tx)
        if (req.body.fail) throw new Error('probe failed')
        return { id }
      }),
  )

  app.get(
    '/probe/list',
    { config: OF_PROBES, schema: { querystring: CursorQuery, response: { 200: cursorList(z.number()) } } },
    async (req) => {
      const scope = `${req.project.id} numbers`
      const [after] = req.query.cursor ? readCursor(secrets, scope, req.query.cursor) : [0]
      const data = Array.from({ length: req.query.limit }, (_, index) => Number(after) + index + 1)
      return { data, cursor: writeCursor(secrets, scope, [data.at(-1)!]), hasMore: true, total: 0 }
    },
  )
  app.get('/probe/pages', { config: ANYONE, schema: { querystring: PageQuery, response: { 200: pageList(z.number()) } } }, (req) => ({
    ...req.query,
    data: [],
    total: 0,
    totalPages: 0,
  }))
  app.get('/probe/crash', { config: ANYONE }, () => {
    throw new Error('select secret from somewhere')
  })
  app.get('/probe/slow', { config: ANYONE }, async (_req, reply) => {
    await new Promise((resolve) => setTimeout(resolve, 500))
    return reply.send({ done: true })
  })
}
