import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const LINUX = process.platform === 'linux'

/** The `cluster_name` of the server in this folder: part of the server's command line and of the titles of its backends. */
export const clusterName = (folder: string) => `sterna-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`

/** The running server of this folder. Identified by its command line, not by a pid file, whose pid may belong to another process now. */
export const findServer = (folder: string): number | undefined =>
  postgresProcesses().find(
    ({ pid, command }) =>
      command.includes('/postgres -D ') && (command.includes(` cluster_name=${clusterName(folder)} `) || worksIn(folder, pid)),
  )?.pid

/**
 * Kills the processes that a killed server or initdb left running in a folder: a busy backend does not notice that its postmaster died, and
 * PostgreSQL refuses to start while it runs ("pre-existing shared memory block is still in use").
 */
export function killStrays(folder: string) {
  for (const { pid } of findStrays(folder)) signalProcess(pid, 'SIGKILL')
}

export function findStrays(folder: string) {
  const title = `postgres: ${clusterName(folder)}: `
  return postgresProcesses().filter(({ pid, command }) => command.startsWith(title) || worksIn(folder, pid))
}

/**
 * Distinguishes the process behind a pid from all others that had or will have that pid. Undefined once it has ended. A zombie has ended: in
 * a container whose init process does not reap it would stay forever.
 */
export const birthOf = (pid: number): string | undefined => (LINUX ? birthInProc(pid) : birthInPs(pid))

/** Whether any process, even a zombie, has this pid. */
export function isTaken(pid: number) {
  try {
    return process.kill(pid, 0)
  } catch (err) {
    return (err as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** False when the process has ended. */
export function signalProcess(pid: number, signal: NodeJS.Signals) {
  try {
    return process.kill(pid, signal)
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw err
  }
}

/** Only programs with these names: a shell may have the folder as its working directory, or a grep may search for the server. */
function postgresProcesses(): { pid: number; command: string }[] {
  if (!LINUX) {
    const lines = ps('-ax', '-o', 'pid=', '-o', 'command=').matchAll(/^ *(\d+) (postgres: .*|\/.*\/(?:postgres|initdb) .*)$/gm)
    return [...lines].map(([, pid, command]) => ({ pid: Number(pid), command: command! }))
  }
  const pids = readdirSync('/proc').filter((name) => /^(postgres|initdb)\n$/.test(read(`/proc/${name}/comm`)))
  return pids.map((pid) => ({ pid: Number(pid), command: read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ') }))
}

/** Works even after the folder was renamed; but only on Linux, and not for root in a container without CAP_SYS_PTRACE. */
function worksIn(folder: string, pid: number) {
  try {
    return `${readlinkSync(`/proc/${pid}/cwd`)}/`.startsWith(`${folder}/`)
  } catch {
    return false
  }
}

function birthInProc(pid: number) {
  const stat = read(`/proc/${pid}/stat`)
  // The second field is the program's name in parentheses and may contain anything, so fields are counted after it.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const startedAfterBoot = rest[18]
  if (!startedAfterBoot || state === 'Z' || state === 'X') return undefined
  return `${startedAfterBoot} ${read('/proc/sys/kernel/random/boot_id').trim()}`
}

function birthInPs(pid: number) {
  const [, state, started] = /^(\S+)\s+(.+)$/m.exec(ps('-o', 'stat=', '-o', 'lstart=', '-p', String(pid))) ?? []
  return state?.startsWith('Z') ? undefined : started?.trim()
}

function read(path: string) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function ps(...options: string[]) {
  try {
    return execFileSync('/bin/ps', ['-ww', ...options], { encoding: 'utf8', env: { LC_ALL: 'C' }, stdio: 'pipe' })
  } catch {
    return '' // no such process
  }
}
