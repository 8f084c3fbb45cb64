import fc from 'fast-check'
import { type RawBuilder, sql } from 'kysely'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { many, one, type Tx, transact } from '../../src/db/index.ts'
import { wipeEmailLedger } from '../../src/delivery/emails/wipe.ts'
import { recordFeedbacks } from '../../src/delivery/feedback/reports/record.ts'
import { countUnsubscription } from '../../src/delivery/feedback/unsubscription.ts'
import { cancelQueued } from '../../src/delivery/outbox/cancel.ts'
import {
  addEntries,
  createEmailFold,
  EMAIL_OUTCOMES,
  type EmailFolds,
  type EmailOutcome,
  recountSql,
} from '../../src/delivery/outbox/outcomes/email-ledger.ts'
import { failByEvidence, resolveUnknown, settleByEvidence } from '../../src/delivery/outbox/outcomes/evidence.ts'
import { requeueFailed } from '../../src/delivery/outbox/requeue.ts'
import { cancelStream } from '../../src/delivery/outbox/streams/streams.ts'
import { newId } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/process/log.ts'
import type { Interaction } from '../../src/opens-clicks/judge.ts'
import { recordOpensAndClicks } from '../../src/opens-clicks/record.ts'
import { foldEmails } from '../support/delivery/fold-emails.ts'
import { type Campaign, useOutbox } from '../support/delivery/outbox.ts'
import { eventually } from '../support/eventually.ts'

const { sterna, newProject, newWorker, newCampaign, claimOf } = useOutbox()

let worker: Awaited<ReturnType<typeof newWorker>>
beforeAll(async () => {
  worker = await newWorker()
})

const inTx = <T>(work: Parameters<typeof transact<T>>[1]) => transact(sterna.db, work)
type Counts = Record<EmailOutcome | 'total', number>

const NO_FOLDS: EmailFolds = {
  rollups: async () => [],
  counts: async () => {},
  counters: async () => [],
  lockCampaigns: async () => {},
}

const foldWith = (folds: EmailFolds) => createEmailFold(sterna.db, createLog('silent'), folds)()

/** Takes all entries and adds them up for the campaign. */
async function takeAll({ campaignId }: Campaign, counts: Partial<Counts> = {}) {
  await foldWith({
    ...NO_FOLDS,
    counters: async (tx, entries) => {
      const taken = await many(
        tx,
        sql<{ kind: EmailOutcome; n: number }>`select kind, n from ${entries} as e where campaign_id = ${campaignId}`,
      )
      for (const { kind, n } of taken) counts[kind] = (counts[kind] ?? 0) + n
      return []
    },
  })
  return counts
}

async function recount(campaign: Campaign) {
  const { total, ...counts } = await one(sterna.db, recountSql(campaign))
  return Object.fromEntries(Object.entries(counts).filter(([, n]) => n !== 0))
}

const nonZero = (counts: Partial<Counts>) => Object.fromEntries(Object.entries(counts).filter(([, n]) => n !== 0))

const open = (at: number, by: 'human' | 'machine', kind: 'open' | 'click' = 'open'): Interaction => ({
  kind,
  link: 0,
  at,
  network: `n${at}`,
  client: 'c',
  target: 'https://example.com',
  classification: { by, reason: 'known' },
})

