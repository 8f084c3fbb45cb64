import { setPriority } from 'node:os'
import { isMainThread } from 'node:worker_threads'

/** Enough for the main thread and PostgreSQL to go first, little enough for the thread to go on beside other programs. */
const NICENESS = 5

/**
 * To be called by a thread: when all cores are busy, it waits for the main thread, which serves every project, and not the other way round.
 * Only on Linux: elsewhere the number 0 names the whole process.
 */
export function lowerPriority() {
  if (process.platform !== 'linux' || isMainThread) return
  try {
    setPriority(0, NICENESS)
  } catch {
    // Not allowed in this container.
  }
}
