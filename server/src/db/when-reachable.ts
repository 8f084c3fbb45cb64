import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError } from '../lib/errors/config-error.ts'
import type { Log } from '../lib/process/log.ts'
import { SECOND } from '../lib/text/units.ts'
import { isDatabaseUnavailable } from './errors/unavailable.ts'

const RETRY_MS = 500
const WARN_MS = 10 * SECOND

/** Runs a step of the start that needs the database. */
export type WhenReachable = <Result>(step: string, work: () => Promise<Result>) => Promise<Result>

type Options = { log: Pick<Log, 'info' | 'warn'>; limitMs: number; signal?: AbortSignal }

/**
 * Repeats a step of the start while the database is away, starting, or too slow to accept a connection: after a power cut the node may be
 * up before its database. A step that fails must leave nothing behind. Every other error, such as a wrong password, ends the start at once.
 */
export const whenReachable =
  ({ log, limitMs, signal }: Options): WhenReachable =>
  async (step, work) => {
    let failingSince: number | undefined
    let warnedAt: number | undefined
    for (;;) {
      try {
        const result = await work()
        if (warnedAt !== undefined) log.info({ step }, 'the database answers')
        return result
      } catch (err) {
        const cause = (err instanceof ConfigError && err.cause) || err
        if (signal?.aborted || !isDatabaseUnavailable(cause)) throw err
        const reason = (cause as Error).message || (cause as NodeJS.ErrnoException).code
        const now = performance.now()
        failingSince ??= now
        if (now - failingSince >= limitMs)
          throw new ConfigError(`The database could not be used for ${limitMs / SECOND} s (${step}): ${reason}`)
        if (warnedAt === undefined || now - warnedAt >= WARN_MS) {
          warnedAt = now
          log.warn({ step, reason }, 'waiting for the database')
        }
        await sleep(RETRY_MS, undefined, signal ? { signal } : {})
      }
    }
  }

/** For callers that start with a database known to run. */
export const withoutWaiting: WhenReachable = (_step, work) => work()
