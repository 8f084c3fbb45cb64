import type { Config } from '../lib/config.ts'
import { ConfigError } from '../lib/errors/config-error.ts'
import type { Log } from '../lib/process/log.ts'
import { attachEmbedded, startEmbedded } from './embedded/embedded.ts'
import { withClient } from './with-client.ts'

export type Database = { url: string; stop(): Promise<void>; abort(): void }

const externalDatabase = (url: string): Database => ({ url, stop: async () => {}, abort: () => {} })

/** Explains in words why a database cannot be used, before anything else fails with a stack trace. */
export async function checkDatabase({ url }: Database) {
  await withClient(url, 'sterna-check', async () => {}).catch((err: NodeJS.ErrnoException) => {
    throw new ConfigError(`Cannot use the database of DATABASE_URL: ${err.message || err.code}`, { cause: err })
  })
}

/** The database of this installation: the configured server, or the embedded PostgreSQL under DATA_DIR. */
export const openDatabase = async ({ databaseUrl, dataDir }: Config, log: Log, signal?: AbortSignal): Promise<Database> =>
  databaseUrl ? externalDatabase(databaseUrl) : startEmbedded({ dataDir, log, signal })

/** For CLI commands: uses the embedded PostgreSQL of a running Sterna, and starts one otherwise. */
export async function borrowDatabase(config: Config, log: Log): Promise<Database> {
  const running = config.databaseUrl ? undefined : await attachEmbedded(config.dataDir)
  const database = running ? externalDatabase(running.url) : await openDatabase(config, log)
  if (config.databaseUrl) await checkDatabase(database)
  return database
}
