import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { one, type Pool } from '../src/db/index.ts'
import type { CampaignClient } from './campaign-client.ts'
import type { Random } from './random.ts'
import { until } from './until.ts'

/** From the answer to a pause to the request to resume; for a cancelled campaign, for good. */
export type Halt = { campaignId: string; from: number; to: number }
type Options = { client: CampaignClient; db: Pool; random: Random; count: number; start: () => Promise<string>; isOver: () => boolean }

const BEGINS_MS = 30_000
/** Time that a campaign is sent between two pauses, and time of a pause. */
const RUNS_MS = 1_200
const PAUSED_MS = 1_500
const MAX_PAUSES = 3
const CANCELLED_SHARE = 0.6

/** Starts campaigns, one after the other, and pauses, resumes and cancels them at random moments. */
export async function haltCampaigns({ count, start, isOver, ...rest }: Options): Promise<Halt[]> {
  const halts: Halt[] = []
  for (let number = 0; number < count && !isOver(); number++) halts.push(...(await haltOne(await start(), rest)))
  return halts
}

async function haltOne(campaignId: string, { client, db, random }: Pick<Options, 'client' | 'db' | 'random'>): Promise<Halt[]> {
  const halts: Halt[] = []
  const act = (action: string) => client.request('POST', `/campaigns/${campaignId}/${action}`)
  for (let pauses = random.below(MAX_PAUSES + 1); pauses > 0; pauses--) {
    await sleep(random.between(0, RUNS_MS))
    const paused = await act('pause')
    if (paused.status !== 200) return halts // it has ended
    await sleep(random.between(0, PAUSED_MS))
    const to = Date.now()
    const resumed = await act('resume')
    if (resumed.status !== 200) throw new Error(`a paused campaign cannot be resumed: ${JSON.stringify(resumed.body)}`)
    halts.push({ campaignId, from: paused.answeredAt, to })
  }
  await until('a resumed campaign sends', BEGINS_MS, () => hasSent(db, campaignId))
  await sleep(random.between(0, RUNS_MS))
  if (!random.chance(CANCELLED_SHARE)) return halts
  const cancelled = await act('cancel')
  // The answer to an earlier attempt may have been lost; then the next one says what it is.
  const isCancelled = cancelled.status === 200 || cancelled.body?.error?.details?.status === 'CANCELLED'
  return isCancelled ? [...halts, { campaignId, from: cancelled.answeredAt, to: Number.POSITIVE_INFINITY }] : halts
}

/** False also while the database is away. */
const hasSent = (db: Pool, campaignId: string) =>
  one(db, sql<{ sent: boolean }>`select exists (select from emails where campaign_id = ${campaignId} and state = 'sent') as sent`).then(
    ({ sent }) => sent,
    () => false,
  )
