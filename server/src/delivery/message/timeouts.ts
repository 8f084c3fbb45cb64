import { createCache } from '../../lib/cache.ts'
import { MINUTE } from '../../lib/units.ts'

/** Time-outs of one content after which its other emails are not tried. */
const MAX_TIMEOUTS = 3
/** Emails of a content that were made since: its time-outs were the machine's, and a campaign of a million must not fail for them. */
const FORGIVEN_AFTER = 100
const REMEMBERED_MS = 10 * MINUTE
const MAX_REMEMBERED = 1_000

type Entry = { count: number; reason: string; made: number; until: number }

/**
 * Remembers contents whose rendering or building timed out. Each time-out costs a thread; a campaign whose every email times out would
 * cost one per recipient.
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
    entries.set(contentId, { count, reason, made: 0, until: now() + REMEMBERED_MS })
  }

  return {
    /** What one content's emails ask before they are rendered or built, and report afterwards. */
    guardOf: (contentId: string) => ({
      /** Why the next email of the content is not tried. */
      refusal() {
        const entry = entries.size ? entryOf(contentId) : undefined
        return entry && entry.count >= MAX_TIMEOUTS ? `${entry.reason} Not tried: ${MAX_TIMEOUTS} emails with this content did.` : undefined
      },
      timedOut: (reason: string) => note(contentId, reason),
      succeeded() {
        const entry = entries.size ? entryOf(contentId) : undefined
        if (entry && ++entry.made >= FORGIVEN_AFTER) entries.delete(contentId)
      },
    }),
  }
}

export type TimeoutGuard = ReturnType<ReturnType<typeof createTimeouts>['guardOf']>
