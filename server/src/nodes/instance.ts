import { sql } from 'kysely'
import { type Db, maybeScalar, type Pool, scalar, type Tx, transact } from '../db/index.ts'
import type { TransportKind } from '../lib/config.ts'
import { ConfigError } from '../lib/errors/config-error.ts'
import { STERNA } from '../lib/process/command.ts'
import { type Secrets, sameBytes } from '../lib/secrets.ts'

/**
 * Refuses to run without a key that stored values may be sealed with: API keys and sessions would not be valid. A new SECRET_KEY is adopted by
 * a node that starts with it; a command with a key that no node has would make values that no node can read.
 */
export const checkSecret = (db: Pool, secrets: Secrets, { adopt = false }: { adopt?: boolean } = {}) =>
  transact(db, async (tx) => {
    const [current, ...previous] = hashesOfKeys(secrets)
    await sql`insert into instance (secret_checks) values (array[${current}::bytea]) on conflict do nothing`.execute(tx)
    const stored = await scalar<Buffer[]>(tx)`select secret_checks from instance for update`
    const isStored = (hash: Buffer) => stored.some((other) => sameBytes(other, hash))
    const known = [current!, ...previous].filter(isStored)
    if (known.length < stored.length)
      throw new ConfigError(
        known.length
          ? `Values in this database are sealed with a former key. Add it to SECRET_KEY_PREVIOUS, then run: ${STERNA} secret rewrite`
          : 'SECRET_KEY is not the one this database was set up with. Restore it, or every API key and session stops working.',
      )
    if (isStored(current!)) return
    if (!adopt) throw new ConfigError('No node has started with this SECRET_KEY. Start the nodes with it first.')
    await sql`update instance set secret_checks = secret_checks || ${current}::bytea`.execute(tx)
  })

/** From now on nodes start without the former keys. */
export const forgetFormerSecrets = (tx: Tx, secrets: Secrets) =>
  sql`update instance set secret_checks = array[${hashesOfKeys(secrets)[0]}::bytea]`.execute(tx)

const hashesOfKeys = (secrets: Secrets) => secrets.hashes('secret-check', 'sterna')

/** Whether there is an account: the first one is the operator's. */
export const hasAccounts = (db: Db) => scalar<boolean>(db)`select exists (select from users)`

/** The transport of this installation. Undefined until the first node with a transport has started. */
export const readTransport = async (db: Db) => (await maybeScalar<TransportKind | null>(db)`select transport from instance`) ?? undefined