describe('what happens to the emails of a campaign', () => {
  test('adds up to a recount, whatever happens to its emails and in whatever order it is corrected', async () => {
    const campaign = await newCampaign({ emails: 12, type: 'MARKETING' })
    const { projectId, campaignId } = campaign
    const counts: Partial<Counts> = {}
    const check = async () => expect(nonZero(await takeAll(campaign, counts))).toEqual(await recount(campaign))
    const emails = await claimOf(worker, campaign)
    expect(emails).toHaveLength(12)
    const refOf = (index: number) => ({ projectId, id: emails[index]!.id })
    const base = (index: number) => ({ ...refOf(index), attempts: 1, error: null })

    for (const index of [0, 1, 2, 3, 4]) await worker.settle({ ...base(index), state: 'sent' })
    await worker.settle({ ...base(5), state: 'failed', error: 'no such user', code: 'bounced', unknownRecipient: true })
    await worker.settle({ ...base(6), state: 'failed', error: 'busy', code: 'transient' })
    await worker.settle({ ...base(7), state: 'skipped', error: 'unsubscribed', code: 'unsubscribed' })
    await worker.settle({ ...base(8), state: 'unknown', error: 'no reply' })
    await worker.settle({ ...base(9), state: 'unknown', error: 'no reply' })
    await worker.settle({ ...base(10), state: 'queued', error: null })
    await check()
    expect(counts).toEqual({ sent: 5, failed: 2, skipped: 1 })

    await inTx((tx) => resolveUnknown(tx, { afterMs: -1_000, limit: 10 }))
    await check()
    expect(counts.failed).toBe(4)

    // Late evidence, and a late reply: the outcome was given up already.
    await inTx((tx) => settleByEvidence(tx, [refOf(8)]))
    await worker.settle({ ...base(9), state: 'sent' })
    await check()
    expect(counts).toMatchObject({ sent: 7, failed: 2 })

    await inTx((tx) => failByEvidence(tx, [{ ...refOf(9), reason: 'a virus' }]))
    expect(await inTx((tx) => requeueFailed(tx, { projectId, campaignId, includeUnknown: false, limit: 10 }))).toBe(1)
    await check()
    expect(counts).toMatchObject({ sent: 6, failed: 2 })

    const at = new Date().toISOString()
    await inTx((tx) =>
      recordFeedbacks(tx, [
        { ...refOf(0), feedback: { is: 'delivery', at } },
        { ...refOf(1), feedback: { is: 'delivery', at } },
        { ...refOf(1), feedback: { is: 'complaint', at } },
        { ...refOf(2), feedback: { is: 'bounce', at, reason: 'gone' } },
        { ...refOf(5), feedback: { is: 'bounce', at, reason: 'no such user' } },
      ]),
    )
    await inTx((tx) => recordFeedbacks(tx, [{ ...refOf(0), feedback: { is: 'delivery', at } }]))
    await check()
    expect(counts).toMatchObject({ delivered: 2, complained: 1, bounced: 2 })

    await inTx((tx) => cancelStream(tx, campaign))
    await inTx((tx) => cancelQueued(tx, { ...campaign.stream, limit: 10 }))
    await check()
    expect(counts).toMatchObject({ sent: 6, failed: 2, skipped: 3 })
    expect(Object.keys(EMAIL_OUTCOMES)).toEqual(expect.arrayContaining(Object.keys(counts)))
  })

  test('is counted for people and machines apart, each email once', async () => {
    const campaign = await newCampaign()
    const emails = await claimOf(worker, campaign)
    for (const { projectId, id } of emails) await worker.settle({ projectId, id, attempts: 1, state: 'sent', error: null })
    await sql`update emails set sent_at = now() - interval '1 hour' where campaign_id = ${campaign.campaignId}`.execute(sterna.db)
    const now = Date.now()
    const record = (index: number, interactions: Interaction[]) =>
      inTx((tx) => recordOpensAndClicks(tx, [{ projectId: campaign.projectId, emailId: emails[index]!.id, interactions }], now))
    await record(0, [open(now, 'human')])
    await record(0, [open(now, 'human', 'click')])
    await record(0, [open(now + 100_000, 'human')])
    await record(1, [open(now, 'human', 'click')])
    await record(2, [open(now, 'machine')])
    await record(2, [open(now + 1, 'machine', 'click')])
    await record(2, [open(now + 200_000, 'machine')])
    const counts = nonZero(await takeAll(campaign))
    expect(counts).toEqual({ sent: 3, opened: 2, clicked: 2, machineOpened: 1, machineClicked: 1 })
    expect(counts).toEqual(await recount(campaign))
  })

  test('counts an unsubscription for the email whose link was used, once', async () => {
    const campaign = await newCampaign()
    const [email] = await many(
      sterna.db,
      sql<{ projectId: string; emailId: string; contactId: string }>`
        select project_id as "projectId", id as "emailId", contact_id as "contactId" from emails where campaign_id = ${campaign.campaignId} limit 1
      `,
    )
    await inTx((tx) => countUnsubscription(tx, { ...email!, contactId: campaign.campaignId }))
    for (const _ of [1, 2]) await inTx((tx) => countUnsubscription(tx, email!))
    expect([await takeAll(campaign), await recount(campaign)]).toEqual([{ unsubscribed: 1 }, { unsubscribed: 1 }])
  })

  test('is not counted for transactional and test emails', async () => {
    const campaign = await newCampaign({ emails: 2 })
    const [first, second] = await claimOf(worker, campaign)
    await sql`update emails set test = true where id = ${first!.id}`.execute(sterna.db)
    await sql`update emails set campaign_id = null where id = ${second!.id}`.execute(sterna.db)
    for (const { projectId, id } of [first!, second!]) {
      await worker.settle({ projectId, id, attempts: 1, state: 'sent', error: null })
      await inTx((tx) => recordFeedbacks(tx, [{ projectId, id, feedback: { is: 'delivery', at: new Date().toISOString() } }]))
    }
    expect(await many(sterna.db, sql`select 1 from email_ledger where campaign_id = ${campaign.campaignId}`)).toEqual([])
    expect(await recount(campaign)).toEqual({})
  })

  test('is taken once by concurrent workers', async () => {
    const campaign = await newCampaign({ emails: 10 })
    for (const { projectId, id } of await claimOf(worker, campaign))
      await worker.settle({ projectId, id, attempts: 1, state: 'sent', error: null })
    const counts: Partial<Counts> = {}
    await Promise.all([takeAll(campaign, counts), takeAll(campaign, counts), takeAll(campaign, counts)])
    await takeAll(campaign, counts)
    expect(counts).toEqual({ sent: 10 })
  })
})

