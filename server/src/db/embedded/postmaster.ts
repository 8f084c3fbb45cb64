import { spawn } from 'node:child_process'
import { closeSync, copyFileSync, lstatSync, mkdirSync, openSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError } from '../../lib/errors/config-error.ts'
import { type Cluster, dataFolder, ENVIRONMENT, give, whyNotRun } from './cluster.ts'
import { birthOf, clusterName, isTaken, killStrays, signalProcess } from './processes.ts'

export type Postmaster = {
  pid: number
  /** Resolves with how it ended. */
  exited: Promise<string>
  hasExited(): boolean
  kill(signal: NodeJS.Signals): void
  stop(): Promise<void>
}
type Settings = Record<string, string | number>
type Launch = { settings: Settings; signal?: AbortSignal; log?: { info(fields: object, message: string): void } }

/** Longest silence of its log during a start: crash recovery may take minutes, and logs every 10 s. */
const START_SILENCE_MS = 30_000
const POLL_MS = 10
const MAX_LOG_BYTES = 8_000_000
/** A socket path has at most 104 bytes on macOS and 108 on Linux, including a zero byte. */
const MAX_SOCKET_PATH = 103

const logFile = (folder: string) => join(folder, 'postgres.log')

export function socketFolderFor(folder: string) {
  const near = join(folder, 'run')
  if (Buffer.byteLength(join(near, '.s.PGSQL.5432')) <= MAX_SOCKET_PATH) return near
  return join(tmpdir(), clusterName(folder))
}

/** Starts the server and waits until it accepts connections. It must not be running. */
export async function launch(cluster: Cluster, { settings, signal, log }: Launch): Promise<Postmaster> {
  signal?.throwIfAborted()
  clearRemains(cluster.folder)
  prepareSocketFolder(cluster)
  trimLog(cluster.folder)
  const logStart = sizeOf(logFile(cluster.folder))
  const postmaster = spawnPostmaster(cluster, settings)
  const drop = () => postmaster.kill('SIGQUIT')
  signal?.addEventListener('abort', drop)
  try {
    await untilReady(postmaster, cluster.folder, log)
    signal?.throwIfAborted()
    return postmaster
  } catch (err) {
    drop()
    await postmaster.stop()
    signal?.throwIfAborted()
    throw new ConfigError(`${(err as Error).message} Its log ${logFile(cluster.folder)} ends with:\n${logTail(cluster.folder, logStart)}`)
  } finally {
    signal?.removeEventListener('abort', drop)
  }
}

