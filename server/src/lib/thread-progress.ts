import { readFileSync, readlinkSync } from 'node:fs'

const [ITEM, TOOK_MS, THREAD] = [0, 1, 2]

/** Shared memory in which a thread notes which item of its task it is at and, if wanted, how many milliseconds the task took. */
export const createProgress = (at: number) => new Int32Array(new SharedArrayBuffer(12)).fill(at, ITEM, TOOK_MS)

/** To be called by the thread: its CPU time can then be told from the time that it waited for a core. Only on Linux. */
export function noteThread(progress: Int32Array) {
  Atomics.store(progress, THREAD, threadId())
}

/** CPU time of the thread so far. Undefined if it has not noted itself, or has ended. */
export function cpuMsOf(progress: Int32Array): number | undefined {
  const id = Atomics.load(progress, THREAD)
  if (!id) return undefined
  try {
    return Number(readFileSync(`/proc/self/task/${id}/schedstat`, 'utf8').split(' ', 1)) / 1e6
  } catch {
    return undefined
  }
}

let known: number | undefined

/** The operating system's id of this thread; 0 where it cannot be read. */
function threadId() {
  known ??= readThreadId()
  return known
}

function readThreadId() {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1))
  } catch {
    return 0
  }
}
