import { MINUTE } from '../../../lib/text/units.ts'
import type { ClaimedEmail } from '../../outbox/claim.ts'
import type { Settlement } from '../../outbox/outcomes/settlement.ts'
import type { HandedOver } from '../../outbox/repeat.ts'

/** `isMade`: of a campaign or workflow, which makes an email again if its row is lost. */
export type JournalEntry = HandedOver & { isMade: boolean }
type Kept = JournalEntry & {
  /** When the outcome was committed, by the monotonic clock. Infinity: it is not yet. */
  writtenAt: number
}

/** Two minutes of 400 emails a second. */
const MAX_ENTRIES = 50_000
/** Longer than a standby may lag without anybody noticing. */
const KEEP_MS = 10 * MINUTE

type Limits = { maxEntries?: number; keepMs?: number; now?: () => number }

/**
 * Emails that this worker has handed over lately, in memory: a standby that takes over the database may not know it. Bounded; emails that were not handed over
 * after all, or refused, are not in it, as they may be sent again.
 */
export function createJournal({ maxEntries = MAX_ENTRIES, keepMs = KEEP_MS, now = () => performance.now() }: Limits = {}) {
  /** By email, the one that was handed over last at the end. */
  const entries = new Map<string, Kept>()
  /** The journal has an entry for everything committed after this time. */
  let completeSince = Number.NEGATIVE_INFINITY

  function drop({ id, writtenAt }: Kept) {
    entries.delete(id)
    completeSince = Math.max(completeSince, Math.min(writtenAt, now()))
  }

  function dropOld() {
    const before = now() - keepMs
    for (const entry of entries.values()) {
      const isOver = entries.size > maxEntries || entry.writtenAt < before
      if (!isOver) return
      drop(entry)
    }
  }

  return {
    handedOver({ projectId, id, attempts, sourceType }: Pick<ClaimedEmail, 'projectId' | 'id' | 'attempts' | 'sourceType'>) {
      entries.delete(id)
      const isMade = sourceType === 'CAMPAIGN' || sourceType === 'WORKFLOW'
      entries.set(id, { projectId, id, attempts, isMade, isAccepted: false, providerId: null, writtenAt: Number.POSITIVE_INFINITY })
      dropOld()
    },
    /** The outcome is known, and will be written. */
    ended({ id, attempts, state, providerId = null }: Pick<Settlement, 'id' | 'attempts' | 'state' | 'providerId'>) {
      const entry = entries.get(id)
      if (entry?.attempts !== attempts) return
      if (state === 'sent') Object.assign(entry, { isAccepted: true, providerId })
      else if (state !== 'unknown') entries.delete(id)
    },
    /** The outcome is committed. */
    written({ id, attempts }: Pick<Settlement, 'id' | 'attempts'>) {
      const entry = entries.get(id)
      if (entry?.attempts === attempts) entry.writtenAt = now()
    },
    /** Entries that were not committed by that time, and whether these are all. */
    since(time: number): { emails: JournalEntry[]; isComplete: boolean } {
      const emails = [...entries.values()].filter(({ writtenAt }) => writtenAt >= time).map(({ writtenAt: _, ...entry }) => entry)
      return { emails, isComplete: completeSince < time || completeSince === Number.NEGATIVE_INFINITY }
    },
    dropOld,
    size: () => entries.size,
  }
}

export type Journal = ReturnType<typeof createJournal>
