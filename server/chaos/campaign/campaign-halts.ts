import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { one, type Pool } from '../../src/db/index.ts'
import type { Random } from '../support/random.ts'
import { until } from '../support/until.ts'
import type { CampaignClient } from './campaign-client.ts'

/** From the answer to a pause to the request to resume; for a cancelled campaign, for good. */
export type Halt = { campaignId: string; from: number; to: number }
type Options = { client: CampaignClient; db: Pool; random: Random; count: number; start: () => Promise<string>; isOver: () => boolean }

const BEGINS_MS = 150_000
/** Time that a campaign is sent between two pauses, and time of a pause. */
const RUNS_MS = 1_200
const PAUSED_MS = 1_500
const MAX_PAUSES = 3
const CANCELLED_SHARE = 0.6

/** Starts campaigns, one after the other, and pauses, resumes and cancels them at random moments. Adds to `halts` until it fails. */
export async function haltCampaigns(halts: Halt[], { count, start, isOver, ...rest }: Options) {
  // The first one is paused: a short run may have no other.
  for (let number = 0; number < count && !isOver(); number++) {
    const pauses = number === 0 ? 1 + rest.random.below(MAX_PAUSES) : rest.random.below(MAX_PAUSES + 1)
    halts.push(...(await haltOne(await start(), pauses, rest)))
  }
}

async function haltOne(
  campaignId: string,
  pauses: number,
  { client, db, random }: Pick<Options, 'client' | 'db' | 'random'>,
): Promise<Halt[]> {
  const halts: Halt[] = []
  const act = (action: string) => client.request('POST', `/campaigns/${campaignId}/${action}`)
  for (let left = pauses; left > 0; left--) {
    await sleep(random.between(0, RUNS_MS))
    const paused = await act('pause')
    if (paused.status !== 200) return halts // it has ended
    await sleep(random.between(0, PAUSED_MS))
    const to = Date.now()
    const resumed = await act('resume')
    if (resumed.status !== 200) throw new Error(`a paused campaign cannot be resumed: ${JSON.stringify(resumed.body)}`)
    halts.push({ campaignId, from: paused.answeredAt, to })
  }
  await until('a resumed campaign sends', BEGINS_MS, async () => {
    const { sent, isPaused } = await progressOf(db, campaignId)
    // By a repetition of the pause whose first answer was lost, and which took effect after the campaign was resumed.
    if (isPaused) await act('resume')
    return sent
  })
  await sleep(random.between(0, RUNS_MS))
  if (!random.chance(CANCELLED_SHARE)) return halts
  const cancelled = await act('cancel')
  // The answer to an earlier attempt may have been lost; then the next one says what it is.
  const isCancelled = cancelled.status === 200 || cancelled.body?.error?.details?.status === 'CANCELLED'
  return isCancelled ? [...halts, { campaignId, from: cancelled.answeredAt, to: Number.POSITIVE_INFINITY }] : halts
}

/** Both are false while the database is away. */
const progressOf = (db: Pool, id: string) =>
  one(
    db,
    sql<{ sent: boolean; isPaused: boolean }>`
      select exists (select from emails e where e.project_id = c.project_id and e.campaign_id = c.id and e.state = 'sent') as sent,
        c.paused_reason is not distinct from 'person' as "isPaused"
      from campaigns c where c.id = ${id}
    `,
  ).catch(() => ({ sent: false, isPaused: false }))
