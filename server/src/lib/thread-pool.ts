import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'

/** Pieces of work that wait for a thread, before more are refused. */
const MAX_WAITING = 1_000

type Options = {
  /** Its name without the ending; it lies beside the one that asks. */
  file: string
  /** `import.meta.url` of the one that asks. */
  from: string
  minThreads: number
  maxThreads: number
  /** Beyond this a thread ends, and its work with it. */
  heapMb?: number
  /** What it may leave behind before it tidies up. */
  youngGenMb?: number
  /** Pieces of work that a thread has at once, so that it need not wait for the next. Should it end, all of them have failed. */
  queueDepth?: number
  /** What the thread knows from the start: it sees neither the environment nor what was passed to this process. */
  workerData?: object
}

/** Threads for what would keep everyone else waiting. Idle ones do not keep the process alive. */
export function createThreadPool({ file, from, minThreads, maxThreads, heapMb, youngGenMb = 32, queueDepth = 1, workerData }: Options) {
  const threads = new Piscina({
    // The bundle has it as it is; from the sources it starts by way of what reads TypeScript.
    filename: fileURLToPath(new URL(`./${file}${from.endsWith('.ts') ? '.dev.mjs' : '.js'}`, from)),
    execArgv: [],
    env: {},
    minThreads: minThreads,
    maxThreads: maxThreads,
    idleTimeout: 30_000,
    maxQueue: MAX_WAITING,
    concurrentTasksPerWorker: queueDepth,
    workerData: workerData,
    resourceLimits: { maxYoungGenerationSizeMb: youngGenMb, ...(heapMb ? { maxOldGenerationSizeMb: heapMb } : {}) },
  })
  // Of a thread that ends with nothing to do nobody needs to know: the next one is started when it is needed.
  threads.on('error', () => {})
  return threads
}

/** Of all cores but the one that the main thread has. */
export const spareCores = (least: number, most: number) => Math.min(most, Math.max(least, availableParallelism() - 1))

// Time limits ---------------------------------------------------------------------------------------------------------

const LOOK_EVERY_MS = 10
type Watched = { progress: Int32Array; at: number; spentMs: number; limitMs: (at: number) => number; onOverrun: () => void }
const watched = new Set<Watched>()
let looking: NodeJS.Timeout | undefined
let lookedAt = 0

/** Shared memory in which a thread says which piece of its work it is at and, if anyone asks, how many milliseconds the work took. */
export const createProgress = (at: number) => new Int32Array(new SharedArrayBuffer(8)).fill(at, 0, 1)

/** Calls `onOverrun` once when the thread stays at one piece of work for longer than its limit. Returns how to stop watching. */
export function watchProgress(progress: Int32Array, limitMs: Watched['limitMs'], onOverrun: () => void) {
  const one: Watched = { progress, at: Atomics.load(progress, 0), spentMs: 0, limitMs, onOverrun }
  if (!watched.size) {
    lookedAt = performance.now()
    looking = setInterval(look, LOOK_EVERY_MS)
  }
  watched.add(one)
  return () => forget(one)
}

function forget(one: Watched) {
  watched.delete(one)
  if (!watched.size) clearInterval(looking)
}

function look() {
  const now = performance.now()
  // Looks that come late count as one: on a machine that stands still or is overloaded, this thread is starved as the other is.
  const passedMs = Math.min(now - lookedAt, LOOK_EVERY_MS)
  lookedAt = now
  for (const one of watched) {
    const at = Atomics.load(one.progress, 0)
    one.spentMs = at === one.at ? one.spentMs + passedMs : 0
    one.at = at
    if (one.spentMs <= one.limitMs(at)) continue
    forget(one)
    one.onOverrun()
  }
}
