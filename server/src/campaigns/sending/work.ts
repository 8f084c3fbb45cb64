import { type Pool, transact } from '../../db/index.ts'
import { startProjectLoop } from '../../ledger/project-loop.ts'
import { every, type Recurring } from '../../lib/concurrency/every.ts'
import { runEach } from '../../lib/concurrency/run-each.ts'
import type { Log } from '../../lib/process/log.ts'
import { dropOldMinutes, readRecentMinutes } from '../ledger/counters.ts'
import { eraseDeletedCampaigns } from '../ledger/erase.ts'
import { finishCampaigns } from './finish.ts'
import { findUnfrozen, freezeNextPage } from './freeze.ts'
import { pauseBySystem } from './pause.ts'
import { continueResends } from './resend.ts'
import { findDueCampaigns, startDueCampaign } from './schedule.ts'
import { isSpike } from './spike.ts'

/**
 * `startMs`: a schedule is due within a second, and people wait for a campaign to begin. `countMs`: counters are at most two seconds
 * behind, and a campaign ends within two of its last email.
 */
export type CampaignIntervals = { startMs: number; countMs: number }
const INTERVALS: CampaignIntervals = { startMs: 250, countMs: 1_000 }
/** Campaigns whose recipients are written at a time, besides one of an owner that has none of them. */
const FREEZE_SLOTS = 2
/** Schedules that are started at a time, likewise: a start may have to count the audience. */
const START_SLOTS = 2

/** `mayStart`: false while sending is held; schedules wait. The audience of a campaign that has started is that of its start, and goes on being written. */
type Deps = { db: Pool; log: Log; isHeld: () => boolean; mayStart?: () => boolean; intervals?: CampaignIntervals | undefined }

/** Background work of campaigns. Every worker does all of it; row locks decide which one does a piece. */
export function startCampaignWork({ db, log, isHeld, mayStart = () => true, intervals = INTERVALS }: Deps): Recurring {
  const loop = { log, isHeld, pollMs: intervals.startMs }
  const countIfHeld = async () => {
    if (isHeld()) await runEach(countingSteps(db, log), log)
  }
  const loops = [
    startProjectLoop({
      ...loop,
      isHeld: () => isHeld() && mayStart(),
      name: 'start campaigns that are due',
      slots: START_SLOTS,
      find: (except) => findDueCampaigns(db, except),
      work: (campaign) => startDueCampaign(db, campaign, log).then(() => 'done'),
    }),
    startProjectLoop({
      ...loop,
      name: 'write recipients',
      slots: FREEZE_SLOTS,
      find: (except) => findUnfrozen(db, except),
      work: async (campaign) => LOOP_OUTCOMES[await freezeNextPage(db, campaign, log)],
    }),
    every(intervals.countMs, 'count campaigns', countIfHeld, log),
  ]
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()))
    },
  }
}

/** A page that failed is due again later, as its row says; in the meantime it is not found. */
const LOOP_OUTCOMES = { more: 'more', last: 'done', none: 'locked' } as const

/** A step that fails does not keep the others from running. */
const countingSteps = (db: Pool, log: Log) => ({
  spikes: () => pauseSpikes(db),
  resends: () => continueResends(db),
  ends: () => finishCampaigns(db, log),
  deletions: () => eraseDeletedCampaigns(db),
  minutes: () => transact(db, (tx) => dropOldMinutes(tx)),
})

/** Campaigns looked at in one run. */
const MAX_JUDGED = 200

/** Pauses campaigns whose emails bounce or cause complaints beyond the limits. */
export async function pauseSpikes(db: Pool) {
  const judged = await readRecentMinutes(db, MAX_JUDGED)
  for (const key of judged.filter(isSpike)) await pauseBySystem(db, key, 'spike')
}
