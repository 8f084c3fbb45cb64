import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../lib/log.ts'
import { findBinaries, prepareBinaries } from './binaries.ts'
import { type Cluster, clusterUrl, createCluster, dataFolder, setPassword, sweepDrafts } from './cluster.ts'
import { EmbeddedError, findHome, type Home, hasCluster, openHome, SYSTEM_FOLDER, serverUser, writePointer } from './home.ts'
import { alreadyRunning, askServer, type Owner, takeOwnership } from './owner.ts'
import { launch, logTail, type Postmaster, pidFile, readPidFile, socketFolderFor, stopProcess, trimLog } from './postmaster.ts'
import { birthOf, findServer, killStrays } from './processes.ts'
import { startLockHolder, takeStartLock } from './startlock.ts'

type Logger = Pick<Log, 'info' | 'warn' | 'error'>
type Start = { dataDir: string; log: Logger; signal?: AbortSignal }

export type Embedded = {
  /** The same for as long as this process lives, also over a restart of the server. */
  url: string
  stop(): Promise<void>
  /** For a process about to end: the server drops everything at once, and its next start repairs that. */
  abort(): void
}

/** How long a killed process may still seem to own the server, or a running one may take to get it back. */
const OWNER_GRACE_MS = 2_000
const ATTACH_TIMEOUT_MS = 10_000
const LOG_CHECK_MS = 60_000
/** 0.1 s after a first crash, never more often than every 5 s for a server that keeps crashing. */
const RESTART_MS = { first: 100, most: 5_000, calmAfter: 5_000 }

/**
 * A PostgreSQL of this DATA_DIR's own, supervised until `stop`. Two locks keep it to one process: files from before there is a
 * server, and an advisory lock that also holds where files do not (another container on the same volume, a deleted lock file).
 */
export async function startEmbedded({ dataDir, log, signal }: Start): Promise<Embedded> {
  try {
    const home = openHome(dataDir)
    const lock = takeStartLock(lockFolder(home.folder))
    if ('heldBy' in lock) throw alreadyRunning(lock.heldBy)
    try {
      return await start(home, { log, signal, unlock: lock.release })
    } catch (err) {
      lock.release()
      throw err
    }
  } catch (err) {
    throw explained(err)
  }
}

/** For a second process, such as the CLI: the server that a running Sterna owns, or null. */
export async function attachEmbedded(dataDir: string): Promise<{ url: string } | null> {
  const folder = existsSync(dataDir) ? findHome(realpathSync(dataDir)) : undefined
  if (!folder) return null
  for (const end = Date.now() + ATTACH_TIMEOUT_MS; Date.now() < end; await sleep(100)) {
    const server = readPidFile(folder)
    const url = server && clusterUrl({ password: readFileSync(passwordFile(dataDir), 'utf8'), socketFolder: server.socketFolder })
    if (url && (await askServer(url)).owner) return { url }
    if (!startLockHolder(lockFolder(folder))) return null
  }
  throw new EmbeddedError('Sterna is running on this DATA_DIR, but its database does not answer.')
}

