import { type Pool, transact } from '../../../db/index.ts'
import { STERNA } from '../../../lib/process/command.ts'
import type { Log } from '../../../lib/process/log.ts'
import { holdForOtherCluster } from '../../../nodes/check-identity.ts'
import { type FailoverMode, holdAfterRepeat, judgeServer, type ServerIdentity, type ServerVerdict } from '../../../nodes/failover.ts'
import { holdPartially, PARTLY } from '../../../nodes/sending-hold.ts'
import { lockKnownServer, readServerIdentity, recordProof, recordServer } from '../../../nodes/server-identity.ts'
import { repeatHandOvers } from '../../outbox/repeat.ts'
import type { RateSlowdown } from '../../outbox/streams/slowdowns.ts'
import { beat, extendLeases, readCounters, recordCompared } from '../../outbox/workers/lease.ts'
import { createBeats } from './beats.ts'
import type { Journal, JournalEntry } from './journal.ts'

type Deps = {
  db: Pool
  log: Log
  worker: number
  journal: Journal
  mode: FailoverMode
  leaseMs: number
  slowedBy: () => RateSlowdown | null
}

type Met = { verdict: ServerVerdict; known: ServerIdentity | null; found: ServerIdentity; stored: number | undefined }
type Repeated = { repeated: number; missing: number; unrecorded: number; isComplete: boolean }

/** Emails per transaction. */
const CHUNK = 500
/** Values of the counter before the last one, for a worker without a row: others have found theirs, which may be that much older. */
const MARGIN = 15
const LOSSY = 'a standby took over that lacks commits'

/**
 * Keeps the lease of this worker, and compares its counter when it meets another database server: after a failover, or at its start. The claim
 * (`leaseOf`) waits until every worker has done so. The decisions are in `db/nodes/failover.ts`.
 */
export function createFence({ db, log, worker, journal, mode, leaseMs, slowedBy }: Deps) {
  const beats = createBeats()
  let server: ServerIdentity | null = null

  /** Returns whether other workers are dead, or have not compared their counters. */
  async function renew(): Promise<boolean> {
    if (server === null) await meet()
    const [counter, sentAt] = [beats.next(), performance.now()]
    const answer = await transact(db, (tx) => beat(tx, { worker, leaseMs, slowedBy: slowedBy(), counter, server: server! }))
    if (answer.found !== server) {
      await meet()
      return true
    }
    if (answer.counter !== null) beats.acknowledge({ counter, sentAt })
    journal.dropOld()
    return answer.hasSilent
  }

  /** May be repeated if it fails midway: what was written is found written. */
  async function meet() {
    const met = await transact(db, async (tx): Promise<Met> => {
      const installation = await lockKnownServer(tx)
      const found = await readServerIdentity(tx)
      const { stored, silent } = await readCounters(tx, worker)
      const known = server ?? installation?.identity ?? null
      const isProven = installation?.identity === found && installation.isProven
      const hasLeftLately = installation?.hasLeftLately ?? true
      const verdict = judgeServer({ mode, known, found, acknowledged: beats.last(), stored, silent, isProven, hasLeftLately })
      if (installation && installation.identity !== found) {
        await recordServer(tx, found)
        await extendLeases(tx, leaseMs)
        if (verdict === 'other') await holdForOtherCluster(tx, log, { known: known!, found })
      }
      if (verdict === 'repeat') await recordProof(tx)
      // At once: while this worker repeats, others may claim.
      const untilResumed = mode === 'hold' || beats.last() === undefined
      if (verdict === 'lossy') await holdPartially(tx, { reason: LOSSY, untilResumed })
      return { verdict, known, found, stored }
    })
    const repeated = await repeatSince(met)
    const hold = holdAfterRepeat({ mode, verdict: met.verdict, ...repeated })
    await transact(db, async (tx) => {
      if (hold) await holdPartially(tx, { reason: LOSSY, ...hold })
      await recordCompared(tx, worker)
    })
    server = met.found
    if (met.verdict !== 'same' && met.verdict !== 'other') logMeeting(met, { ...repeated, hold })
  }

  async function repeatSince({ verdict, stored }: Met): Promise<Repeated> {
    if (verdict !== 'repeat' && verdict !== 'lossy') return { repeated: 0, missing: 0, unrecorded: 0, isComplete: true }
    const { emails, isComplete } = journal.since(beats.sentAt(stored ?? (beats.last() ?? 0) - MARGIN))
    const missing: JournalEntry[] = []
    for (let from = 0; from < emails.length; from += CHUNK) {
      const chunk = emails.slice(from, from + CHUNK)
      const known = await transact(db, (tx) => repeatHandOvers(tx, chunk))
      missing.push(...chunk.filter(({ id }) => !known.has(id)))
    }
    const unrecorded = missing.filter(({ isMade }) => isMade).length
    return {
      repeated: emails.length - missing.length,
      missing: missing.length,
      unrecorded,
      isComplete: isComplete && beats.last() !== undefined,
    }
  }

  function logMeeting({ known, found }: Met, { repeated, missing, hold }: Repeated & { hold: ReturnType<typeof holdAfterRepeat> }) {
    const fields = { from: known, to: found, repeated, missing }
    if (!hold) return log.warn(fields, 'another database server took over, with every commit that matters; sending goes on')
    const until = hold.untilResumed ? `until you run: ${STERNA} sending resume` : 'until all workers have repeated what they had settled'
    log.error(fields, `${LOSSY}: ${PARTLY} ${until}`)
  }

  return { renew }
}
