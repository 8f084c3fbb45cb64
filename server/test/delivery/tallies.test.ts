import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { many, one, transact } from '../../src/db/index.ts'
import { recordFeedbacks } from '../../src/delivery/feedback/record.ts'
import { countUnsubscription } from '../../src/delivery/feedback/unsubscription.ts'
import { cancelQueued } from '../../src/delivery/outbox/cancel.ts'
import { failByEvidence, resolveUnknown, settleByEvidence } from '../../src/delivery/outbox/evidence.ts'
import { requeueFailed } from '../../src/delivery/outbox/requeue.ts'
import { cancelStream } from '../../src/delivery/outbox/streams/streams.ts'
import { recountSql, TALLY_KINDS, type TallyKind, takeTallies } from '../../src/delivery/outbox/tallies.ts'
import type { Interaction } from '../../src/opens-clicks/judge.ts'
import { recordOpensAndClicks } from '../../src/opens-clicks/record.ts'
import { type Campaign, useOutbox } from '../support/outbox.ts'

const { sterna, newWorker, newCampaign, claimOf } = useOutbox()

let worker: Awaited<ReturnType<typeof newWorker>>
beforeAll(async () => {
  worker = await newWorker()
})

const inTx = <T>(work: Parameters<typeof transact<T>>[1]) => transact(sterna.db, work)
type Counts = Record<TallyKind | 'total', number>

/** Takes all tallies and adds them up for the campaign. */
async function takeAll({ campaignId }: Campaign, counts: Partial<Counts> = {}) {
  for (;;) {
    const taken = await inTx((tx) => takeTallies(tx, 3))
    if (!taken.length) return counts
    for (const { kind, n, ...tally } of taken) if (tally.campaignId === campaignId) counts[kind] = (counts[kind] ?? 0) + n
  }
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

describe('tallies of a campaign', () => {
  test('add up to a recount, whatever happens to its emails and in whatever order it is corrected', async () => {
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
    expect(Object.keys(TALLY_KINDS)).toEqual(expect.arrayContaining(Object.keys(counts)))
  })

  test('count people and machines apart, each email once', async () => {
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

  test('count an unsubscription for the email whose link was used, once', async () => {
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

  test('are not written for transactional and test emails', async () => {
    const campaign = await newCampaign({ emails: 2 })
    const [first, second] = await claimOf(worker, campaign)
    await sql`update emails set test = true where id = ${first!.id}`.execute(sterna.db)
    await sql`update emails set campaign_id = null where id = ${second!.id}`.execute(sterna.db)
    for (const { projectId, id } of [first!, second!]) {
      await worker.settle({ projectId, id, attempts: 1, state: 'sent', error: null })
      await inTx((tx) => recordFeedbacks(tx, [{ projectId, id, feedback: { is: 'delivery', at: new Date().toISOString() } }]))
    }
    expect(await many(sterna.db, sql`select 1 from email_tallies where campaign_id = ${campaign.campaignId}`)).toEqual([])
    expect(await recount(campaign)).toEqual({})
  })

  test('are taken once by concurrent workers', async () => {
    const campaign = await newCampaign({ emails: 10 })
    for (const { projectId, id } of await claimOf(worker, campaign))
      await worker.settle({ projectId, id, attempts: 1, state: 'sent', error: null })
    const counts: Partial<Counts> = {}
    await Promise.all([takeAll(campaign, counts), takeAll(campaign, counts), takeAll(campaign, counts)])
    expect(counts).toEqual({ sent: 10 })
  })
})
