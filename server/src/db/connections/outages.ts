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

type Outage = { log: Log; since: number; isReported: boolean }

/**
 * Reports that the database is away in one line, and that it answers again in another. Each loop and each request of a node fails meanwhile: their
 * lines are left out.
 */
export function createOutages() {
  let outage: Outage | undefined
  let watched: { log: Log; ask: () => Promise<unknown> } | undefined

  async function follow(reason: string) {
    const { log, ask } = watched!
    outage = { log, since: performance.now(), isReported: false }
    for (;;) {
      try {
        await ask()
        break
      } catch (err) {
        if (!outage.isReported) log.warn({ reason: (err as Error).message || reason }, 'the database is away')
        outage.isReported = true
      }
      if (!watched) return
      await sleep(RETRY_MS, undefined, { ref: false })
    }
    const { isReported, since } = outage
    outage = undefined
    if (isReported) log.info({ seconds: Math.round((performance.now() - since) / SECOND) }, 'the database answers again')
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
      if (watched && !outage) follow(reason).catch(() => {})
    },
    /** For `createLog`: a line that only says again that the database is away. */
    isKnown(fields: unknown) {
      if (!outage) return false
      const { err, reason } = (fields ?? {}) as { err?: Error; reason?: string }
      if (err) return isDatabaseUnavailable(err) || isDatabaseUnavailable(err.cause ?? {})
      return reason !== undefined && (LOST.some((start) => reason.startsWith(start)) || isDatabaseUnavailable({ message: reason }))
    },
  }
}

export type Outages = ReturnType<typeof createOutages>
