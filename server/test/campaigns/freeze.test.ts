import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { findUnfrozen, freezeNextPage } from '../../src/campaigns/sending/freeze.ts'
import { startDueCampaign } from '../../src/campaigns/sending/schedule.ts'
import { many, one, transact } from '../../src/db/index.ts'
import { createLog, type Log } from '../../src/lib/process/log.ts'
import { inScanTurn } from '../../src/projects/scans.ts'
import { outcome } from '../support/answers.ts'
import { useApp } from '../support/app.ts'
import { whileSleeping } from '../support/faults/sleeping-writes.ts'
import { type CampaignProject, newCampaignProject } from './campaign-project.ts'

// Without a worker: the tests write the pages of recipients themselves.
const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' }, withWorker: false })

/** Contacts of a page after three that took too long, as in freeze.ts. */
const SMALL_PAGE = 78
/** Failed attempts in a row that pause a campaign. */
const MAX_ATTEMPTS = 10
const silent = createLog('silent')

beforeAll(async () => {
  await sql`
    create function page_too_slow() returns trigger language plpgsql as
    ${sql.lit(`begin raise exception 'too slow' using errcode = '57014'; end`)}
  `.execute(sterna.db)
})

/** While `work` runs, every page of recipients ends like one that takes too long. */
async function whileSlow(work: () => Promise<void>) {
  await sql`create trigger page_too_slow before insert on emails for each statement execute function page_too_slow()`.execute(sterna.db)
  try {
    await work()
  } finally {
    await sql`drop trigger page_too_slow on emails`.execute(sterna.db)
  }
}

