import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { one } from '../../src/db/index.ts'
import { outcome } from '../support/answers.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { times } from '../support/times.ts'
import { type CampaignProject, newCampaignProject, QUICKLY } from './campaign-project.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' }, intervals: QUICKLY })

/** Campaigns of one owner whose pages of recipients hang until they are given up. */
const HANGING = 50
let hanging: CampaignProject[]

beforeAll(async () => {
  const owner = await sterna.newPerson()
  hanging = [await newCampaignProject(sterna, owner), await newCampaignProject(sterna, owner)]
  await sql`
    create function never_written() returns trigger language plpgsql as ${sql.lit('begin perform pg_sleep(600); return new; end')}
  `.execute(sterna.db)
  await sql`
    create trigger never_written before insert on emails for each row
    when (new.project_id in (${sql.join(hanging.map(({ id }) => sql.lit(id)))})) execute function never_written()
  `.execute(sterna.db)
  await Promise.all(
    hanging.map(async (project) => {
      await project.subscribe('ada')
      await Promise.all(
        times(HANGING / hanging.length, async () => {
          const { id } = await project.create()
          expect(outcome(await project.act(id, 'send'))).toEqual([200])
        }),
      )
    }),
  )
})
afterAll(() => sql`drop trigger never_written on emails`.execute(sterna.db))

const pagesUnderWay = async () =>
  (
    await one(
      sterna.db,
      sql<{ pages: number }>`
        select count(*)::int as pages from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'
      `,
    )
  ).pages

const failedPages = async () =>
  (
    await one(
      sterna.db,
      sql<{ failed: number }>`
        select coalesce(sum(freeze_attempts), 0)::int as failed from campaigns where project_id = any(${hanging.map(({ id }) => id)}::uuid[])
      `,
    )
  ).failed

test('campaigns of one owner that cannot be frozen do not delay those of others, sent now or scheduled', async () => {
  const others = await newCampaignProject(sterna)
  await others.subscribe('bob')
  await eventually(async () => expect(await pagesUnderWay()).toBeGreaterThan(0))
  const before = await failedPages()
  const now = await others.create()
  const scheduled = await others.create()
  expect(outcome(await others.act(scheduled.id, 'send', { scheduledFor: '2040-01-01T00:00:00Z' }))).toEqual([200])
  await sql`update campaigns set scheduled_for = now() where project_id = ${others.id} and id = ${scheduled.id}`.execute(sterna.db)
  expect(outcome(await others.act(now.id, 'send'))).toEqual([200])
  const ends = [await others.reached(now.id, 'SENT'), await others.reached(scheduled.id, 'SENT')]
  expect(ends.map(({ sentCount }) => sentCount)).toEqual([1, 1])
  // Far from all of the others had their turn meanwhile, and none of them was written.
  expect((await failedPages()) - before).toBeLessThan(HANGING / 2)
  for (const { id } of hanging)
    expect(await one(sterna.db, sql`select sum(total_recipients)::int as total from campaigns where project_id = ${id}`)).toEqual({
      total: 0,
    })
})
