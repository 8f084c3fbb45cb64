import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../lib/process/log.ts'
import { SECOND } from '../../lib/text/units.ts'
import { isDatabaseUnavailable } from '../errors/unavailable.ts'

const RETRY_MS = 500
/** Reasons of lines that have no error. */
const LOST = [
  'connect E',
  'read ECONNRESET',
  'write EPIPE',
  'getaddrinfo E',
  'the connection was closed',
  'terminating connection ',
  'the database system is ',
]

/**
 * Reports that the database is away in one line, and that it answers again in another. Each loop and each request of a node fails meanwhile: their
 * lines are left out.
 */
export function createOutages() {
  /** Since when the database may be away. */
  let since: number | undefined
  /** The line that reports it is not to be left out. */
  let isReporting = false
  let watched: { log: Log; ask: () => Promise<unknown> } | undefined

  async function follow(reason: string) {
    const { log, ask } = watched!
    since = performance.now()
    let isReported = false
    for (;;) {
      try {
        await ask()
        break
      } catch (err) {
        isReporting = true
        if (!isReported) log.warn({ reason: (err as Error).message || reason }, 'the database is away')
        isReporting = false
        isReported = true
      }
      if (!watched) return
      await sleep(RETRY_MS, undefined, { ref: false })
    }
    const seconds = Math.round((performance.now() - since) / SECOND)
    since = undefined
    if (isReported) log.info({ seconds }, 'the database answers again')
    else log.warn({ reason }, 'lost a database connection')
  }

  return {
    /** From now on. `ask` fails while the database is away. Before, the start of the node reports that it waits. */
    watch(log: Log, ask: () => Promise<unknown>) {
      watched = { log, ask }
    },
    stop() {
      watched = undefined
    },
    /** A connection was lost, or could not be made. */
    suspect(reason: string) {
      if (watched && since === undefined) follow(reason).catch(() => {})
    },
    /** For `createLog`: a line that only says again that the database is away. */
    isKnown(fields: unknown) {
      if (since === undefined || isReporting) return false
      const { err, reason } = (fields ?? {}) as { err?: Error; reason?: string }
      if (err) return isDatabaseUnavailable(err) || isDatabaseUnavailable(err.cause ?? {})
      return reason !== undefined && (LOST.some((start) => reason.startsWith(start)) || isDatabaseUnavailable({ message: reason }))
    },
  }
}

export type Outages = ReturnType<typeof createOutages>
