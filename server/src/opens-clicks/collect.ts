import { setTimeout as sleep } from 'node:timers/promises'
import { type Pool, transact } from '../db/index.ts'
import { isPermanent } from '../db/sql-state.ts'
import type { OpenedEmail } from '../delivery/message/tracking-token.ts'
import { createBatcher } from '../lib/batch.ts'
import type { Log } from '../lib/log.ts'
import { createRareWarning } from '../lib/rare-warning.ts'
import type { Hit } from './judge.ts'
import { type Collected, recordHits } from './record.ts'
import { REPEAT_MS } from './rules.ts'

/** Hits wait so long for others of their mail: only together they show a machine that follows everything. */
const HOLD_MS = 3_000
/** Beyond these, hits are not counted; nobody's link waits for that. */
const MAX_MAILS = 10_000
const MAX_HITS_OF_A_MAIL = 50
const RETRY_MS = 500

type CollectedHit = Collected & { timer: NodeJS.Timeout; lastAt: Map<string, number> }

/** Takes hits at once and writes them down later. While the database is away they wait; what a kill loses is what was held. */
export function createCollector({ db, log }: { db: Pool; log: Log }) {
  const held = new Map<string, CollectedHit>()
  let stopping = false
  const warn = createRareWarning(log)

  const batcher = createBatcher<Collected, void>({
    run: write,
    mayBeOneItem: isPermanent,
    weigh: ({ hits }) => hits.length,
    maxItems: 100,
    maxWeight: 1_000,
    maxWaitMs: 20,
    lanes: 1,
    maxPending: MAX_MAILS,
    maxPendingWeight: 100_000,
  })

  async function write(collected: Collected[]) {
    for (;;) {
      try {
        await transact(db, (tx) => recordHits(tx, collected, performance.now()))
        return collected.map(() => ({ value: undefined }))
      } catch (err) {
        if (stopping || isPermanent(err)) throw err
        await sleep(RETRY_MS)
      }
    }
  }

  async function release(key: string) {
    const { timer, projectId, emailId, hits } = held.get(key)!
    clearTimeout(timer)
    held.delete(key)
    try {
      await batcher.submit({ projectId, emailId, hits })
    } catch (err) {
      warn({ err, emailId, projectId }, 'could not record hits')
    }
  }

  function hold({ projectId, emailId }: OpenedEmail) {
    const timer = setTimeout(() => void release(emailId), HOLD_MS)
    const group: CollectedHit = { projectId, emailId, hits: [], timer, lastAt: new Map() }
    held.set(emailId, group)
    return group
  }

  return {
    add(mail: OpenedEmail, hit: Omit<Hit, 'at'>) {
      const at = performance.now()
      const known = held.get(mail.emailId)
      if (!known && held.size >= MAX_MAILS) return warn({}, 'too many hits at once; some are not counted')
      const { hits, lastAt } = known ?? hold(mail)
      const key = [hit.kind, hit.link, hit.client, hit.opinion.by].join()
      if (hits.length >= MAX_HITS_OF_A_MAIL || at - (lastAt.get(key) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS[hit.kind]) return
      lastAt.set(key, at)
      hits.push({ ...hit, at })
    },
    /** Writes down what is held. */
    async drain() {
      stopping = true
      await Promise.all([...held.keys()].map(release))
      await batcher.drain()
    },
  }
}
