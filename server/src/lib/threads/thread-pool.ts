import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { cpuMsOf, isOverrun, type TimedWork } from './thread-progress.ts'

/** Tasks that may wait for a thread; more are refused. */
const MAX_WAITING = 1_000

type Options = {
  /** Name of the thread's module without its extension; it is in the folder of the caller. */
  file: string
  /** `import.meta.url` of the caller. */
  from: string
  minThreads: number
  maxThreads: number
  /** Heap limit: beyond it the thread ends, and its tasks fail. */
  heapMb?: number
  /** Size of the young generation, which garbage fills before it is collected. */
  youngGenMb?: number
  /** Tasks that a thread has at once, so that it need not wait for the next. If it ends, all of them fail. */
  queueDepth?: number
  /** Data for the thread: it sees neither the environment nor the arguments of this process. */
  workerData?: object
}

/** Threads for work that would block the event loop. Idle ones do not keep the process alive. */
export function createThreadPool({ file, from, minThreads, maxThreads, heapMb, youngGenMb = 32, queueDepth = 1, workerData }: Options) {
  const threads = new Piscina({
    filename: threadFile(file, from),
    // The pool would load a module by `require` first. If the thread is ended while it does, Node aborts the whole process; `import` is safe.
    execArgv: ['--no-experimental-require-module'],
    env: {},
    minThreads,
    maxThreads,
    idleTimeout: 30_000,
    maxQueue: MAX_WAITING,
    concurrentTasksPerWorker: queueDepth,
    workerData,
    resourceLimits: { maxYoungGenerationSizeMb: youngGenMb, ...(heapMb ? { maxOldGenerationSizeMb: heapMb } : {}) },
  })
  // An idle thread that ends is no error: the next one is started when needed.
  threads.on('error', () => {})
  return threads
}

/**
 * The bundle has JavaScript; from the sources a thread starts through a loader for TypeScript. The loader costs each thread 0.7 s of CPU, so
 * tests, which start some hundred threads, name the folder of a fresh bundle.
 */
function threadFile(file: string, from: string) {
  if (!from.endsWith('.ts')) return fileURLToPath(new URL(`./${file}.js`, from))
  const bundle = process.env.TEST_BUNDLE
  return bundle ? join(bundle, `${file}.js`) : fileURLToPath(new URL(`./${file}.dev.mjs`, from))
}

/** Cores besides that of the main thread, within the limits. */
export const spareCores = (min: number, max: number) => Math.min(max, Math.max(min, availableParallelism() - 1))

// Time limits ---------------------------------------------------------------------------------------------------------

const CHECK_MS = 10
type Watched = TimedWork & {
  progress: Int32Array
  at: number
  limitMs: (at: number) => number
  onOverrun: () => void
}
const watched = new Set<Watched>()
let timer: NodeJS.Timeout | undefined
let checkedAt = 0

/**
 * Calls `onOverrun` once when the thread stays at one item for longer than its limit: of CPU time if the thread has noted itself, otherwise
 * of time that passes. Returns a function that stops watching.
 */
export function watchProgress(progress: Int32Array, limitMs: Watched['limitMs'], onOverrun: () => void) {
  const one: Watched = { progress, at: Atomics.load(progress, 0), spentMs: 0, sample: undefined, limitMs, onOverrun }
  if (!watched.size) {
    checkedAt = performance.now()
    timer = setInterval(check, CHECK_MS)
  }
  watched.add(one)
  return () => forget(one)
}

function forget(one: Watched) {
  watched.delete(one)
  if (!watched.size) clearInterval(timer)
}

function check() {
  const now = performance.now()
  // A late check counts as one interval: on a suspended or overloaded machine this thread is starved like the watched one.
  const passedMs = Math.min(now - checkedAt, CHECK_MS)
  checkedAt = now
  for (const one of watched) {
    const at = Atomics.load(one.progress, 0)
    if (at !== one.at) Object.assign(one, { at, spentMs: 0, sample: undefined })
    else one.spentMs += passedMs
    if (!isOverrun(one, one.limitMs(at), () => cpuMsOf(one.progress))) continue
    forget(one)
    one.onOverrun()
  }
}
