import { MINUTE, SECOND } from '../../../lib/text/units.ts'
import { BULK_SHARE } from './capacity.ts'

/** Connections to the provider that bulk may use at once: with those for transactional emails 49, as relays often allow 50 to a client. */
export const CONNECTIONS = 34
/** Waits before the slots grow again after a refusal: the first one, and the longest when every growth ends in a refusal. */
const FIRST_WAIT_MS = 5 * SECOND
const LONGEST_WAIT_MS = 5 * MINUTE

/** Emails on the wire at once: of all priorities, and bulk. */
export type Slots = { all: number; bulk: number }

/**
 * Slots on the wire: as many for bulk as `connections`, and more that only transactional emails use. Fewer for a while after the provider refused
 * a further connection. They grow again by 1, 2, 4 …; if the first step already ends in a refusal, the next one waits twice as long.
 */
export function createSlots(connections = CONNECTIONS, now = () => performance.now()) {
  const most = Math.ceil(connections / BULK_SHARE)
  let all = most
  let step = 1
  let waitMs = FIRST_WAIT_MS
  let changedAt = 0

  function grow() {
    if (all === most || now() - changedAt < waitMs) return
    all = Math.min(most, all + step)
    step *= 2
    changedAt = now()
    if (all === most) waitMs = FIRST_WAIT_MS
  }

  return {
    /** The number when no connection is refused. */
    most,
    count(): Slots {
      grow()
      return { all, bulk: all === most ? connections : Math.max(1, Math.floor(all * BULK_SHARE)) }
    },
    /** The provider refused a connection beside `others` that are open. */
    refused(others: number) {
      if (others >= all) return
      if (step === 2) waitMs = Math.min(LONGEST_WAIT_MS, 2 * waitMs)
      all = Math.max(1, others)
      step = 1
      changedAt = now()
    },
  }
}
