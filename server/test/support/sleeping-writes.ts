import { type RawBuilder, sql } from 'kysely'
import { expect } from 'vitest'
import { many, type Pool } from '../../src/db/index.ts'

type Where = { on?: 'insert' | 'update' | 'delete'; table: string; when: RawBuilder<unknown> }

/** Makes writes of some rows sleep inside their statement, starts work that causes one, and runs `meanwhile` during the sleep. */
export async function whileSleeping<T>(
  db: Pool,
  { on = 'update', table, when }: Where,
  start: () => Promise<{ started: T; meanwhile: (started: T) => Promise<unknown> }>,
): Promise<T> {
  await sql`create function sleep_a_while() returns trigger language plpgsql as $$ begin perform pg_sleep(0.5); return coalesce(new, old); end $$`.execute(
    db,
  )
  await sql`create trigger sleep_a_while before ${sql.raw(on)} on ${sql.table(table)} for each row when (${when}) execute function sleep_a_while()`.execute(
    db,
  )
  try {
    const { started, meanwhile } = await start()
    await expect.poll(() => many(db, sleeping), { interval: 5 }).not.toEqual([])
    await meanwhile(started)
    return started
  } finally {
    await sql`drop trigger sleep_a_while on ${sql.table(table)}`.execute(db)
    await sql`drop function sleep_a_while`.execute(db)
  }
}

const sleeping = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
