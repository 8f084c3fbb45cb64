import { isPermanent } from '../db/errors/sql-state.ts'
import { type Pool, transact } from '../db/index.ts'
import type { OpenedEmail } from '../delivery/message/links/tracking-token.ts'
import { retryUntilWritten } from '../delivery/outbox/settle.ts'
import { createBatcher } from '../lib/concurrency/batch.ts'
import type { Log } from '../lib/process/log.ts'
import { createRareWarning } from '../lib/process/rare-warning.ts'
import type { Interaction } from './judge.ts'
import { type CollectedInteractions, recordOpensAndClicks } from './record.ts'
import { REPEAT_MS } from './rules.ts'

/** Time to wait for more opens and clicks of an email: a scanner that follows every link is recognised only by all of them together. */
const HOLD_MS = 3_000
const RETRY_MS = 500
/** Above these bounds opens and clicks are not counted. Images and redirects are served anyway. */
const MAX_EMAILS = 10_000
const MAX_PER_EMAIL = 50

type WaitingInteractions = CollectedInteractions & { cancelRelease: () => void; lastAt: Map<string, number> }

/** Calls `release` once the opens and clicks of an email have been held long enough. Returns how to cancel that. */
export type DelayRelease = (release: () => Promise<void>) => () => void

const releaseLater: DelayRelease = (release) => {
  const timer = setTimeout(() => void release(), HOLD_MS)
  return () => clearTimeout(timer)
}

/** Holds opens and clicks in memory and writes them later, retrying while the database is down. A killed process loses those it holds. */
export function createCollector({ db, log, delayRelease = releaseLater }: { db: Pool; log: Log; delayRelease?: DelayRelease | undefined }) {
  const held = new Map<string, WaitingInteractions>()
  let stopping = false
  const warn = createRareWarning(log)

  const batcher = createBatcher<CollectedInteractions, void>({
    name: 'opens-clicks',
    run: write,
    mayBeOneItem: isPermanent,
    weigh: ({ interactions }) => interactions.length,
    maxItems: 100,
    maxWeight: 1_000,
    maxWaitMs: 20,
    lanes: 1,
    maxPending: MAX_EMAILS,
    maxPendingWeight: 100_000,
  })

  async function write(collected: CollectedInteractions[]) {
    const record = () => transact(db, (tx) => recordOpensAndClicks(tx, collected, performance.now()))
    await retryUntilWritten(record, () => stopping, RETRY_MS)
    return collected.map(() => ({ value: undefined }))
  }

  async function release(emailId: string) {
    const { cancelRelease, projectId, interactions } = held.get(emailId)!
    cancelRelease()
    held.delete(emailId)
    try {
      await batcher.submit({ projectId, emailId, interactions })
    } catch (err) {
      warn({ err, emailId, projectId }, 'could not record opens and clicks')
    }
  }

  function hold({ projectId, emailId }: OpenedEmail) {
    const cancelRelease = delayRelease(() => release(emailId))
    const group: WaitingInteractions = { projectId, emailId, interactions: [], cancelRelease, lastAt: new Map() }
    held.set(emailId, group)
    return group
  }

  return {
    add(email: OpenedEmail, interaction: Omit<Interaction, 'at'>) {
      const at = performance.now()
      const known = held.get(email.emailId)
      if (!known && held.size >= MAX_EMAILS) return warn({}, 'too many opens and clicks at once; some are not counted')
      const { interactions, lastAt } = known ?? hold(email)
      const { kind, link, client, classification } = interaction
      const key = [kind, link, client, classification.by].join()
      if (interactions.length >= MAX_PER_EMAIL || at - (lastAt.get(key) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS[kind]) return
      lastAt.set(key, at)
      interactions.push({ ...interaction, at })
    },
    /** Writes everything that is held. */
    async drain() {
      stopping = true
      await Promise.all([...held.keys()].map(release))
      await batcher.drain()
    },
  }
}
