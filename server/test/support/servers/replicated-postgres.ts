import { randomBytes } from 'node:crypto'
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { findBinaries, prepareBinaries } from '../../../src/db/embedded/binaries.ts'
import { type Cluster, clusterUrl, createCluster, dataFolder, give } from '../../../src/db/embedded/cluster.ts'
import { unprivilegedUser } from '../../../src/db/embedded/home.ts'
import { launch, type Postmaster, socketFolderFor } from '../../../src/db/embedded/postmaster.ts'
import { killStrays, signalProcess } from '../../../src/db/embedded/processes.ts'
import { until } from '../eventually.ts'
import { destroyTestFolder, newTestFolder, runSql } from '../postgres.ts'
import { startForwarder } from './forwarder.ts'

const STANDBY = 'standby'
/** No fsync: the machine does not lose power during a test. A killed process loses nothing that it has written. */
const SETTINGS = { fsync: 'off', shared_buffers: '64MB', max_connections: 200, wal_keep_size: '1GB', autovacuum: 'off' }
const PATIENCE_MS = 60_000

type Server = Cluster & { postmaster: Postmaster; adminUrl: string }

/**
 * A primary and its hot standby, made of the PostgreSQL binaries from npm, and a forwarder that leads to the primary. `synchronous`: commits
 * wait for the standby. Remove it in the end.
 */
export async function startReplicatedPostgres({ synchronous = true, port = 0 } = {}) {
  const folder = newTestFolder()
  const removeNow = () => destroyAll(folder)
  process.once('exit', removeNow)
  const primary = await startPrimary(join(folder, '0'))
  let servers = 1
  let current = primary
  let standby: Server | undefined = await copyPrimary()
  const forwarder = await startForwarder(current, { port })
  await setSynchronous(synchronous)

  function copyPrimary() {
    return addStandby(current, join(folder, `${servers++}`))
  }

  async function setSynchronous(isOn: boolean) {
    await alterSystem(current, 'synchronous_standby_names', isOn ? STANDBY : '')
    if (isOn) await untilSynchronous()
  }

  async function untilSynchronous() {
    const read = async () => (await runSql(current.adminUrl, 'select sync_state from pg_stat_replication')).rows
    await until('the standby is synchronous', async () => (await read())[0]?.sync_state === 'sync', PATIENCE_MS)
  }

  const walSenders = async () =>
    (await runSql(current.adminUrl, 'select pid from pg_stat_replication')).rows.map(({ pid }: { pid: number }) => pid)

  /** The standby becomes the primary; its former one must be dead, or unreachable. Returns when it accepts writes. */
  async function promote({ repoint = true } = {}) {
    const next = standby!
    await runSql(next.adminUrl, 'select pg_promote(true, 60)')
    await alterSystem(next, 'synchronous_standby_names', '')
    standby = undefined
    current = next
    if (repoint) forwarder.pointTo(current)
  }

  return {
    /** Leads to the primary, whichever that is. */
    url: `postgres://sterna:${primary.password}@127.0.0.1:${forwarder.port}/sterna`,
    forwarder,
    /** Of the present primary, past the forwarder, as the superuser. */
    adminUrl: () => current.adminUrl,
    setSynchronous,
    promote,
    /** Another standby, after a failover. */
    async addStandby() {
      standby = await copyPrimary()
    },
    /** Ends the primary as a power cut does. */
    async killPrimary() {
      current.postmaster.kill('SIGKILL')
      await current.postmaster.exited
      killStrays(current.folder)
    },
    /** Ends the primary in order: the standby has received everything. */
    stopPrimary: () => current.postmaster.stop(),
    /** Leaves the standby behind from now on: it gets nothing more. For good, or until `resumeReplication`. */
    async pauseReplication() {
      for (const pid of await walSenders()) signalProcess(pid, 'SIGSTOP')
    },
    async resumeReplication() {
      for (const pid of await walSenders()) signalProcess(pid, 'SIGCONT')
    },
    async remove() {
      await forwarder.stop()
      removeNow()
      process.off('exit', removeNow)
    },
  }
}

export type ReplicatedPostgres = Awaited<ReturnType<typeof startReplicatedPostgres>>

async function newCluster(folder: string, password: string): Promise<Cluster> {
  mkdirSync(folder, { mode: 0o755 })
  const user = process.getuid?.() === 0 ? unprivilegedUser() : undefined
  give(user, folder)
  const binaries = await prepareBinaries(findBinaries(), { user, spareFolder: folder })
  return { binaries, folder, socketFolder: socketFolderFor(folder), password, user }
}

async function startPrimary(folder: string): Promise<Server> {
  const cluster = await newCluster(folder, randomBytes(12).toString('hex'))
  await createCluster(cluster, { durable: false })
  writeFileSync(join(dataFolder(folder), 'pg_hba.conf'), 'local all all trust\nlocal replication all trust\n')
  return start(cluster)
}

const start = async (cluster: Cluster): Promise<Server> => ({
  ...cluster,
  postmaster: await launch(cluster, { settings: SETTINGS }),
  adminUrl: clusterUrl(cluster, 'postgres', 'sterna'),
})

/** The npm packages have no pg_basebackup: the folder is copied while the primary says that a backup is under way. */
async function addStandby(primary: Server, folder: string): Promise<Server> {
  const cluster = await newCluster(folder, primary.password)
  const [from, to] = [dataFolder(primary.folder), dataFolder(folder)]
  const client = new pg.Client({ connectionString: primary.adminUrl })
  await client.connect()
  await client.query(`select pg_backup_start('${STANDBY}', true)`)
  cpSync(from, to, { recursive: true, filter: (path) => !/postmaster\.(pid|opts)$|\/pg_wal\/.+/.test(path) })
  mkdirSync(join(to, 'pg_wal', 'archive_status'), { recursive: true })
  const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
  await client.end()
  writeFileSync(join(to, 'backup_label'), rows[0]!.labelfile)
  writeFileSync(join(to, 'standby.signal'), '')
  const connection = `host=${primary.socketFolder} user=postgres application_name=${STANDBY}`
  const auto = readFileSync(join(to, 'postgresql.auto.conf'), 'utf8')
  writeFileSync(join(to, 'postgresql.auto.conf'), `${auto}primary_conninfo = '${connection}'\n`)
  chmodSync(to, 0o700)
  giveAll(cluster, to)
  return start(cluster)
}

/** A copy made by root belongs to root. */
function giveAll({ user }: Cluster, folder: string) {
  if (!user) return
  give(user, folder)
  for (const path of readdirSync(folder, { recursive: true }) as string[]) give(user, join(folder, path))
}

async function alterSystem({ adminUrl }: Server, name: string, value: string) {
  await runSql(adminUrl, `alter system set ${name} = '${value}'`)
  await runSql(adminUrl, 'select pg_reload_conf()')
}

/** Synchronous, because it also runs while the process exits. */
function destroyAll(folder: string) {
  for (const name of readdirSync(folder)) destroyTestFolder(join(folder, name))
  rmSync(folder, { recursive: true, force: true })
}
