import type { Config } from '../lib/config.ts'
import type { Log } from '../lib/log.ts'
import { attachEmbedded, startEmbedded } from './embedded.ts'

export type Database = { url: string; stop(): Promise<void>; abort(): void }

const remote = (url: string): Database => ({ url, stop: async () => {}, abort: () => {} })

/** The database of this installation: the server that was configured, or our own PostgreSQL under DATA_DIR. */
export const openDatabase = async ({ databaseUrl, dataDir }: Config, log: Log): Promise<Database> =>
  databaseUrl ? remote(databaseUrl) : startEmbedded({ dataDir, log })

/** For short work beside a running server: uses its PostgreSQL if it runs, and starts one otherwise. */
export async function borrowDatabase(config: Config, log: Log): Promise<Database> {
  const running = config.databaseUrl ? undefined : await attachEmbedded(config.dataDir)
  return running ? remote(running.url) : openDatabase(config, log)
}
