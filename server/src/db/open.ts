import type { Config } from '../lib/config.ts'
import { ConfigError } from '../lib/errors/config-error.ts'
import type { Log } from '../lib/process/log.ts'
import { DEFAULT_LIMITS } from './connections/limits.ts'
import { attachEmbedded, startEmbedded } from './embedded/embedded.ts'
import { refuseOtherDatabase, refuseTransactionMode } from './pooler.ts'

/**
 * `url`: for connections with locks, notifications or settings of their own. `pooledUrl`: for all others, if these lead through a pooler in transaction
 * mode.
 */
export type Database = { url: string; pooledUrl?: string; stop(): Promise<void>; abort(): void }

const externalDatabase = (url: string, pooledUrl?: string): Database => ({ url, pooledUrl, stop: async () => {}, abort: () => {} })

const configuredDatabase = ({ databaseUrl, directUrl }: Config) =>
  directUrl ? externalDatabase(directUrl, databaseUrl) : databaseUrl ? externalDatabase(databaseUrl) : undefined

/** Explains in words why a database cannot be used, before anything else fails with a stack trace. */
export async function checkDatabase({ url, pooledUrl }: Database) {
  try {
    await refuseTransactionMode(url, { isBehindPooler: pooledUrl !== undefined, options: DEFAULT_LIMITS })
    if (pooledUrl) await refuseOtherDatabase(pooledUrl, url)
  } catch (err) {
    if (err instanceof ConfigError) throw err
    const { message, code } = err as NodeJS.ErrnoException
    throw new ConfigError(`Cannot use the database of DATABASE_URL: ${message || code}`, { cause: err })
  }
}

/** The database of this installation: the configured server, or the embedded PostgreSQL under DATA_DIR. */
export const openDatabase = async (config: Config, log: Log, signal?: AbortSignal): Promise<Database> =>
  configuredDatabase(config) ?? startEmbedded({ dataDir: config.dataDir, log, signal })

/** For CLI commands: uses the embedded PostgreSQL of a running Sterna, and starts one otherwise. */
export async function borrowDatabase(config: Config, log: Log): Promise<Database> {
  const running = config.databaseUrl ? undefined : await attachEmbedded(config.dataDir)
  const database = running ? externalDatabase(running.url) : await openDatabase(config, log)
  if (config.databaseUrl) await checkDatabase(database)
  return database
}
