import { existsSync, readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Pool, transact } from '../db/index.ts'
import type { Log } from '../lib/process/log.ts'
import { holdSending, UNTIL_RESUMED } from '../nodes/sending-hold.ts'

const markIn = (dataDir: string) => join(dataDir, 'restored-from')

/** Left in a restored DATA_DIR for its first start: the restored database itself does not know. */
export const markRestored = (dataDir: string, createdAt: string) => writeFile(markIn(dataDir), createdAt, { mode: 0o600, flush: true })

/** Holds sending on the first start after a restore. */
export async function holdIfRestored(db: Pool, dataDir: string, log: Log) {
  if (!existsSync(markIn(dataDir))) return
  const reason = `restored from the backup of ${readFileSync(markIn(dataDir), 'utf8')}`
  await transact(db, (tx) => holdSending(tx, reason))
  await rm(markIn(dataDir))
  log.error({}, `${reason}: ${UNTIL_RESUMED}`)
}