function spawnPostmaster(cluster: Cluster, settings: Settings): Postmaster {
  const args = Object.entries({ ...baseSettings(cluster), ...settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  // A file, not a pipe: a server that outlives this process must not fail at its next log line.
  const output = openSync(logFile(cluster.folder), 'a', 0o600)
  const child = spawn(join(cluster.binaries.folder, 'bin', 'postgres'), ['-D', dataFolder(cluster.folder), ...args], {
    ...cluster.user,
    cwd: cluster.folder,
    env: ENVIRONMENT,
    // Ctrl-C in a terminal must reach only this process, which stops the server after its clients.
    detached: true,
    stdio: ['ignore', output, output],
  })
  closeSync(output)
  let exit: string | undefined
  const exited = new Promise<string>((resolve) => {
    const end = (how: string) => {
      exit = how
      resolve(how)
    }
    child.once('error', (err) => end(whyNotRun(err) ?? err.message))
    child.once('exit', (code, signal) => end(signal ?? `exit code ${code}`))
  })
  const hasExited = () => exit !== undefined
  const kill = (signal: NodeJS.Signals) => {
    if (!hasExited()) child.kill(signal)
  }
  return { pid: child.pid ?? 0, exited, hasExited, kill, stop: () => shutDown(kill, hasExited) }
}

/** On the command line: the settings of this version apply, whichever version created the cluster. */
const baseSettings = ({ folder, socketFolder }: Cluster): Settings => ({
  cluster_name: clusterName(folder),
  listen_addresses: '',
  unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`,
  unix_socket_permissions: '0700',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // For this setting LOG ranks above ERROR: starts, stops and crashes are logged; failed statements, and the addresses in them, are not.
  log_min_messages: 'log',
  log_checkpoints: 'off',
})

async function untilReady(postmaster: Postmaster, folder: string, log: Launch['log']) {
  const started = Date.now()
  let lastLogged = started
  let logSize = -1
  while (!isReady(postmaster, folder)) {
    if (postmaster.hasExited()) throw new Error(`PostgreSQL did not start: ${await postmaster.exited}.`)
    if (sizeOf(logFile(folder)) !== logSize) {
      logSize = sizeOf(logFile(folder))
      lastLogged = Date.now()
      if (lastLogged - started > 5_000) log?.info({ postgres: logTail(folder).split('\n').at(-1) }, 'PostgreSQL is still starting')
    }
    if (Date.now() - lastLogged > START_SILENCE_MS) throw new Error(`PostgreSQL did not start: silent for ${START_SILENCE_MS / 1_000} s.`)
    await sleep(POLL_MS)
  }
}

function isReady({ pid }: Postmaster, folder: string) {
  const file = readPidFile(folder)
  return file?.pid === pid && file.status === 'ready'
}

/** The pid file of a server. Undefined when there is none, or when it is not a server's. */
export function readPidFile(folder: string): { pid: number; socketFolder: string; status: string } | undefined {
  const lines = readIfExists(pidFile(folder)).toString().split('\n')
  const pid = Math.abs(Number(lines[0])) // negative: a single-user process
  return Number.isInteger(pid) && pid > 1 ? { pid, socketFolder: lines[4] ?? '', status: lines[7]?.trim() ?? '' } : undefined
}

const pidFile = (folder: string) => join(dataFolder(folder), 'postmaster.pid')

/** PostgreSQL checks only the pid of a pid file, and would refuse to start while any process, even a zombie, has that pid. */
function clearRemains(folder: string) {
  killStrays(folder)
  const left = readPidFile(folder)
  if (!left || isTaken(left.pid)) rmSync(pidFile(folder), { force: true })
}

/** For a process that is not our child. */
export async function stopProcess(pid: number) {
  const birth = birthOf(pid)
  await shutDown(
    (signal) => signalProcess(pid, signal),
    () => birthOf(pid) !== birth,
  )
}

/** Fast shutdown first; if that takes too long, immediate shutdown, after which the next start runs crash recovery. */
async function shutDown(kill: (signal: NodeJS.Signals) => void, isGone: () => boolean) {
  for (const [signal, timeoutMs] of Object.entries({ SIGINT: 8_000, SIGQUIT: 7_000, SIGKILL: 2_000 })) {
    if (isGone()) return
    kill(signal as NodeJS.Signals) // the keys above
    for (const end = Date.now() + timeoutMs; Date.now() < end && !isGone(); ) await sleep(POLL_MS)
  }
  if (!isGone()) throw new ConfigError('PostgreSQL does not stop, not even when killed: does its disk hang?')
}

/** Recreated at each start: the socket and lock file of a killed server name a pid that may belong to another process now. */
function prepareSocketFolder({ socketFolder, user }: Cluster) {
  const found = lstatSync(socketFolder, { throwIfNoEntry: false })
  // It may be below /tmp, where any user can have created it.
  if (found && !(found.isDirectory() && [process.getuid?.(), user?.uid].includes(found.uid))) {
    throw new ConfigError(`${socketFolder} belongs to another user. Remove it, or set a shorter DATA_DIR.`)
  }
  rmSync(socketFolder, { recursive: true, force: true })
  mkdirSync(socketFolder, { mode: 0o700 })
  give(user, socketFolder)
}

/** Copies and truncates instead of renaming: the server keeps appending to its open file. */
export function trimLog(folder: string) {
  const path = logFile(folder)
  if (sizeOf(path) < MAX_LOG_BYTES) return
  copyFileSync(path, `${path}.1`)
  truncateSync(path)
}

export function logTail(folder: string, from = 0) {
  try {
    return readFileSync(logFile(folder)).subarray(from).toString().trim().slice(-2_000)
  } catch (err) {
    return (err as Error).message
  }
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0

function readIfExists(path: string) {
  try {
    return readFileSync(path)
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw err
  }
}
