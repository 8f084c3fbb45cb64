import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError } from '../../lib/errors/config-error.ts'
import { isWrongPassword } from '../errors/sql-state.ts'
import { findBinaries, prepareBinaries } from './binaries.ts'
import { type Cluster, clusterUrl, createCluster, dataFolder, setDatabasePassword, sweepDrafts } from './cluster.ts'
import { findHome, type Home, hasCluster, openHome, SYSTEM_FOLDER, serverUser, writePointer } from './home.ts'
import { readPidFile, socketFolderFor, stopProcess } from './postmaster.ts'
import { findServer } from './processes.ts'
import { startLockHolder, takeStartLock } from './startlock.ts'
import { type Embedded, type Logger, launchForUse, Supervisor } from './supervise.ts'
import { alreadyRunning, probeServer, takeSupervision } from './supervision.ts'

type Start = { dataDir: string; log: Logger; signal?: AbortSignal }

/** How long a killed process may still seem to own the server, or a running one may take to restart it. */
const OWNER_GRACE_MS = 2_000
const ATTACH_TIMEOUT_MS = 10_000

/**
 * The PostgreSQL of this DATA_DIR, supervised until `stop`. Two locks ensure one supervisor: a file lock for the time before the server runs, and
 * an advisory lock where a file lock does not suffice (another container on the same volume, a deleted lock file).
 */
export const startEmbedded = ({ dataDir, log, signal }: Start): Promise<Embedded> =>
  explaining(async () => {
    const home = openHome(dataDir)
    const lock = takeStartLock(lockFolder(home.folder))
    if ('heldBy' in lock) throw alreadyRunning(lock.heldBy)
    try {
      return await start(home, { log, signal, unlock: lock.release })
    } catch (err) {
      lock.release()
      throw err
    }
  })

/** The superuser of an embedded server, which has the same password: for what the role of the application may not do. */
export const adminUrlOf = (url: string) => url.replace('//sterna:', '//postgres:').replace('@/sterna?', '@/postgres?')

/** For a second process, such as the CLI: the server that a running Sterna owns, or null. */
export const attachEmbedded = (dataDir: string): Promise<{ url: string } | null> =>
  explaining(async () => {
    const folder = existsSync(dataDir) ? findHome(realpathSync(dataDir)) : undefined
    if (!folder) return null
    for (const end = Date.now() + ATTACH_TIMEOUT_MS; Date.now() < end; await sleep(100)) {
      const socketFolder = readPidFile(folder)?.socketFolder
      const password = readPassword(dataDir)
      const url = socketFolder && password && clusterUrl({ password, socketFolder })
      if (url && (await probeServer(url)).supervisor) return { url }
      if (!startLockHolder(lockFolder(folder))) return null
    }
    throw new ConfigError('Sterna is running on this DATA_DIR, but its database does not respond.')
  })

async function start(home: Home, { log, signal, unlock }: Omit<Start, 'dataDir'> & { unlock(): void }): Promise<Embedded> {
  const cluster = await prepare(home, { log, signal })
  const postmaster = await launchForUse(cluster, { signal, log })
  try {
    const supervision = await takeSupervision(clusterUrl(cluster))
    return new Supervisor({ cluster, postmaster, supervision, log, unlock })
  } catch (err) {
    await postmaster.stop()
    if (!isWrongPassword(err)) throw err
    throw new ConfigError(
      `${passwordFile(home.dataDir)} does not contain the password of the database. Delete the file and start again to set a new one.`,
    )
  }
}

/** Everything up to the point where the server can be started. */
async function prepare(home: Home, { log, signal }: Omit<Start, 'dataDir'>): Promise<Cluster> {
  const { folder, dataDir } = home
  const found = findBinaries()
  const exists = hasCluster(folder)
  if (exists) refuseOtherVersion(folder, found.major)
  const user = serverUser(home)
  const binaries = await prepareBinaries(found, { user, spareFolder: home.isRoot ? SYSTEM_FOLDER : folder })
  const known = readPassword(dataDir)
  const cluster = { binaries, folder, socketFolder: socketFolderFor(folder), password: known ?? randomBytes(24).toString('hex'), user }
  if (exists) await clearLeftovers(cluster, log)
  if (!exists) await createCluster(cluster, { signal })
  else if (!known) await setDatabasePassword(cluster)
  // Only after the database has the password: a kill in between leaves no file, and the next start sets a new one.
  if (!known) writePassword(dataDir, cluster.password)
  await sweepDrafts(folder)
  writePointer(home)
  if (dirname(folder) !== dataDir)
    log.info({ folder }, 'the database is outside DATA_DIR, in a folder that the user of PostgreSQL can access')
  return cluster
}

function refuseOtherVersion(folder: string, major: number) {
  const created = readFileSync(join(dataFolder(folder), 'PG_VERSION'), 'utf8').trim()
  if (created === String(major)) return
  throw new ConfigError(
    `The database in ${folder} was created by PostgreSQL ${created}; this version of Sterna has PostgreSQL ${major}, which cannot read it. ` +
      'Nothing was changed. Dump it with the version of Sterna that created it and restore the dump, or set DATABASE_URL.',
  )
}

/**
 * A server that still runs here was left by a killed Sterna. It is restarted rather than adopted: that ends the work of its dead clients,
 * applies the settings and binaries of this version, and makes it our child process, the only kind that is supervised.
 */
async function clearLeftovers(cluster: Cluster, log: Logger) {
  const { folder } = cluster
  const left = readPidFile(folder)
  const url = clusterUrl({ ...cluster, socketFolder: left?.socketFolder || cluster.socketFolder })
  const running = findServer(folder)
  if ((await probeDead(url)).responds && !running) {
    throw new ConfigError(
      `A PostgreSQL server runs on ${folder} that is not visible from here: in another container, or as another user? Stop it first.`,
    )
  }
  if (running) {
    log.warn({ pid: running }, 'stopping the PostgreSQL that a killed Sterna left running')
    await stopProcess(running)
  }
}

/** We hold the start lock, so the supervisor should be dead, and PostgreSQL should notice soon; if it does not, the supervisor is alive. */
async function probeDead(url: string) {
  for (const end = Date.now() + OWNER_GRACE_MS; ; await sleep(20)) {
    const server = await probeServer(url)
    if (!server.supervisor) return server
    if (Date.now() > end) throw alreadyRunning(server.supervisor)
  }
}

const lockFolder = (folder: string) => join(folder, 'lock')
const passwordFile = (dataDir: string) => join(dataDir, 'postgres.password')

const readPassword = (dataDir: string) => (existsSync(passwordFile(dataDir)) ? readFileSync(passwordFile(dataDir), 'utf8') : undefined)

function writePassword(dataDir: string, password: string) {
  const draft = `${passwordFile(dataDir)}.draft`
  writeFileSync(draft, password, { mode: 0o600, flush: true })
  renameSync(draft, passwordFile(dataDir))
}

const REASONS: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'it is not a folder',
  ENOENT: 'it does not exist and cannot be created',
  ENOTDIR: 'it is not a folder',
  ENOTEMPTY: 'it is not empty and not a database',
  ENAMETOOLONG: 'the name is too long',
}

async function explaining<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    const { code = '', path, dest = path } = err as NodeJS.ErrnoException & { dest?: string }
    if (!dest || !REASONS[code]) throw err
    throw new ConfigError(
      `Cannot use ${dest}: ${REASONS[code]}. Fix that, set another DATA_DIR, or set DATABASE_URL to use a PostgreSQL server.`,
    )
  }
}
