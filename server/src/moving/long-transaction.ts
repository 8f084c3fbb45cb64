import { sql } from 'kysely'
import type { Tx } from '../db/index.ts'

/**
 * For a transaction that takes minutes. Between two statements a page is compressed or an image stored. Wipes and recomputations of other
 * projects, which wait for transactions of Sterna that began before them (`db/running.ts`), do not wait for one of this name: what it reads does
 * not change, and what it writes belongs to a project that nobody knows before its commit.
 */
export const prepareLongTransaction = (tx: Tx, name: string) =>
  sql`
    select set_config('idle_in_transaction_session_timeout', '10min', true), set_config('statement_timeout', '1min', true),
      set_config('application_name', ${name}, true)
  `.execute(tx)
