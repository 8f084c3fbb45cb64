import { type Pool, type Tx, transact } from '../db/index.ts'
import type { Log } from '../lib/process/log.ts'
import { type ServerIdentity, serverClusterOf } from './failover.ts'
import { holdSending, UNTIL_RESUMED } from './sending-hold.ts'
import { lockKnownServer, readServerIdentity, recordServer } from './server-identity.ts'

const RESTORED = 'the database was restored, or another server took its place'

/** Holds sending in full: emails that a restored dump has as waiting may have been sent. */
export async function holdForOtherCluster(tx: Tx, log: Log, { known, found }: { known: ServerIdentity; found: ServerIdentity }) {
  await holdSending(tx, RESTORED)
  log.error({ from: known, to: found }, `${RESTORED}: ${UNTIL_RESUMED}`)
}

/**
 * At the start of a node. A promoted standby of the same cluster is left to the workers, as only they know what was committed
 * (`delivery/sender/failover/fence.ts`).
 */
export const checkDatabaseIdentity = (db: Pool, log: Log) =>
  transact(db, async (tx) => {
    const known = (await lockKnownServer(tx))?.identity ?? null
    const found = await readServerIdentity(tx)
    if (known !== null && serverClusterOf(known) === serverClusterOf(found)) return
    await recordServer(tx, found)
    if (known !== null) await holdForOtherCluster(tx, log, { known, found })
  })
