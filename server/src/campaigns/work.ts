import { sql } from 'kysely'
import { many, type Pool, type Tx, transact } from '../db/index.ts'
import { AppError } from '../lib/errors.ts'
import { every, type Recurring } from '../lib/every.ts'
import type { Log } from '../lib/log.ts'
import { runEach } from '../lib/run-each.ts'
import { SYSTEM } from './audit.ts'
import type { CampaignKey } from './campaign.ts'
import { dropOldMinutes, foldTallies, readRecentMinutes } from './counters.ts'
import { eraseDeletedCampaigns } from './erase.ts'
import { finishCampaigns } from './finish.ts'
import { freezeNextPage } from './freeze.ts'
import { pauseCampaign } from './pause.ts'
import { continueResends } from './resend.ts'
import { startDueCampaigns } from './schedule.ts'
import { isSpike } from './spike.ts'

/**
 * `startMs`: a schedule is due within a second, and people wait for a campaign to begin. `countMs`: counters are at most two seconds
 * behind.
 */
export type CampaignIntervals = { startMs: number; countMs: number }
const INTERVALS: CampaignIntervals = { startMs: 250, countMs: 1_000 }
/** Campaigns whose recipients are written in turns. */
const MAX_FREEZING = 50
/** Time of one run of turns: schedules wait for it. */
const FREEZE_MS = 400

type Deps = { db: Pool; log: Log; isHeld: () => boolean; intervals?: CampaignIntervals | undefined }

/** What workers do for campaigns. Every worker does all of it; locks of rows decide which one does a piece. */
export function startCampaignWork({ db, log, isHeld, intervals = INTERVALS }: Deps): Recurring {
  const whileHeld = (work: () => Promise<unknown>) => async () => {
    if (isHeld()) await work()
  }
  const loops = [
    every(
      intervals.startMs,
      'start campaigns',
      whileHeld(() => runEach({ schedules: () => startDueCampaigns(db, log), recipients: () => freezeCampaigns(db, log) }, log)),
      log,
    ),
    every(
      intervals.countMs,
      'count campaigns',
      whileHeld(() => runEach(countingSteps(db, log), log)),
      log,
    ),
  ]
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()))
    },
  }
}

/** In this order: a campaign ends with the counts of this run. A step that fails does not keep the others from running. */
const countingSteps = (db: Pool, log: Log) => ({
  counters: () => foldTallies(db),
  spikes: () => pauseSpikes(db),
  resends: () => continueResends(db),
  ends: () => finishCampaigns(db, log),
  deletions: () => eraseDeletedCampaigns(db),
  minutes: () => transact(db, (tx) => dropOldMinutes(tx)),
})

/** Writes a page of each campaign in turn, so that a small one does not wait for a large one. */
async function freezeCampaigns(db: Pool, log: Log) {
  const deadline = performance.now() + FREEZE_MS
  for (let waiting = await listUnfrozen(db); waiting.length && performance.now() < deadline; ) {
    const unfinished: CampaignKey[] = []
    for (const key of waiting) if (await freezeOne(db, key, log)) unfinished.push(key)
    waiting = unfinished
  }
}

/** A campaign that fails does not keep the others from being written. */
const freezeOne = (db: Pool, key: CampaignKey, log: Log) =>
  freezeNextPage(db, key, log).catch((err) => {
    log.error({ err, ...key }, 'recipients of a campaign cannot be written; retrying')
    return false
  })

const listUnfrozen = (db: Pool) =>
  many(
    db,
    sql<CampaignKey>`
      select project_id as "projectId", id from campaigns
      where (status = 'SENDING' or status = 'CANCELLED' and settled_at is null or deleted_at is not null)
        and status = 'SENDING' and frozen_at is null and paused_reason is distinct from 'billing_limit'
      order by started_at limit ${MAX_FREEZING}
    `,
  )

/** Campaigns looked at in one run. */
const MAX_JUDGED = 200

/** Pauses campaigns whose emails bounce or cause complaints beyond the limits. */
export async function pauseSpikes(db: Pool) {
  const judged = await readRecentMinutes(db, MAX_JUDGED)
  for (const { projectId, id } of judged.filter(isSpike)) await transact(db, (tx) => pauseSpike(tx, { projectId, id }))
}

/** It may have ended meanwhile. */
const pauseSpike = (tx: Tx, key: CampaignKey) =>
  pauseCampaign(tx, key, { reason: 'spike', actor: SYSTEM }).catch((err) => {
    if (!(err instanceof AppError)) throw err
  })