async function start(home: Home, { log, signal, unlock }: Omit<Start, 'dataDir'> & { unlock(): void }): Promise<Embedded> {
  const cluster = await prepare(home, { log, signal })
  const postmaster = await launch(cluster, { settings: settings(), signal, log })
  try {
    return supervise(cluster, { postmaster, owner: await takeOwnership(clusterUrl(cluster)), log, unlock })
  } catch (err) {
    await postmaster.stop()
    throw err
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
  const { password, isNew } = openPassword(dataDir)
  const cluster = { binaries, folder, socketFolder: socketFolderFor(folder), password, user }
  if (exists) await clearLeftovers(cluster, log)
  if (!exists) await createCluster(cluster, { signal })
  else if (isNew) await setPassword(cluster)
  await sweepDrafts(folder)
  writePointer(home)
  if (dirname(folder) !== dataDir) log.info({ folder }, 'the database is outside DATA_DIR, where the user PostgreSQL runs as can reach it')
  return cluster
}

function refuseOtherVersion(folder: string, major: number) {
  const made = readFileSync(join(dataFolder(folder), 'PG_VERSION'), 'utf8').trim()
  if (made === String(major)) return
  throw new EmbeddedError(
    `The database in ${folder} was made by PostgreSQL ${made}, and this Sterna brings PostgreSQL ${major}, which cannot read it. ` +
      'Nothing was changed. Dump it with the Sterna that made it and restore the dump, or set DATABASE_URL.',
  )
}

/**
 * A server still running here was left by a killed Sterna. It is stopped and started anew rather than adopted: that ends what its
 * dead clients were doing, brings this version's settings and binaries, and leaves one way to watch a server, as our child.
 */
async function clearLeftovers(cluster: Cluster, log: Logger) {
  const { folder } = cluster
  const left = readPidFile(folder)
  const url = clusterUrl({ ...cluster, socketFolder: left?.socketFolder || cluster.socketFolder })
  const running = findServer(dataFolder(folder), left?.pid)
  if ((await askDead(url)).answers && !running) {
    throw new EmbeddedError(
      `A PostgreSQL server runs on ${folder} that cannot be seen from here: in another container, or as another user? Stop it first.`,
    )
  }
  if (running) {
    log.warn({ pid: running }, 'stopping the PostgreSQL that a killed Sterna left behind')
    await stopProcess(running)
  }
  killStrays(dataFolder(folder))
  // PostgreSQL judges a pid file by its pid alone: it would wait for ever for whoever has that number now.
  if (!left || birthOf(left.pid)) rmSync(pidFile(folder), { force: true })
}

/** We hold the start lock, so the owner should be dead, and PostgreSQL about to notice; if not, it is alive after all. */
async function askDead(url: string) {
  for (const end = Date.now() + OWNER_GRACE_MS; ; await sleep(20)) {
    const answer = await askServer(url)
    if (!answer.owner) return answer
    if (Date.now() > end) throw alreadyRunning(answer.owner)
  }
}

/** For a small machine that it shares with us: an eighth of the memory, at most 1 GB. */
function settings() {
  const megabytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) / 2 ** 20
  return {
    max_connections: 100,
    shared_buffers: `${Math.round(Math.min(1_024, Math.max(64, megabytes / 8)))}MB`,
    effective_cache_size: `${Math.round(megabytes / 2)}MB`,
    // What was acknowledged is on the disk, whatever someone put into the cluster's own files.
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    // Reading anywhere costs about the same on an SSD.
    random_page_cost: 1.1,
  }
}

type Supervised = { postmaster: Postmaster; owner: Owner; log: Logger; unlock(): void }

function supervise(cluster: Cluster, { postmaster, owner, log, unlock }: Supervised): Embedded {
  const url = clusterUrl(cluster)
  const stopping = new AbortController()
  const { signal } = stopping
  const trimming = setInterval(() => trimLog(cluster.folder), LOG_CHECK_MS).unref()

  async function watch() {
    for (let failures = 0; !signal.aborted; ) {
      const upSince = Date.now()
      const exit = await Promise.race([postmaster.exited, owner.lost])
      if (signal.aborted) return
      failures = Date.now() - upSince > RESTART_MS.calmAfter ? 0 : failures + 1
      log.error({ exit, postgres: logTail(cluster.folder) }, 'lost PostgreSQL; getting it back')
      await recover(failures)
    }
  }

  async function recover(failures: number) {
    for (let attempt = failures; ; attempt++) {
      await sleep(Math.min(RESTART_MS.first * 2 ** attempt, RESTART_MS.most), undefined, { signal })
      try {
        if (postmaster.hasExited()) {
          killStrays(dataFolder(cluster.folder))
          postmaster = await launch(cluster, { settings: settings(), signal, log })
        }
        owner = await takeOwnership(url)
        return log.info({}, 'PostgreSQL is back')
      } catch (err) {
        signal.throwIfAborted()
        log.error({ err }, 'PostgreSQL is not back yet')
      }
    }
  }

  async function stop() {
    stopping.abort()
    clearInterval(trimming)
    await watching
    await postmaster.stop()
    rmSync(cluster.socketFolder, { recursive: true, force: true })
    unlock()
  }

  const watching = watch().catch((err) => {
    if (!signal.aborted) throw err
  })
  let stopped: Promise<void> | undefined
  return {
    url,
    stop: () => (stopped ??= stop()),
    abort() {
      stopping.abort()
      postmaster.kill('SIGQUIT')
    },
  }
}

const lockFolder = (folder: string) => join(folder, 'lock')
const passwordFile = (dataDir: string) => join(dataDir, 'postgres.password')

function openPassword(dataDir: string) {
  const path = passwordFile(dataDir)
  if (existsSync(path)) return { password: readFileSync(path, 'utf8'), isNew: false }
  const password = randomBytes(24).toString('hex')
  writeFileSync(`${path}.draft`, password, { mode: 0o600, flush: true })
  renameSync(`${path}.draft`, path)
  return { password, isNew: true }
}

const REASONS: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'it is not a folder',
  ENOTDIR: 'it is not a folder',
  ENAMETOOLONG: 'the name is too long',
}

function explained(err: unknown) {
  const { code = '', path } = err as NodeJS.ErrnoException
  if (!path || !REASONS[code]) return err
  return new EmbeddedError(
    `Cannot use ${path}: ${REASONS[code]}. Put that right, set another DATA_DIR, or set DATABASE_URL to use a PostgreSQL server.`,
  )
}
