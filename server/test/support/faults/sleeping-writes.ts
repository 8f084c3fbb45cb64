import { setTimeout as sleep } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { expect } from 'vitest'
import { many, type Pool } from '../../../src/db/index.ts'

type Where = { on?: 'insert' | 'update' | 'delete'; table: string; when: RawBuilder<unknown> }

/** Advisory locks of the database of the test: a write sleeps until it gets the first, and holds the second to show that it sleeps. */
const MAY_GO_ON = 815_001
const SLEEPS = 815_002
/** Longer than `meanwhile` takes to reach its first lock. */
const REACHES_LOCK_MS = 300
const LONGEST_SLEEP_MS = 3_000

/**
 * Makes writes of some rows sleep inside their statement, starts work that causes one, and runs `meanwhile` during the sleep. The sleep
 * ends with `meanwhile`, or when `meanwhile` waits for a lock of the sleeping write; `meanwhile` must not wait for the work itself.
 */
export async function whileSleeping<T>(
  db: Pool,
  { on = 'update', table, when }: Where,
  start: () => Promise<{ started: T; meanwhile: (started: T) => Promise<unknown> }>,
): Promise<T> {
  await sql`
    create function sleep_a_while() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(${sql.lit(SLEEPS)});
      while not pg_try_advisory_xact_lock_shared(${sql.lit(MAY_GO_ON)}) loop perform pg_sleep(0.005); end loop;
      return coalesce(new, old);
    end $$
  `.execute(db)
  await sql`create trigger sleep_a_while before ${sql.raw(on)} on ${sql.table(table)} for each row when (${when}) execute function sleep_a_while()`.execute(
    db,
  )
  try {
    return await db.connection().execute(async (holder) => {
      await sql`select pg_advisory_lock(${MAY_GO_ON})`.execute(holder)
      const wake = () => sql`select pg_advisory_unlock_all()`.execute(holder)
      try {
        const { started, meanwhile } = await start()
        await expect.poll(() => many(db, sleepingWrites), { interval: 5 }).not.toEqual([])
        const working = meanwhile(started)
        const waiting = { isOver: false }
        await Promise.race([working, untilBlocked(db, waiting)]).finally(() => (waiting.isOver = true))
        await wake()
        await working
        return started
      } finally {
        await wake()
      }
    })
  } finally {
    await sql`drop trigger sleep_a_while on ${sql.table(table)}`.execute(db)
    await sql`drop function sleep_a_while`.execute(db)
  }
}

async function untilBlocked(db: Pool, waiting: { isOver: boolean }) {
  await sleep(REACHES_LOCK_MS)
  for (const end = Date.now() + LONGEST_SLEEP_MS; !waiting.isOver && Date.now() < end; await sleep(20))
    if ((await many(db, lockWaits)).length) return
}

const sleepingWrites = sql`
  select 1 from pg_locks where locktype = 'advisory' and objid = ${SLEEPS}
    and database = (select oid from pg_database where datname = current_database())
`
const lockWaits = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
