import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const LINUX = process.platform === 'linux'

/**
 * Tells the process behind a pid from every other that has had or will have that number. Undefined once it is gone.
 * A zombie is gone: in a container whose first process reaps nobody it would stay for ever.
 */
export const birthOf = (pid: number): string | undefined => (LINUX ? birthInProc(pid) : birthInPs(pid))

function birthInProc(pid: number) {
  const stat = read(`/proc/${pid}/stat`)
  // The second field is the program's name in brackets and may hold anything, so count from behind it.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const startedAfterBoot = rest[18]
  if (!startedAfterBoot || state === 'Z' || state === 'X') return undefined
  return `${startedAfterBoot} ${read('/proc/sys/kernel/random/boot_id').trim()}`
}

function birthInPs(pid: number) {
  const [, state, started] = /^(\S+)\s+(.+)$/.exec(ps(pid, '-o', 'stat=', '-o', 'lstart=')) ?? []
  return state?.startsWith('Z') ? undefined : started
}

/** The server at work on this folder. Known by what it is, never by its number alone, which may be anyone's by now. */
export function findServer(dataFolder: string, hint = 0): number | undefined {
  const candidates = LINUX ? allPids() : [hint]
  return candidates.find((pid) => isServerOn(dataFolder, pid))
}

function isServerOn(dataFolder: string, pid: number) {
  if (!LINUX) return ps(pid, '-o', 'command=').includes(`/postgres -D ${dataFolder} `)
  const command = read(`/proc/${pid}/cmdline`)
  // Its backends are called "postgres: sterna sterna [local] idle".
  if (read(`/proc/${pid}/comm`) !== 'postgres\n' || !command.startsWith('/')) return false
  // The working folder is right even if DATA_DIR was moved; but root in a container may not look (no CAP_SYS_PTRACE).
  return command.includes(`\0-D\0${dataFolder}\0`) || worksIn(dataFolder, pid)
}

/**
 * Kills what a killed server or initdb left at work in a folder: a busy backend does not notice that its postmaster died, and
 * while it lives PostgreSQL refuses to start ("pre-existing shared memory block is still in use"). Where there is no /proc they
 * end by themselves with their statement.
 */
export function killStrays(folder: string) {
  if (!LINUX) return
  // By name, too: someone's shell may stand in the folder.
  const strays = allPids().filter((pid) => /^(postgres|initdb)\n$/.test(read(`/proc/${pid}/comm`)) && worksIn(folder, pid))
  for (const pid of strays) signalProcess(pid, 'SIGKILL')
}

/** Zombies and strangers included. */
export function isTaken(pid: number) {
  try {
    return process.kill(pid, 0)
  } catch (err) {
    return (err as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** False when there is nobody left to signal. */
export function signalProcess(pid: number, signal: NodeJS.Signals) {
  try {
    return process.kill(pid, signal)
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw err
  }
}

const allPids = () => readdirSync('/proc').map(Number).filter(Boolean)

function worksIn(folder: string, pid: number) {
  try {
    return `${readlinkSync(`/proc/${pid}/cwd`)}/`.startsWith(`${folder}/`)
  } catch {
    return false // gone, or not ours to look at
  }
}

function read(path: string) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function ps(pid: number, ...columns: string[]) {
  try {
    return execFileSync('/bin/ps', ['-ww', ...columns, '-p', String(pid)], { encoding: 'utf8', env: { LC_ALL: 'C' }, stdio: 'pipe' }).trim()
  } catch {
    return '' // no such process
  }
}
