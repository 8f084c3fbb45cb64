import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import type { Letter } from './letter.ts'

const TIME_MS = 20_000
const HEAP_MB = 256
const MAX_WAITING = 1_000

/** Nobody could read this message, now or later. */
export class UnreadableError extends Error {}

/**
 * Messages of strangers are read in a thread: the largest take a second, in which nothing else could be sent or answered, and what
 * they hold may be made to take more.
 */
export function createParser() {
  const pool = new Piscina({
    filename: fileURLToPath(new URL(THREAD, import.meta.url)),
    name: 'parse',
    execArgv: [],
    minThreads: 0,
    maxThreads: 2,
    idleTimeout: 30_000,
    maxQueue: MAX_WAITING,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: 32 },
    env: {},
  })
  // Of a thread that ends with nothing to do nobody needs to know: the next one is started when it is needed.
  pool.on('error', () => {})

  return {
    async parse(message: Buffer): Promise<Letter> {
      // The time is also that of waiting for others, or for the processor: what takes too long may come again.
      const letter: Letter | undefined = await pool.run(message, { signal: AbortSignal.timeout(TIME_MS) }).catch((err) => {
        if (err.code !== 'ERR_WORKER_OUT_OF_MEMORY') throw err
      })
      return letter ?? Promise.reject(new UnreadableError())
    },
    close: () => pool.destroy(),
  }
}

/** The bundle has the thread beside it; from the sources it starts by way of what reads TypeScript. */
const THREAD = import.meta.url.endsWith('.ts') ? './parse-thread.dev.mjs' : './parse-thread.js'
