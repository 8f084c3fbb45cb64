import { statfs } from 'node:fs/promises'
import { sql } from 'kysely'
import { z } from 'zod'
import type { Pool } from '../db/index.ts'
import { pendingMigrations } from '../db/migrate.ts'
import { atMostEvery } from '../lib/concurrency/every.ts'
import { fail } from '../lib/errors/errors.ts'
import { MB } from '../lib/text/units.ts'
import { HOLD_KINDS, readSendingHold } from '../nodes/sending-hold.ts'
import { ANYONE } from './auth/declaration.ts'
import type { App, Deps } from './core/types.ts'

/** Whether this process accepts traffic: not while it starts or drains. While it starts, it refuses requests; while it drains, it answers them. */
export type Readiness = { accepting: boolean; isStarting?: boolean }

const PROBE_MS = 1_000
/** A failover takes that long. If all API nodes turned unready at once, a load balancer would have none to send requests to, which answer 503 meanwhile. */
const AWAY_MS = 30_000
const MIN_FREE_BYTES = 100 * MB

const Checks = z.object({
  accepting: z.boolean(),
  database: z.boolean().describe('False with status 200: away for less than 30 seconds; requests are answered with 503.'),
  migrations: z.boolean(),
  disk: z.boolean(),
})
const SendingHeld = z
  .enum(HOLD_KINDS)
  .nullable()
  .describe(
    'Requests are accepted, and nothing is sent (`full`), or nothing from before a failover (`partial`): see `sterna sending resume`.',
  )

export function healthRoutes(app: App, { db, config }: Deps, readiness: Readiness) {
  const startedAt = performance.now()
  // Not authenticated and not limited, so the database is probed at most once a second.
  const probe = atMostEvery(PROBE_MS, () => inTime(canWrite(db), false))
  const probeHold = atMostEvery(PROBE_MS, () => inTime(readHeldKind(db), null))
  // Migrations only move forward: once the schema is current, it stays so for this process.
  let migrated = false
  let awaySince: number | undefined

  app.get(
    '/health',
    {
      config: ANYONE,
      schema: {
        tags: ['Service'],
        summary: 'Check that the process is alive',
        response: { 200: z.object({ status: z.literal('ok'), role: z.string(), uptime: z.int() }) },
      },
    },
    () => ({ status: 'ok' as const, role: config.role, uptime: Math.round((performance.now() - startedAt) / 1000) }),
  )

  app.get(
    '/ready',
    {
      config: ANYONE,
      schema: {
        tags: ['Service'],
        summary: 'Check that the node is ready for traffic',
        response: { 200: z.object({ status: z.literal('ok'), checks: Checks, sendingHeld: SendingHeld }) },
      },
    },
    async () => {
      const database = await probe()
      if (database && !migrated) migrated = await inTime(isMigrated(db), false)
      const disk = config.databaseUrl ? true : await hasRoom(config.dataDir)
      const checks = { accepting: readiness.accepting, database, migrations: migrated, disk }
      awaySince = database ? undefined : (awaySince ?? performance.now())
      const isBrief = migrated && config.role !== 'worker' && performance.now() - (awaySince ?? 0) < AWAY_MS
      if (Object.values({ ...checks, database: database || isBrief }).every(Boolean))
        return { status: 'ok' as const, checks, sendingHeld: await probeHold() }
      return fail('SERVICE_UNAVAILABLE', { retryAfter: 1, details: { checks } })
    },
  )
}

/** Taking a transaction id fails on a read-only standby, where a plain `select 1` would not. */
const canWrite = async (db: Pool) => Boolean(await sql`select pg_current_xact_id()`.execute(db))

const isMigrated = async (db: Pool) => (await pendingMigrations((text) => sql.raw<{ name: string }>(text).execute(db))).length === 0

const readHeldKind = async (db: Pool) => (await readSendingHold(db))?.kind ?? null

async function hasRoom(folder: string) {
  const { bavail, bsize } = await statfs(folder).catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize > MIN_FREE_BYTES
}

/** `otherwise`: the result of a probe that fails, or takes too long. */
function inTime<T>(probe: Promise<T>, otherwise: T): Promise<T> {
  const late = new Promise<T>((resolve) => setTimeout(resolve, PROBE_MS, otherwise).unref())
  return Promise.race([probe.catch(() => otherwise), late])
}
