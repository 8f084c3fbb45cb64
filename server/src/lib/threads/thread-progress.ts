import { readFileSync, readlinkSync } from 'node:fs'

const [ITEM, TOOK_MS, THREAD] = [0, 1, 2]

/** Shared memory in which a thread notes which item of its task it is at and, if wanted, how many milliseconds the task took. */
export const createProgress = (at: number) => new Int32Array(new SharedArrayBuffer(12)).fill(at, ITEM, TOOK_MS)

/** To be called by the thread: its CPU time can then be distinguished from the time that it waited for a core. Only on Linux. */
export function noteThread(progress: Int32Array) {
  Atomics.store(progress, THREAD, threadId())
}

/** CPU time of the thread so far. Undefined if it has not noted itself, or has ended. */
export function cpuMsOf(progress: Int32Array): number | undefined {
  return cpuMsOfThread(Atomics.load(progress, THREAD))
}

/** CPU time of the calling thread so far. Undefined where it cannot be read. */
export const ownCpuMs = () => cpuMsOfThread(threadId())

function cpuMsOfThread(id: number): number | undefined {
  if (!id) return undefined
  try {
    return Number(readFileSync(`/proc/self/task/${id}/schedstat`, 'utf8').split(' ', 1)) / 1e6
  } catch {
    return undefined
  }
}

/** Work with a time limit. `spentMs`: the time since it began, waits for a core included. */
export type TimedWork = { spentMs: number; sample: { spentMs: number; cpuMs: number } | undefined }

/** Reading the CPU time takes 10 µs: not worth it for work that takes less than this. Until then all time counts. */
const SAMPLED_AFTER_MS = 10
/** Work that waits for something else than a core ends after this many times its limit. */
const MAX_STARVED = 30

/**
 * Whether work has exceeded its limit of CPU time: on a busy machine a thread waits for a core longer than it works. By time that passes where
 * CPU time cannot be read. To be asked again and again while the work goes on.
 */
export function isOverrun(work: TimedWork, limitMs: number, cpuMs: () => number | undefined): boolean {
  if (work.spentMs >= SAMPLED_AFTER_MS && !work.sample) work.sample = sampleOf(work, cpuMs())
  if (work.spentMs <= limitMs) return false
  const usedMs = cpuMs()
  if (usedMs === undefined || !work.sample) return true
  return work.sample.spentMs + usedMs - work.sample.cpuMs > limitMs || work.spentMs > MAX_STARVED * limitMs
}

/** The first look may be late, since the thread waited for a core: then no more of that time counts than work takes without a look. */
const sampleOf = ({ spentMs }: TimedWork, cpuMs: number | undefined) =>
  cpuMs === undefined ? undefined : { spentMs: Math.min(spentMs, SAMPLED_AFTER_MS), cpuMs }

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
