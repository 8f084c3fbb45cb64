import { sql } from 'kysely'
import { ConfigError, type TransportKind } from '../lib/config.ts'
import { type Secrets, sameBytes } from '../lib/secrets.ts'
import { type Db, maybeOne, one, type Pool, transact } from './index.ts'

/** Refuses a SECRET_KEY other than that of this database: with another one no stored API key or session would be valid. */
export async function checkSecret(db: Pool, secrets: Secrets) {
  const ours = secrets.hash('secret-check', 'sterna')
  const { stored } = await transact(db, async (tx) => {
    await sql`insert into instance (secret_check) values (${ours}) on conflict do nothing`.execute(tx)
    return one(tx, sql<{ stored: Buffer }>`select secret_check as stored from instance`)
  })
  if (!sameBytes(stored, ours)) {
    throw new ConfigError(
      'SECRET_KEY is not the one this database was set up with. Restore it, or every API key and session stops working.',
    )
  }
}

/** The transport of this installation. Undefined until the first node with a transport has started. */
export async function readTransport(db: Db) {
  const row = await maybeOne(db, sql<{ transport: TransportKind | null }>`select transport from instance`)
  return row?.transport ?? undefined
}
