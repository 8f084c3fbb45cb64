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
  least: number
  most: number
  /** Beyond this a thread ends, and its work with it. */
  heapMb?: number
  /** What it may leave behind before it tidies up. */
  youngMb?: number
  /** Pieces of work that a thread has at once, so that it need not wait for the next. Should it end, all of them have failed. */
  inHand?: number
  /** What the thread knows from the start: it sees neither the environment nor what was passed to this process. */
  knows?: object
}

/** Threads for what would keep everyone else waiting. Idle ones do not keep the process alive. */
export function createThreads({ file, from, least, most, heapMb, youngMb = 32, inHand = 1, knows }: Options) {
  const threads = new Piscina({
    // The bundle has it as it is; from the sources it starts by way of what reads TypeScript.
    filename: fileURLToPath(new URL(`./${file}${from.endsWith('.ts') ? '.dev.mjs' : '.js'}`, from)),
    execArgv: [],
    env: {},
    minThreads: least,
    maxThreads: most,
    idleTimeout: 30_000,
    maxQueue: MAX_WAITING,
    concurrentTasksPerWorker: inHand,
    workerData: knows,
    resourceLimits: { maxYoungGenerationSizeMb: youngMb, ...(heapMb ? { maxOldGenerationSizeMb: heapMb } : {}) },
  })
  // Of a thread that ends with nothing to do nobody needs to know: the next one is started when it is needed.
  threads.on('error', () => {})
  return threads
}

/** Of all cores but the one that the main thread has. */
export const spareCores = (least: number, most: number) => Math.min(most, Math.max(least, availableParallelism() - 1))
