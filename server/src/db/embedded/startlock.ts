import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { birthOf } from './processes.ts'

export type StartLock = { release(): void }

/**
 * One process at a time per folder, before a database runs that could hold a lock; released by a kill -9.
 *
 * Node has no flock, and with "delete the stale lock file, then create mine" two processes may delete each other's. So taking over deletes
 * nothing: the file with the highest number is the lock, and a process that finds its holder dead creates the next number, which only one
 * can. The highest number stays, even when released, so numbers are never reused.
 */
export function takeStartLock(folder: string): StartLock | { heldBy: number } {
  mkdirSync(folder, { recursive: true })
  for (;;) {
    const last = highest(folder)
    const heldBy = holderOf(folder, last)
    if (heldBy) return { heldBy }
    const mine = last + 1
    const file = join(folder, String(mine))
    if (!claim(folder, mine)) continue
    // Removes older numbers and drafts.
    for (const name of readdirSync(folder)) if (!(Number(name) >= mine)) rmSync(join(folder, name), { force: true })
    return { release: () => existsSync(file) && truncateSync(file) }
  }
}

/** The pid of the running process that holds the lock. */
export const startLockHolder = (folder: string) => (existsSync(folder) ? holderOf(folder, highest(folder)) : undefined)

function holderOf(folder: string, number: number): number | undefined {
  try {
    const { pid, birth } = JSON.parse(readFileSync(join(folder, String(number)), 'utf8'))
    return birth && birth === birthOf(pid) ? pid : undefined
  } catch {
    return undefined // never taken, released, or cut short by a power failure
  }
}

const highest = (folder: string) => Math.max(0, ...readdirSync(folder).map(Number).filter(Number.isInteger))

function claim(folder: string, number: number) {
  // Linked into place with its content: an empty lock file would look released.
  const draft = join(folder, `draft-${randomBytes(6).toString('hex')}`)
  const file = join(folder, String(number))
  writeFileSync(draft, JSON.stringify({ pid: process.pid, birth: birthOf(process.pid) }))
  try {
    linkSync(draft, file)
  } catch (err) {
    // Another process was faster, or has already removed our draft.
    if (['EEXIST', 'ENOENT'].includes((err as NodeJS.ErrnoException).code ?? '')) return false
    throw err
  } finally {
    rmSync(draft, { force: true })
  }
  if (highest(folder) === number) return true
  // Since we looked, other processes have taken and released later numbers and removed this one.
  rmSync(file, { force: true })
  return false
}
