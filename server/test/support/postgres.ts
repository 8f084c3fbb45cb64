import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { type Binaries, findBinaries, prepareBinaries } from '../../src/db/embedded/binaries.ts'
import { clusterUrl, createCluster, dataFolder } from '../../src/db/embedded/cluster.ts'
import { unprivilegedUser } from '../../src/db/embedded/home.ts'
import { launch, socketFolderFor } from '../../src/db/embedded/postmaster.ts'
import { birthOf, findServer, killStrays, signalProcess } from '../../src/db/embedded/processes.ts'
import { connect } from '../../src/db/index.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createPartitions } from '../../src/events/partitions.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { createWebhookPartitions } from '../../src/webhook-endpoints/retention.ts'

declare module 'vitest' {
  interface ProvidedContext {
    postgres: { adminUrl: string }
  }
}

const PREFIX = 'sterna-test-'
const MEMORY = '/dev/shm'
/** Far more than the files of the databases and servers of a run. */
const MEMORY_BYTES = 4 * 2 ** 30
/** No fsync and no vacuum: no data outlives the run. */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  max_connections: 300,
  shared_buffers: '128MB',
}

/** One server for the whole run; test files clone its migrated template, see `database.ts`. */
export default async function setup(project: TestProject) {
  sweepKilledRuns()
  const server = await throwawayServer(findBinaries())
  await runSql(server.adminUrl, 'create database template_sterna owner sterna')
  await migrate(server.urlOf('template_sterna'))
  await createAllPartitions(server.urlOf('template_sterna'))
  project.provide('postgres', { adminUrl: server.adminUrl })
  // The crash tests start servers of their own, from copies of one folder, which the first of them creates in here.
  const seedParent = newTestFolder()
  process.env.SEED_PARENT = seedParent
  return async () => {
    await server.remove()
    destroyTestFolder(seedParent)
  }
}

/** Each worker would create them at its start in each clone, which takes a tenth of a second. */
async function createAllPartitions(url: string) {
  const log = createLog('error')
  const db = connect({ url, max: 1, log })
  await createPartitions(db, log)
  await createWebhookPartitions(db, log)
  await db.destroy()
}

export async function throwawayServer(found: Binaries) {
  const folder = newTestFolder()
  const removeNow = () => destroyTestFolder(folder)
  // Ctrl-C ends vitest without a teardown.
  process.once('exit', removeNow)
  const user = process.getuid?.() === 0 ? unprivilegedUser() : undefined
  const binaries = await prepareBinaries(found, { user, spareFolder: folder })
  const cluster = { binaries, folder, socketFolder: socketFolderFor(folder), password: randomBytes(12).toString('hex'), user }
  await createCluster(cluster, { durable: false })
  // Tests open thousands of connections, and each check of a password takes milliseconds. Roles are kept apart all the same.
  writeFileSync(join(dataFolder(folder), 'pg_hba.conf'), 'local all all trust\n')
  const postmaster = await launch(cluster, { settings: SETTINGS })
  return {
    adminUrl: clusterUrl(cluster, 'postgres'),
    urlOf: (database: string) => clusterUrl(cluster, 'sterna', database),
    async remove() {
      await postmaster.stop()
      removeNow()
      process.off('exit', removeNow)
    },
  }
}

/** For scripts that need a migrated database. */
export async function withDatabase<T>(work: (url: string) => Promise<T>): Promise<T> {
  const server = await throwawayServer(findBinaries())
  try {
    const url = server.urlOf('sterna')
    await migrate(url)
    return await work(url)
  } finally {
    await server.remove()
  }
}

export async function runSql(url: string, statement: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await client.query(statement)
  } finally {
    await client.end()
  }
}

/** Readable for all users: PostgreSQL runs as another user when the tests run as root. */
export function newTestFolder(parent = hasRoomInMemory() ? MEMORY : tmpdir()) {
  // The pid tells later runs whether it is still in use.
  const folder = realpathSync(mkdtempSync(join(parent, `${PREFIX}${process.pid}-`)))
  chmodSync(folder, 0o755)
  return folder
}

/**
 * A clone of the template is 800 files. To create and remove them takes ext4 up to 300 ms of CPU, since it searches for inodes that were
 * not deleted just before, and tmpfs 25 ms. Containers often have a small one, or one that runs no programs.
 */
function hasRoomInMemory() {
  if (process.platform !== 'linux') return false
  const mount = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .findLast((line) => line.split(' ')[1] === MEMORY)
  const [, , type, options = ''] = mount?.split(' ') ?? []
  if (type !== 'tmpfs' || options.split(',').includes('noexec')) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize >= MEMORY_BYTES
}

/** Removes the folder and kills the servers in it. Synchronous, because it also runs while the process exits. */
export function destroyTestFolder(folder: string) {
  const server = findServer(folder)
  if (server) signalProcess(server, 'SIGKILL')
  killStrays(folder)
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
}

function sweepKilledRuns() {
  const folders = [realpathSync(tmpdir()), ...(hasRoomInMemory() ? [MEMORY] : [])]
  for (const path of folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))) {
    const pid = basename(path).startsWith(PREFIX) && Number(basename(path).slice(PREFIX.length).split('-')[0])
    if (pid && !birthOf(pid)) destroyTestFolder(path)
  }
}
