import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { rollupSums } from '../../src/analytics/recount.ts'
import { trimDomains } from '../../src/analytics/trim-domains.ts'
import { countRows, many, one, transact } from '../../src/db/index.ts'
import { type EmailFact, emailMatchesSql } from '../../src/delivery/emails/filter.ts'
import { recordFeedbacks } from '../../src/delivery/feedback/reports/record.ts'
import { countUnsubscription } from '../../src/delivery/feedback/unsubscription.ts'
import { failByEvidence, resolveUnknown, settleByEvidence } from '../../src/delivery/outbox/outcomes/evidence.ts'
import { requeueFailed } from '../../src/delivery/outbox/requeue.ts'
import { recordOpensAndClicks } from '../../src/opens-clicks/record.ts'
import { noteEmailsRemoved } from '../../src/projects/email-counts.ts'
import { stayWithinHour } from '../support/clock.ts'
import { foldEmails } from '../support/delivery/fold-emails.ts'
import { type Campaign, useOutbox } from '../support/delivery/outbox.ts'
import { withFailingStatement } from '../support/faults/failing-statements.ts'
import { whileSleeping } from '../support/faults/sleeping-writes.ts'

const { sterna, newProject, newWorker, newCampaign, claimOf, connectOnce } = useOutbox()
let worker: Awaited<ReturnType<typeof newWorker>>
beforeAll(async () => {
  worker = await newWorker()
})
beforeEach(() => stayWithinHour(30))

const inTx = <T>(work: Parameters<typeof transact<T>>[1]) => transact(sterna.db, work)
const recount = (projectId: string) => rollupSums.repair(sterna.db, projectId)
const NONE_WRONG = { email_hours: 0, email_days: 0, email_domain_days: 0 }

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
    // As when a worker dies: its connection is lost before each statement in turn, the last of them the commit after the facts were added.
    async () => {
      for (let n = 1, failed = true; failed; n++)
        ({ failed } = await withFailingStatement(n, 'unsent', () => foldEmails(sterna.db).catch(() => {})))
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
      expect(await recount(projectId)).toEqual(NONE_WRONG)
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

  test('are corrected by a recount, whatever waits to be added or is added meanwhile', async () => {
    const { id: projectId, domain } = await newProject()
    const campaign = await newCampaign({ projectId, fromDomain: domain, emails: 4 })
    const emails = await claimOf(worker, campaign)
    for (const { id } of emails) await worker.settle({ projectId, id, attempts: 1, state: 'sent', error: null })
    await foldEmails(sterna.db)
    const deliver = (index: number) => {
      const feedback = { is: 'delivery', at: new Date().toISOString() } as const
      return inTx((tx) => recordFeedbacks(tx, [{ projectId, id: emails[index]!.id, feedback }]))
    }
    await deliver(0)
    await sql`update email_hours set sent = 7, clicked = 1 where project_id = ${projectId}`.execute(sterna.db)
    await sql`delete from email_days where project_id = ${projectId}`.execute(sterna.db)
    await sql`update email_domain_days set opened = 3 where project_id = ${projectId}`.execute(sterna.db)
    // While the recount corrects the hours, by what it has read, another fact happens and both are added.
    const correcting = { on: 'update' as const, table: 'email_hours', when: sql`new.sent < old.sent` }
    const { recounting } = await whileSleeping(sterna.db, correcting, async () => ({
      started: { recounting: recount(projectId) },
      meanwhile: async () => {
        await deliver(1)
        await foldEmails(sterna.db)
      },
    }))
    expect(await recounting).toEqual({ email_hours: 1, email_days: 1, email_domain_days: 1 })
    await foldEmails(sterna.db)
    const figures = (table: string) =>
      many(sterna.db, sql`select sent, delivered, opened, clicked from ${sql.table(table)} where project_id = ${projectId}`)
    for (const table of Object.keys(NONE_WRONG)) expect(await figures(table)).toEqual([{ sent: 4, delivered: 2, opened: 0, clicked: 0 }])
    expect(await recount(projectId)).toEqual(NONE_WRONG)
  })

  test('of emails that are removed by their age stay, and those of later days are still compared', async () => {
    const { id: projectId, domain } = await newProject()
    const campaign = await newCampaign({ projectId, fromDomain: domain, emails: 3 })
    const [removed, kept, late] = await claimOf(worker, campaign)
    for (const { id } of [removed!, kept!]) await worker.settle({ projectId, id, attempts: 1, state: 'sent', error: null })
    await foldEmails(sterna.db)
    await inTx(async (tx) => {
      await sql`delete from emails where id = ${removed!.id}`.execute(tx)
      await noteEmailsRemoved(tx, projectId)
    })
    const sent = () => many(sterna.db, sql`select sent from email_days where project_id = ${projectId} order by day`)
    expect([await recount(projectId), await sent()]).toEqual([NONE_WRONG, [{ sent: 2 }]])
    // The removal was a week ago.
    await sql`update projects set emails_removed_at = now() - interval '7 days' where id = ${projectId}`.execute(sterna.db)
    await sql`update emails set sent_at = now() - interval '8 days' where id = ${kept!.id}`.execute(sterna.db)
    for (const [table, time] of [
      ['email_hours', 'hour'],
      ['email_days', 'day'],
      ['email_domain_days', 'day'],
    ] as const)
      await sql`update ${sql.table(table)} set ${sql.ref(time)} = ${sql.ref(time)} - interval '8 days' where project_id = ${projectId}`.execute(
        sterna.db,
      )
    await worker.settle({ projectId, id: late!.id, attempts: 1, state: 'sent', error: null })
    await foldEmails(sterna.db)
    await sql`update email_hours set sent = sent + 5 where project_id = ${projectId}`.execute(sterna.db)
    expect(await recount(projectId)).toEqual({ ...NONE_WRONG, email_hours: 1 })
    expect(await sent()).toEqual([{ sent: 2 }, { sent: 1 }])
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
    expect(await recount(projectId)).toEqual(NONE_WRONG)
  })

  test('of a project that is being wiped get no facts', async () => {
    const { id: projectId, domain } = await newProject()
    const campaign = await newCampaign({ projectId, fromDomain: domain, emails: 1 })
    const [email] = await claimOf(worker, campaign)
    await worker.settle({ projectId, id: email!.id, attempts: 1, state: 'sent', error: null })
    await sql`insert into project_wipes (project_id, requested_at) values (${projectId}, now())`.execute(sterna.db)
    await foldEmails(sterna.db)
    expect(await many(sterna.db, sql`select 1 from email_hours where project_id = ${projectId}`)).toEqual([])
    expect(await recount(projectId)).toEqual(NONE_WRONG)
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
