import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { collectedUnder, recountRollups } from '../../src/analytics/recount.ts'
import { trimDomains } from '../../src/analytics/trim-domains.ts'
import { countRows, many, one, transact } from '../../src/db/index.ts'
import { type EmailFact, emailMatchesSql } from '../../src/delivery/emails/filter.ts'
import { recordFeedbacks } from '../../src/delivery/feedback/record.ts'
import { countUnsubscription } from '../../src/delivery/feedback/unsubscription.ts'
import { failByEvidence, resolveUnknown, settleByEvidence } from '../../src/delivery/outbox/evidence.ts'
import { requeueFailed } from '../../src/delivery/outbox/requeue.ts'
import { recordOpensAndClicks } from '../../src/opens-clicks/record.ts'
import { stayWithinHour } from '../support/clock.ts'
import { whileSleeping } from '../support/faults/sleeping-writes.ts'
import { foldEmails } from '../support/fold-emails.ts'
import { type Campaign, useOutbox } from '../support/outbox.ts'

/** Set by a test to make the process "die" after the facts of a transaction were added, and before it commits. */
const crashes = vi.hoisted(() => ({ next: false }))
vi.mock('../../src/lib/crash-point.ts', () => ({
  crash(place: string) {
    if (place !== 'facts-added' || !crashes.next) return
    crashes.next = false
    throw new Error('killed')
  },
}))

const { sterna, newProject, newWorker, newCampaign, claimOf, connectOnce } = useOutbox()
let worker: Awaited<ReturnType<typeof newWorker>>
beforeAll(async () => {
  worker = await newWorker()
})
beforeEach(() => stayWithinHour(30))

const inTx = <T>(work: Parameters<typeof transact<T>>[1]) => transact(sterna.db, work)
/** The contacts of these tests are inserted without being counted. */
const NONE_WRONG = { wrong: { hours: 0, days: 0, domains: 0 } }