describe('the pages of recipients', () => {
  let project: CampaignProject
  let key: { projectId: string; id: string }
  beforeEach(async () => {
    project = await newCampaignProject(sterna)
  })

  async function start(contacts: number) {
    await sql`
      insert into contacts (project_id, id, email, subscribed)
      select ${project.id}, gen_random_uuid(), n || '@example.com', true from generate_series(1, ${contacts}::int) as n
    `.execute(sterna.db)
    const { id } = await project.create()
    expect(outcome(await project.act(id, 'send'))).toEqual([200])
    key = { projectId: project.id, id }
  }

  /** Sizes of the pages that took too long. */
  const sizes: number[] = []
  const noting = { ...silent, warn: vi.fn(({ size }: { size: number }) => void sizes.push(size)) } as unknown as Log
  const next = () => freezeNextPage(sterna.db, key, noting)

  test('stay small after one took too long, also when the row is locked in between', async () => {
    await start(1)
    sizes.length = 0
    await whileSlow(async () => {
      expect([await next(), await next()]).toEqual(['none', 'none'])
      await transact(sterna.db, async (tx) => {
        await sql`select 1 from campaigns where project_id = ${key.projectId} and id = ${key.id} for update`.execute(tx)
        expect(await next()).toBe('none')
      })
      expect(await next()).toBe('none')
    })
    expect(sizes).toEqual([5_000, 1_250, 312])
  })

  type Page = { size: number; attempts: number; waitMs: number }
  /** The next page: its size, the failed attempts before it, and the wait for it. */
  const nextPage = () =>
    one(
      sterna.db,
      sql<Page>`
        select freeze_page as size, freeze_attempts as attempts, 1000 * extract(epoch from freeze_due_at - clock_timestamp())::float as "waitMs"
        from campaigns where project_id = ${key.projectId} and id = ${key.id}
      `,
    )

  const isDue = async () => (await findUnfrozen(sterna.db, [])).some(({ id }) => id === key.id)

  test('shrink to one contact and wait ever longer; then the campaign is paused until a person resumes it', async () => {
    await start(2)
    const shrunk: number[] = []
    await whileSlow(async () => {
      for (let attempt = 1; attempt < MAX_ATTEMPTS; attempt++) {
        const before = performance.now()
        await next()
        const { size, attempts, waitMs } = await nextPage()
        shrunk.push(size)
        expect(attempts).toBe(attempt)
        const expected = Math.min(120, 2 ** (attempt - 1)) * 1_000
        expect(waitMs).toBeLessThanOrEqual(expected)
        expect(waitMs).toBeGreaterThanOrEqual(expected - (performance.now() - before))
      }
      expect((await project.get(key.id)).pausedReason).toBe(null)
      await next()
    })
    expect(shrunk).toEqual([1_250, 312, 78, 19, 4, 1, 1, 1, 1])
    expect(await project.get(key.id)).toMatchObject({ status: 'SENDING', pausedReason: 'audience_failed', totalRecipients: 0 })
    expect(await project.audit(key.id)).toContainEqual(['paused', 'system'])
    expect(await isDue()).toBe(false)
    expect(await next()).toBe('none')
    expect((await project.act(key.id, 'resume')).body).toMatchObject({ pausedReason: null })
    expect(await isDue()).toBe(true)
    expect(await nextPage()).toMatchObject({ size: 1, attempts: 0 })
    expect(await next()).toBe('more')
    while ((await next()) === 'more');
    expect(await project.recipients(key.id)).toEqual(['1', '2'])
  })

  test('of a condition begin small and wait for other scans of the owner; those of all contacts do neither', async () => {
    await start(1)
    expect(await nextPage()).toMatchObject({ size: 5_000 })
    const toAll = key
    const group = { filters: [{ field: 'subscribed', operator: 'equals', value: true }] }
    const { id } = await project.create({ audienceType: 'FILTERED', audienceCondition: { logic: 'AND', groups: [group] } })
    expect(outcome(await project.act(id, 'send'))).toEqual([200])
    key = { projectId: project.id, id }
    expect(await nextPage()).toMatchObject({ size: 20 })

    let endScan = () => {}
    let scanning: Promise<void> | undefined
    await new Promise<void>((begin) => {
      const scan = () => {
        begin()
        return new Promise<void>((resolve) => {
          endScan = resolve
        })
      }
      scanning = inScanTurn(sterna.db, { projectId: project.id }, scan, () => {})
    })
    const ended: string[] = []
    const filtered = next().then((outcome) => ended.push(outcome))
    expect(await freezeNextPage(sterna.db, toAll, noting)).toBe('last')
    expect(ended).toEqual([])
    endScan()
    await Promise.all([scanning, filtered])
    expect(ended).toEqual(['last'])
  })

  test('leave out a contact that has an email of the campaign or is excluded already', async () => {
    await start(4)
    await sql`update contacts set subscribed = email not like '4@%' where project_id = ${project.id}`.execute(sterna.db)
    const freeze = async () => {
      while ((await next()) === 'more');
      const { recipients, excluded, total } = await one(
        sterna.db,
        sql<{ recipients: string[]; excluded: string[]; total: number }>`
          select total_recipients as total,
            array(select to_address from emails where campaign_id = ${key.id} order by 1) as recipients,
            array(select address from campaign_excluded where campaign_id = ${key.id} order by 1) as excluded
          from campaigns where id = ${key.id}
        `,
      )
      return [total, recipients, excluded]
    }
    const all = [['1@example.com', '2@example.com', '3@example.com'], ['4@example.com']]
    expect(await freeze()).toEqual([3, ...all])
    // As if the same page were written a second time.
    await sql`update campaigns set frozen_at = null, freeze_cursor = null, total_recipients = 0 where id = ${key.id}`.execute(sterna.db)
    await sql`delete from emails where campaign_id = ${key.id} and to_address = '2@example.com'`.execute(sterna.db)
    expect(await freeze()).toEqual([1, ...all])
  })

  test.each([2 * SMALL_PAGE, 2 * SMALL_PAGE + 50])('have each of %i contacts once, as recipient or excluded', async (contacts) => {
    await start(contacts)
    const byPosition = await many(sterna.db, sql<{ id: string }>`select id from contacts where project_id = ${project.id} order by id`)
    // The last of the first page, and the first of the second.
    const excluded = [byPosition[SMALL_PAGE - 1]!.id, byPosition[SMALL_PAGE]!.id]
    await sql`update contacts set subscribed = false where id = any(${excluded}::uuid[])`.execute(sterna.db)
    await whileSlow(async () => {
      for (const _ of [1, 2, 3]) await next()
    })
    expect(await next()).toBe('more')
    while ((await next()) === 'more');
    expect(await next()).toBe('none')
    const ledger = await one(
      sterna.db,
      sql`
        select c.total_recipients as total, c.excluded_unsubscribed as excluded, c.frozen_at is not null as frozen,
          (select count(*)::int from emails e where e.campaign_id = c.id) as emails,
          (select count(*)::int from contacts p where p.project_id = c.project_id
            and not exists (select from emails e where e.campaign_id = c.id and e.contact_id = p.id)
            and not exists (select from campaign_excluded x where x.campaign_id = c.id and x.contact_id = p.id)) as missing
        from campaigns c where c.project_id = ${key.projectId} and c.id = ${key.id}
      `,
    )
    expect(ledger).toEqual({ total: contacts - 2, excluded: 2, frozen: true, emails: contacts - 2, missing: 0 })
  })
})

test('a schedule that one worker is starting is not started by another', async () => {
  const project = await newCampaignProject(sterna)
  await project.subscribe('ada')
  const { id } = await project.create()
  await project.act(id, 'send', { scheduledFor: '2040-01-01T00:00:00Z' })
  await sql`update campaigns set scheduled_for = now() where project_id = ${project.id}`.execute(sterna.db)
  const { starting } = await whileSleeping(sterna.db, { table: 'campaigns', when: sql`new.status = 'SENDING'` }, async () => ({
    started: { starting: startDueCampaign(sterna.db, { projectId: project.id, id }, silent) },
    meanwhile: () => startDueCampaign(sterna.db, { projectId: project.id, id }, silent),
  }))
  await starting
  expect(await project.audit(id)).toEqual([
    ['scheduled', 'key'],
    ['started', 'system'],
  ])
  expect(await many(sterna.db, sql`select 1 from contents where project_id = ${project.id}`)).toHaveLength(1)
})
