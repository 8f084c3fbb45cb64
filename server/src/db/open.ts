import pg from 'pg'
import { type Config, ConfigError } from '../lib/config.ts'
import type { Log } from '../lib/log.ts'
import { attachEmbedded, startEmbedded } from './embedded/embedded.ts'

export type Database = { url: string; stop(): Promise<void>; abort(): void }

const externalDatabase = (url: string): Database => ({ url, stop: async () => {}, abort: () => {} })

async function checkReachable(url: string) {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  try {
    await client.connect()
  } catch (err) {
    throw new ConfigError(`Cannot use the database of DATABASE_URL: ${(err as Error).message}`)
  } finally {
    await client.end().catch(() => {})
  }
  return externalDatabase(url)
}

/** The database of this installation: the configured server, or the embedded PostgreSQL under DATA_DIR. */
export const openDatabase = async ({ databaseUrl, dataDir }: Config, log: Log, signal?: AbortSignal): Promise<Database> =>
  databaseUrl ? checkReachable(databaseUrl) : startEmbedded({ dataDir, log, signal })

/** For CLI commands: uses the embedded PostgreSQL of a running Sterna, and starts one otherwise. */
export async function borrowDatabase(config: Config, log: Log): Promise<Database> {
  const running = config.databaseUrl ? undefined : await attachEmbedded(config.dataDir)
  return running ? externalDatabase(running.url) : openDatabase(config, log)
}