/** A generator with a seed, so that a failure can be repeated. */
function createRandom(seed: number) {
  let state = seed
  return (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

type Emails = { projectId: string; id: string }[]

/** Gives the emails of a campaign recipients in several domains. */
const spread = ({ campaignId }: Campaign) =>
  sql`update emails set to_address = left(id::text, 13) || '@d' || (get_byte(uuid_send(id), 15) % 4) || '.example' where campaign_id = ${campaignId}`.execute(
    sterna.db,
  )

const COLUMNS = ['sent_at', 'delivered_at', 'opened_at', 'clicked_at', 'bounced_at', 'complained_at', 'unsubscribed_at'] as const

/** What happened counts in the hour in which it did: moves new times into the past, to half past an hour, and leaves those alone. */
const backdate = (projectId: string, seed: number) => {
  const isNew = (column: string) => sql`${sql.ref(column)} <> date_trunc('hour', ${sql.ref(column)}) + interval '30 minutes'`
  const moved = (column: string) => sql`${sql.ref(column)} = case when ${isNew(column)}
    then date_trunc('hour', ${sql.ref(column)}) + interval '30 minutes' - make_interval(hours => abs(hashtext(id || ${column + seed}) % 60))
    else ${sql.ref(column)} end`
  return sql`
    update emails set ${sql.join(COLUMNS.map(moved))}
    where project_id = ${projectId} and (${sql.join(COLUMNS.map(isNew), sql` or `)})
  `.execute(sterna.db)
}

/** One of everything that happens to emails. */
function stepsOf(campaign: Campaign, emails: Emails, pick: (below: number) => number) {
  const { projectId, campaignId } = campaign
  const any = () => emails[pick(emails.length)]!
  const at = () => new Date(Date.now() - pick(3) * 86_400_000).toISOString()
  const settle = (state: 'sent' | 'failed' | 'unknown' | 'skipped', more: object = {}) =>
    worker.settle({
      ...any(),
      attempts: 1,
      state,
      error: state === 'sent' ? null : 'busy',
      code: state === 'failed' ? 'transient' : null,
      ...more,
    })
  const feedback = (is: 'delivery' | 'complaint' | 'bounce') =>
    inTx((tx) => recordFeedbacks(tx, [{ ...any(), feedback: { is, at: at(), reason: 'said so' } as never }]))
  const interact = (by: 'human' | 'machine', kind: 'open' | 'click') => {
    const now = Date.now() + pick(1_000_000)
    const interaction = {
      kind,
      link: 0,
      at: now,
      network: `n${now}`,
      client: 'c',
      target: 'https://example.com',
      classification: { by, reason: 'known' },
    }
    return inTx((tx) => recordOpensAndClicks(tx, [{ projectId, emailId: any().id, interactions: [interaction as never] }], now))
  }
  return [
    () => settle('sent'),
    () => settle('sent'),
    () => settle('failed'),
    () => settle('failed', { unknownRecipient: true, code: 'bounced' }),
    () => settle('unknown'),
    () => settle('skipped'),
    () => inTx((tx) => resolveUnknown(tx, { afterMs: -1_000, limit: 10 })),
    () => inTx((tx) => settleByEvidence(tx, [any()])),
    () => inTx((tx) => failByEvidence(tx, [{ ...any(), reason: 'a virus' }])),
    () => inTx((tx) => requeueFailed(tx, { projectId, campaignId, includeUnknown: true, limit: 5 })),
    () => claimOf(worker, campaign),
    () => feedback('delivery'),
    () => feedback('delivery'),
    () => feedback('bounce'),
    () => feedback('complaint'),
    () => interact('human', 'open'),
    () => interact('human', 'click'),
    () => interact('machine', 'open'),
    () => interact('machine', 'click'),
    async () => {
      const { id } = any()
      const { contactId } = await one(sterna.db, sql<{ contactId: string }>`select contact_id as "contactId" from emails where id = ${id}`)
      await inTx((tx) => countUnsubscription(tx, { projectId, emailId: id, contactId }))
    },
    () => foldEmails(sterna.db),
    async () => {
      crashes.next = true
      await foldEmails(sterna.db).catch(() => {})
      crashes.next = false
    },
  ]
}

/** Counted by the simplest statements, without the code of the roll-ups. */
async function countSimply(projectId: string) {
  const counts = COLUMNS.map(
    (column) => sql`
      select ${column.replace('_at', '')}::text as kind, date_trunc('hour', ${sql.ref(column)}, 'UTC') as hour, count(*)::int as n
      from emails where project_id = ${projectId} and not test and ${sql.ref(column)} is not null group by 2`,
  )
  return many(sterna.db, sql<{ kind: string; hour: Date; n: number }>`${sql.join(counts, sql` union all `)} order by 1, 2`)
}

const countRolledUp = (projectId: string) => {
  const counts = COLUMNS.map((column) => {
    const kind = column.replace('_at', '')
    return sql`
      select ${kind}::text as kind, hour, sum(${sql.ref(kind)})::int as n from email_hours where project_id = ${projectId} group by hour
      having sum(${sql.ref(kind)}) > 0`
  })
  return many(sterna.db, sql<{ kind: string; hour: Date; n: number }>`${sql.join(counts, sql` union all `)} order by 1, 2`)
}

describe('roll-ups of emails', () => {
  test.each([1, 2, 3])('have every fact once, in its hour, whatever happens and whenever a worker dies (%d)', async (seed) => {
    const pick = createRandom(seed)
    const { id: projectId, domain } = await newProject()
    const campaign = await newCampaign({ projectId, fromDomain: domain, emails: 8, type: 'MARKETING' })
    await spread(campaign)
    const emails = (await claimOf(worker, campaign)).map(({ id }) => ({ projectId, id }))
    await sql`update emails set test = true where id = ${emails[0]!.id}`.execute(sterna.db)
    const steps = stepsOf(campaign, emails, pick)
    for (let n = 0; n < 45; n++) {
      await steps[pick(steps.length)]!()
      await backdate(projectId, seed)
    }
    for (const _ of [1, 2]) {
      await foldEmails(sterna.db)
      const counted = await countSimply(projectId)
      expect(counted.length).toBeGreaterThan(3)
      expect(await countRolledUp(projectId)).toEqual(counted)
      expect(await recountRollups(sterna.db, projectId)).toEqual(NONE_WRONG)
    }
    // The list behind a figure has as many emails.
    const counted = await countSimply(projectId)
    for (const { kind, hour } of counted) {
      const matches = await emailMatchesSql(sterna.db, projectId, { fact: kind as EmailFact, factFrom: hour.toISOString() })
      const since = counted.filter((each) => each.kind === kind && each.hour >= hour).reduce((sum, { n }) => sum + n, 0)
      expect([kind, hour, await countRows(sterna.db, sql`select 1 from emails e where ${matches}`)]).toEqual([kind, hour, since])
    }
    const { hits, rolled } = await one(
      sterna.db,
      sql<{ hits: number; rolled: number }>`
        select (select count(*) filter (where machine_opened) + count(*) filter (where machine_clicked) from email_hits h
            join emails e on e.id = h.email_id where h.project_id = ${projectId} and not e.test)::int as hits,
          (select sum(machine_opened + machine_clicked) from email_hours where project_id = ${projectId})::int as rolled
      `,
    )
    expect(rolled).toBe(hits)
  })

  test('are corrected by a recount, which leaves out facts that still wait and rows of a recount that died', async () => {
    const { id: projectId, domain } = await newProject()
    const campaign = await newCampaign({ projectId, fromDomain: domain, emails: 4 })
    const emails = await claimOf(worker, campaign)
    for (const { id } of emails) await worker.settle({ projectId, id, attempts: 1, state: 'sent', error: null })
    await foldEmails(sterna.db)
    await sql`update email_hours set sent = 7, clicked = 1 where project_id = ${projectId}`.execute(sterna.db)
    await sql`delete from email_days where project_id = ${projectId}`.execute(sterna.db)
    const collected = collectedUnder(projectId)
    await sql`insert into email_domain_days (project_id, day, domain, sent) values (${collected}, now(), 'left.example', 9)`.execute(
      sterna.db,
    )
    const fact = { projectId, id: emails[0]!.id, feedback: { is: 'delivery', at: new Date().toISOString() } as const }
    // The fact is recorded after the recount has locked the roll-ups, and before it reads the emails.
    const begun = { on: 'delete' as const, table: 'email_domain_days', when: sql`old.project_id = ${sql.lit(collected)}` }
    const { recounting } = await whileSleeping(sterna.db, begun, async () => ({
      started: { recounting: recountRollups(sterna.db, projectId) },
      meanwhile: async () => {
        await inTx((tx) => recordFeedbacks(tx, [fact]))
        await foldEmails(sterna.db)
      },
    }))
    expect(await recounting).toEqual({ wrong: { hours: 1, days: 1, domains: 0 } })
    const figures = () => many(sterna.db, sql`select sent, delivered, clicked from email_hours where project_id = ${projectId}`)
    expect(await figures()).toEqual([{ sent: 4, delivered: 0, clicked: 0 }])
    await foldEmails(sterna.db)
    expect(await figures()).toEqual([{ sent: 4, delivered: 1, clicked: 0 }])
    expect(await recountRollups(sterna.db, projectId)).toEqual(NONE_WRONG)
  })

  test('have a row for the other domains once a day with many domains is over, and keep its list', async () => {
    const { id: projectId, domain } = await newProject()
    const campaign = await newCampaign({ projectId, fromDomain: domain, emails: 103 })
    await sql`
      update emails e set to_address = 'a@n' || n || '.example' from (
        select id, row_number() over (order by id) as n from emails where campaign_id = ${campaign.campaignId}) as numbered
      where e.id = numbered.id
    `.execute(sterna.db)
    const emails = await claimOf(worker, campaign, 200)
    await Promise.all(emails.slice(0, 102).map(({ id }) => worker.settle({ projectId, id, attempts: 1, state: 'sent', error: null })))
    await sql`update emails set sent_at = now() - interval '4 days' where project_id = ${projectId} and sent_at is not null`.execute(
      sterna.db,
    )
    await foldEmails(sterna.db)
    const count = () =>
      many(sterna.db, sql`select sum(sent)::int as n, count(*)::int as rows from email_domain_days where project_id = ${projectId}`)
    expect(await count()).toEqual([{ n: 102, rows: 102 }])
    await trimDomains(sterna.db)
    expect(await count()).toEqual([{ n: 102, rows: 101 }])
    // A late fact of a new domain.
    const { id } = emails[102]!
    await worker.settle({ projectId, id, attempts: 1, state: 'sent', error: null })
    await sql`update emails set sent_at = now() - interval '4 days' where id = ${id}`.execute(sterna.db)
    await foldEmails(sterna.db)
    expect(await many(sterna.db, sql`select sent from email_domain_days where project_id = ${projectId} and domain = ''`)).toEqual([
      { sent: 3 },
    ])
    expect(await recountRollups(sterna.db, projectId)).toEqual(NONE_WRONG)
  })

  test('of a project that is being wiped get no facts', async () => {
    const { id: projectId, domain } = await newProject()
    const campaign = await newCampaign({ projectId, fromDomain: domain, emails: 1 })
    const [email] = await claimOf(worker, campaign)
    await worker.settle({ projectId, id: email!.id, attempts: 1, state: 'sent', error: null })
    await sql`insert into project_wipes (project_id, requested_at) values (${projectId}, now())`.execute(sterna.db)
    await foldEmails(sterna.db)
    expect(await many(sterna.db, sql`select 1 from email_hours where project_id = ${projectId}`)).toEqual([])
    expect(await recountRollups(sterna.db, projectId)).toBeUndefined()
    await sql`delete from project_wipes where project_id = ${projectId}`.execute(sterna.db)
    await foldEmails(sterna.db)
    expect(await many(sterna.db, sql`select sent from email_hours where project_id = ${projectId}`)).toEqual([{ sent: 1 }])
  })

  test('read each email once, also in a project that is newer than the statistics', async () => {
    const before = await newProject()
    await newCampaign({ projectId: before.id, fromDomain: before.domain, emails: 300 })
    await sql`analyze emails`.execute(sterna.db)
    const { id: projectId, domain } = await newProject()
    const { campaignId } = await newCampaign({ projectId, fromDomain: domain, emails: 200 })
    await sql`
      with sent as (update emails set state = 'sent', sent_at = now() where project_id = ${projectId} and campaign_id = ${campaignId} returning id)
      insert into email_ledger (project_id, kind, n, email_ids) select ${projectId}, 'sent', count(*), array_agg(id) from sent
    `.execute(sterna.db)
    const session = connectOnce()
    const rowsRead = async () => {
      await sql`select pg_stat_force_next_flush()`.execute(session)
      return one(
        session,
        sql<{
          n: number
        }>`select coalesce(sum(idx_tup_read), 0)::int as n from pg_stat_user_indexes where indexrelname = 'emails_by_content'`,
      )
    }
    const { n } = await rowsRead()
    await foldEmails(session)
    expect((await rowsRead()).n - n).toBeLessThan(1_000)
    expect(await many(session, sql`select sent from email_hours where project_id = ${projectId}`)).toEqual([{ sent: 200 }])
    await session.destroy()
  })
})