test('a reset keeps what usage and reputation have not counted yet, and a deletion nothing', async () => {
  const { id: projectId } = await newProject()
  const entry = { projectId, campaignId: newId(), kind: 'sent' as const }
  await inTx((tx) =>
    addEntries(tx, [
      { ...entry, id: newId(), countedAt: new Date() },
      { ...entry, id: newId() },
    ]),
  )
  const wipe = () => inTx((tx) => wipeEmailLedger(tx, { projectId, before: 'infinity', limit: 10 }))
  const kept = () => many(sterna.db, sql`select hour is not null as counts from email_ledger where project_id = ${projectId}`)
  await wipe()
  expect(await kept()).toEqual([{ counts: true }])
  await sql`update projects set deleted_at = now() where id = ${projectId}`.execute(sterna.db)
  await wipe()
  expect(await kept()).toEqual([])
})

describe('the consumers of the ledger', () => {
  /** One campaign per project, so that `busy` names both. */
  type Step = { projects: number[]; n: number } | { busyProjects: number[]; busyCampaigns: number[]; meanwhile: number[]; dies: boolean }
  const someOf = fc.subarray([0, 1, 2])
  const anyStep: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ projects: someOf, n: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ busyProjects: someOf, busyCampaigns: someOf, meanwhile: someOf, dies: fc.boolean() }),
  )

  test('each get every entry once, whichever of them cannot take it and whenever a worker dies', async () => {
    await sql`create table added_up (consumer text, project_id uuid, n int)`.execute(sterna.db)
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 12 }), async (steps) => {
        const refs = [0, 1, 2].map(() => ({ projectId: newId(), campaignId: newId() }))
        const appended = [0, 0, 0]
        const append = (projects: number[], n: number) => {
          for (const p of projects) appended[p]! += n
          const entryOf = (p: number) => ({ ...refs[p]!, id: newId(), kind: 'sent' as const, countedAt: new Date() })
          return inTx((tx) =>
            addEntries(
              tx,
              projects.flatMap((p) => Array.from({ length: n }, () => entryOf(p))),
            ),
          )
        }
        for (const step of [...steps, { busyProjects: [], busyCampaigns: [], meanwhile: [], dies: false }])
          if ('n' in step) await append(step.projects, step.n)
          else await foldWith(foldsWith(refs, step, () => append(step.meanwhile, 1))).catch(() => {})
        const sums = await many(
          sterna.db,
          sql`select consumer, project_id as "projectId", sum(n)::int as n from added_up where project_id = any(${refs.map(({ projectId }) => projectId)}::uuid[]) group by 1, 2`,
        )
        const expected = ['counters', 'counts', 'rollups'].flatMap((consumer) =>
          refs.flatMap(({ projectId }, index) => (appended[index] ? [{ consumer, projectId, n: appended[index] }] : [])),
        )
        expect(sums).toHaveLength(expected.length)
        expect(sums).toEqual(expect.arrayContaining(expected))
        expect(await many(sterna.db, sql`select 1 from email_ledger`)).toEqual([])
      }),
      { numRuns: 25 },
    )
  })

  type Ref = { projectId: string; campaignId: string }
  /** In its first transaction some are busy, and more is appended. */
  function foldsWith(
    refs: Ref[],
    { busyProjects, busyCampaigns, dies }: Exclude<Step, { n: number }>,
    append: () => Promise<unknown>,
  ): EmailFolds {
    const busy = busyProjects.map((index) => refs[index]!.projectId)
    const locked = busyCampaigns.map((index) => refs[index]!)
    const add = (tx: Tx, consumer: string, n: RawBuilder<unknown>, entries: RawBuilder<unknown>, except: string[] = []) =>
      sql`
        insert into added_up select ${consumer}, project_id, ${n} from ${entries} as e
        where ${n} is not null and project_id <> all(${except}::uuid[])
      `.execute(tx)
    let runs = 0
    return {
      rollups: async (tx, entries) => {
        const waits = runs ? [] : busy
        await add(tx, 'rollups', sql`cardinality(email_ids)`, entries, waits)
        return waits
      },
      counts: (tx, entries) => add(tx, 'counts', sql`case when hour is not null then n end`, entries),
      counters: async (tx, entries) => {
        const waits = runs ? [] : locked
        const except = waits.map(({ projectId }) => projectId)
        await add(tx, 'counters', sql`case when campaign_id is not null then n end`, entries, except)
        if (!runs++) await append()
        if (dies) throw new Error('killed')
        return waits
      },
      lockCampaigns: async () => {},
    }
  }

  test('get fewer entries at a time when these took too long', async () => {
    await foldWith(NO_FOLDS)
    const ofProject = () => ({ projectId: newId(), id: newId(), kind: 'sent' as const })
    await inTx((tx) => addEntries(tx, [ofProject(), ofProject(), ofProject()]))
    let taken = 0
    const rollups = async (tx: Tx, entries: RawBuilder<unknown>) => {
      const { n } = await one(tx, sql<{ n: number }>`select count(*)::int as n from ${entries} as e`)
      if (n > 1) await sql`set local statement_timeout = 10; select pg_sleep(1)`.execute(tx)
      taken += n
      return []
    }
    await foldWith({ ...NO_FOLDS, rollups })
    expect([taken, await many(sterna.db, sql`select 1 from email_ledger`)]).toEqual([3, []])
  })

  test('get all entries but those of a project that fails, which rests ever longer and is added up once it can be', async () => {
    const projects = Array.from({ length: 9 }, newId)
    const append = () =>
      inTx((tx) =>
        addEntries(
          tx,
          projects.map((projectId) => ({ projectId, id: newId(), kind: 'sent' as const })),
        ),
      )
    const added = new Map<string, number>()
    let [broken, attempts] = [projects[4]!, 0]
    const counts = async (tx: Tx, entries: RawBuilder<unknown>) => {
      const taken = await many<{ id: string }>(tx)`select project_id as id from ${entries} as e`
      if (taken.some(({ id }) => id === broken)) {
        if (new Set(taken.map(({ id }) => id)).size === 1) attempts++
        await sql`select 1 / 0`.execute(tx)
      }
      for (const { id } of taken) added.set(id, (added.get(id) ?? 0) + 1)
    }
    vi.useFakeTimers({ toFake: ['performance'] })
    const fold = createEmailFold(sterna.db, createLog('silent'), { ...NO_FOLDS, counts })
    const rests: number[] = []
    for (let seconds = 0; seconds < 8; seconds++) {
      await append()
      const before = attempts
      await fold()
      if (attempts > before) rests.push(seconds)
      vi.advanceTimersByTime(1_000)
    }
    expect(rests).toEqual([0, 1, 3, 7])
    const othersAdded = projects.filter((id) => id !== broken).map((id) => [id, 8])
    expect([...added].sort()).toEqual(othersAdded.sort())
    broken = ''
    vi.advanceTimersByTime(8_000)
    await fold()
    expect(added.get(projects[4]!)).toBe(8)
    vi.useRealTimers()
  })

  test('do not wait for a campaign whose row is locked, and its counters follow', async () => {
    const { id: projectId, domain, call } = await newProject()
    await sql`update instance set transport = 'smtp'`.execute(sterna.db)
    const campaign = await newCampaign({ projectId, fromDomain: domain, emails: 2 })
    await sql`update instance set transport = 'sandbox'`.execute(sterna.db)
    const draft = { name: 'News', subject: 'News', body: 'News', from: `news@${domain}`, audienceType: 'ALL' }
    const { id } = (await call('POST', '/campaigns', draft)).body.data
    await sql`update emails set campaign_id = ${id} where campaign_id = ${campaign.campaignId}`.execute(sterna.db)
    for (const email of await claimOf(worker, campaign))
      await worker.settle({ projectId, id: email.id, attempts: 1, state: 'sent', error: null })
    const attempted = () =>
      many(sterna.db, sql`select sum(count)::int as n from email_counts where project_id = ${projectId} and kind = 'attempted'`)
    const left = () => many(sterna.db, sql`select n, hour, email_ids as ids from email_ledger where project_id = ${projectId}`)
    let folding: Promise<unknown> | undefined
    await inTx(async (tx) => {
      await sql`select from campaigns where project_id = ${projectId} and id = ${id} for update`.execute(tx)
      folding = foldEmails(sterna.db)
      await eventually(async () => expect(await attempted()).toEqual([{ n: 2 }]))
      expect(await left()).toEqual(Array(2).fill({ n: 1, hour: null, ids: null }))
    })
    await folding
    expect(await many(sterna.db, sql`select sent_count as n from campaigns where id = ${id}`)).toEqual([{ n: 2 }])
    expect(await left()).toEqual([])
  })
})
