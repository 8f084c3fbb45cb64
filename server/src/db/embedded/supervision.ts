import pg from 'pg'
import { ConfigError } from '../../lib/errors/config-error.ts'

/** Held by the process that supervises the server, for as long as it lives: PostgreSQL releases it 4-12 ms after a kill -9. */
const SUPERVISION_LOCK = 7_357_003
const CONNECT_TIMEOUT_MS = 3_000

export type Supervision = { lost: Promise<void> }

export const alreadyRunning = (pid: number) =>
  new ConfigError(`Sterna is already running on this DATA_DIR (pid ${pid}). Stop it, or set another DATA_DIR.`)

/** Takes the lock on a connection of its own, which ends with the server or with this process; `lost` resolves then. */
export async function takeSupervision(url: string): Promise<Supervision> {
  const client = newClient(url, `sterna-owner:${process.pid}`)
  const lost = new Promise<void>((resolve) => client.once('end', resolve))
  try {
    await client.connect()
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [SUPERVISION_LOCK])
    if (rows[0]?.taken) return { lost }
    throw alreadyRunning((await findSupervisor(client)) ?? 0)
  } catch (err) {
    await client.end().catch(() => {})
    throw err
  }
}

/** Whether a server responds, and the pid of the Sterna that owns it. */
export async function probeServer(url: string): Promise<{ responds: boolean; supervisor?: number }> {
  const client = newClient(url, 'sterna-visitor')
  try {
    await client.connect()
    return { responds: true, supervisor: await findSupervisor(client) }
  } catch (err) {
    // Any other error ("starting up", wrong password, timeout) comes from a running server.
    return { responds: !['ECONNREFUSED', 'ENOENT'].includes((err as NodeJS.ErrnoException).code ?? '') }
  } finally {
    await client.end().catch(() => {})
  }
}

async function findSupervisor(client: pg.Client) {
  const { rows } = await client.query<{ name: string }>(
    `select application_name as name
     from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and classid = 0 and objid = $1 and objsubid = 1 and granted`,
    [SUPERVISION_LOCK],
  )
  return rows[0] && Number(rows[0].name.split(':')[1])
}

function newClient(url: string, name: string) {
  const client = new pg.Client({ connectionString: url, application_name: name, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  client.on('error', () => {}) // unhandled it would end the process; 'end' follows and is handled
  return client
}
