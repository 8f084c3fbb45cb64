import { createCache } from '../../lib/collections/cache.ts'
import { MINUTE } from '../../lib/text/units.ts'

/** Timeouts of one content after which its other emails are not tried. */
const MAX_TIMEOUTS = 3
/** Built emails that clear the timeouts of a content: the machine was slow, and a campaign of a million must not fail for that. */
const CLEARED_AFTER = 100
const REMEMBERED_MS = 10 * MINUTE
const MAX_REMEMBERED = 1_000

type Entry = { count: number; reason: string; built: number; until: number }

/**
 * Remembers contents whose rendering or building timed out. Each timeout costs a thread; a campaign in which every email times out would cost
 * one per recipient.
 */
export function createTimeouts(now: () => number = () => performance.now()) {
  const entries = createCache<string, Entry>({ maxEntries: MAX_REMEMBERED })

  function entryOf(contentId: string) {
    const entry = entries.get(contentId)
    if (!entry || entry.until > now()) return entry
    entries.delete(contentId)
    return undefined
  }

  function note(contentId: string, reason: string) {
    const count = (entryOf(contentId)?.count ?? 0) + 1
    entries.set(contentId, { count, reason, built: 0, until: now() + REMEMBERED_MS })
  }

  return {
    /** Consulted before an email of the content is rendered or built, and informed afterwards. */
    guardOf: (contentId: string) => ({
      /** Why the next email of the content is not tried; undefined when it is. */
      refusal() {
        const entry = entries.size ? entryOf(contentId) : undefined
        return entry && entry.count >= MAX_TIMEOUTS ? `${entry.reason} Not tried: ${MAX_TIMEOUTS} emails with this content did.` : undefined
      },
      timedOut: (reason: string) => note(contentId, reason),
      succeeded() {
        const entry = entries.size ? entryOf(contentId) : undefined
        if (entry && ++entry.built >= CLEARED_AFTER) entries.delete(contentId)
      },
    }),
  }
}

export type TimeoutGuard = ReturnType<ReturnType<typeof createTimeouts>['guardOf']>
