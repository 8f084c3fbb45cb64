import { sql } from 'kysely'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { many, one, transact } from '../../src/db/index.ts'
import { cancelQueued, cancelStreams } from '../../src/delivery/outbox/cancel.ts'
import { type ClaimedEmail, createClaim } from '../../src/delivery/outbox/claim.ts'
import { createContents } from '../../src/delivery/outbox/contents/content.ts'
import { emailOfMessageId, enqueueAudienceSql, enqueueEmails } from '../../src/delivery/outbox/enqueue.ts'
import { requeueFailed } from '../../src/delivery/outbox/requeue.ts'
import { PRIORITIES } from '../../src/delivery/outbox/streams/stream-of.ts'
import {
  cancelStream,
  hasOpenEmails,
  openStream,
  pauseStream,
  readStreamState,
  removeStream,
  resumeStream,
  setStreamRate,
} from '../../src/delivery/outbox/streams/streams.ts'
import { expireQueued } from '../../src/delivery/sender/expire.ts'
import { passGate } from '../../src/delivery/sender/gate.ts'
import { idTime, newId } from '../../src/lib/id.ts'
import { type Campaign, useOutbox } from '../support/delivery/outbox.ts'
import { until } from '../support/eventually.ts'

const { sterna, project, newProject, newWorker, newCampaign, rowsOf, statesOf, claimOf, connectOnce, databaseTime } = useOutbox()

let worker: Awaited<ReturnType<typeof newWorker>>
beforeAll(async () => {
  worker = await newWorker()
})
/** A small claim must not take the emails of an earlier test. */
afterEach(() => sql`update emails set state = 'cancelled' where state in ('queued', 'deferred')`.execute(sterna.db))

const idsOf = (emails: { id: string }[]) => emails.map(({ id }) => id).sort()
const claimedOf = async (campaign: Campaign, limit?: number) =>
  (await claimOf(worker, campaign, limit)).filter(({ streamId }) => streamId === campaign.streamId)
const inTx = <T>(work: Parameters<typeof transact<T>>[1]) => transact(sterna.db, work)
const markable = (email: { projectId: string; id: string; attempts: number; toAddress: string; streamId: string }) => ({
  projectId: email.projectId,
  id: email.id,
  attempts: email.attempts,
  toAddress: email.toAddress,
  needsConsent: false,
  streamId: email.streamId,
})

describe('a claim', () => {
  test('leaves out a paused stream, whose emails stay queued and unwritten', async () => {
    const [paused, open] = [await newCampaign(), await newCampaign()]
    await inTx((tx) => pauseStream(tx, paused))
    const before = await rowsOf(paused)
    expect(idsOf(await claimOf(worker, open))).toEqual(idsOf(await rowsOf(open)))
    expect(await rowsOf(paused)).toEqual(before)
    await inTx((tx) => resumeStream(tx, paused))
    expect(idsOf(await claimedOf(paused))).toEqual(idsOf(before))
  })

  test('leaves out a stream while its domain is not verified, or its project is disabled', async () => {
    const other = await newProject()
    const campaign = await newCampaign({ projectId: other.id, fromDomain: other.domain })
    const pauseOf = async () => (await readStreamState(sterna.db, campaign))!.derivedPause
    const cases = [
      ['domain', sql`update domains set status = 'pending', verified_by = null, verified_at = null where project_id = ${other.id}`],
      ['project_disabled', sql`update projects set disabled = true where id = ${other.id}`],
    ] as const
    for (const [reason, change] of cases) {
      await change.execute(sterna.db)
      expect([reason, await claimedOf(campaign), await pauseOf()]).toEqual([reason, [], reason])
      await sql`update domains set status = 'verified', verified_by = 'dns', verified_at = now() where project_id = ${other.id}`.execute(
        sterna.db,
      )
      await sql`update projects set disabled = false where id = ${other.id}`.execute(sterna.db)
      expect(await pauseOf()).toBeNull()
    }
    expect((await rowsOf(campaign)).map(({ attempts }) => attempts)).toEqual([0, 0, 0])
    expect(await claimedOf(campaign)).toHaveLength(3)
  })

  test('takes one email of a paused domain when it is time to probe, and none before', async () => {
    const other = await newProject()
    const campaign = await newCampaign({ projectId: other.id, fromDomain: other.domain })
    const pauseUntil = (interval: string) =>
      sql`
        insert into sending_pauses (project_id, domain, reason, until) values (${other.id}, ${other.domain}, 'no', now() + ${interval}::interval)
        on conflict (project_id, domain) do update set until = excluded.until
      `.execute(sterna.db)
    await pauseUntil('1 hour')
    expect(await claimedOf(campaign)).toEqual([])
    expect((await readStreamState(sterna.db, campaign))!.derivedPause).toBe('domain_paused')
    await pauseUntil('-1 s')
    expect(await claimedOf(campaign)).toHaveLength(1)
  })

  test('leaves out silent streams, and takes one email of a stream that is tried', async () => {
    const [silent, tried, open] = [await newCampaign(), await newCampaign(), await newCampaign()]
    const streams = { silent: [silent.streamId, tried.streamId], trying: [tried.streamId] }
    const claimed = await worker.claim(PRIORITIES.bulk, { limit: 100, except: [], ...streams })
    const countOf = ({ streamId }: Campaign) => claimed.filter((email) => email.streamId === streamId).length
    expect([silent, tried, open].map(countOf)).toEqual([0, 1, 3])
  })

  test('leaves out every project of an owner', async () => {
    const first = await newProject()
    const second = await newProject(first.owner)
    const other = await newProject()
    const campaigns = []
    for (const { id: projectId, domain: fromDomain } of [first, second, other]) campaigns.push(await newCampaign({ projectId, fromDomain }))
    const claimed = await worker.claim(PRIORITIES.bulk, { limit: 100, except: [first.owner.id] })
    expect(campaigns.map(({ streamId }) => claimed.filter((email) => email.streamId === streamId).length)).toEqual([0, 0, 3])
  })

  test('by several workers exceeds no rate, and uses all of it', async () => {
    const campaign = await newCampaign({ emails: 100, ratePerMinute: 600 })
    const workers = [worker, await newWorker(), await newWorker()]
    await sql`update stream_rates set unused_since = now() - interval '1500 ms' where id = ${campaign.streamId}`.execute(sterna.db)
    const from = await databaseTime()
    let claimed = 0
    for (let round = 0; round < 5; round++)
      for (const emails of await Promise.all(workers.map((each) => claimOf(each, campaign, 7)))) claimed += emails.length
    const seconds = ((await databaseTime()).getTime() - from.getTime()) / 1_000
    expect(claimed).toBeGreaterThanOrEqual(15)
    expect(claimed).toBeLessThanOrEqual(15 + Math.ceil(10 * seconds))
  })

  test('takes the first email of a slow stream at once, and the second a minute later', async () => {
    const campaign = await newCampaign({ ratePerMinute: 1 })
    expect(await claimedOf(campaign)).toHaveLength(1)
    expect(await claimedOf(campaign)).toHaveLength(0)
    await sql`update stream_rates set unused_since = unused_since - interval '60 s' where id = ${campaign.streamId}`.execute(sterna.db)
    expect(await claimedOf(campaign)).toHaveLength(1)
    await inTx((tx) => setStreamRate(tx, campaign, null))
    expect(await claimedOf(campaign)).toHaveLength(1)
  })

  test('passes a paused stream in one step, however many emails it has', async () => {
    const [large, small] = [await newCampaign({ emails: 3_000 }), await newCampaign()]
    await inTx((tx) => pauseStream(tx, large))
    const session = connectOnce()
    await sql`insert into senders (worker, lease_until) values (900, 'infinity')`.execute(sterna.db)
    const claim = createClaim(session, 900)
    const flushed = () => sql`select pg_stat_force_next_flush()`.execute(session)
    const read = async () => {
      await flushed()
      await flushed()
      const { tuples } = await one(
        sterna.db,
        sql<{ tuples: number }>`select sum(idx_tup_read)::int as tuples from pg_stat_user_indexes where relname = 'emails'`,
      )
      return tuples
    }
    const before = await read()
    const claimed = await claim(PRIORITIES.bulk, { limit: 40, except: [] })
    expect(claimed.filter(({ streamId }) => streamId === small.streamId)).toHaveLength(3)
    expect((await read()) - before).toBeLessThan(300)
    await session.destroy()
  })

  test('finds an open stream behind many that wait, and starts over behind it', async () => {
    const pattern = await newCampaign({ emails: 1 })
    await sql`
      with waiting as (
        insert into streams (project_id, id, from_domain, paused_at)
        select ${project.id}, ('ffff0000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${project.domain}, now() from generate_series(1, 300) as n
        returning id
      )
      insert into emails (project_id, id, content_id, contact_id, to_address, source_type, campaign_id, message_id, lane, stream_id)
      select project_id, gen_random_uuid(), content_id, contact_id, to_address, source_type, w.id, message_id || w.id, lane, w.id
      from emails, waiting w where campaign_id = ${pattern.campaignId}
    `.execute(sterna.db)
    const last = 'ffff0000-0000-7000-8000-000000000300'
    await inTx((tx) => resumeStream(tx, { projectId: project.id, streamId: last }))
    expect((await claimOf(worker, pattern)).map(({ streamId }) => streamId)).toEqual([pattern.streamId])
    expect((await claimOf(worker, pattern)).map(({ streamId }) => streamId)).toEqual([last])
    expect(await claimOf(worker, pattern)).toEqual([])
    const later = await newCampaign({ emails: 1 })
    expect((await claimOf(worker, later)).map(({ streamId }) => streamId)).toEqual([later.streamId])
  })
})

describe('the mark of an email', () => {
  const claimOne = async (campaign: Campaign) => (await claimedOf(campaign, 1))[0]!

  test.each([
    ['paused', pauseStream],
    ['cancelled', cancelStream],
  ])('is refused once its stream is %s', async (_, stop) => {
    const campaign = await newCampaign()
    const [first, second] = await claimedOf(campaign)
    expect(await worker.mark(markable(first!))).toBeDefined()
    await inTx((tx) => stop(tx, campaign))
    expect(await worker.mark(markable(second!))).toBeUndefined()
    expect((await rowsOf(campaign)).filter(({ marked }) => marked)).toHaveLength(1)
  })

  test('is refused once its project is disabled', async () => {
    const other = await newProject()
    const campaign = await newCampaign({ projectId: other.id, fromDomain: other.domain })
    const email = await claimOne(campaign)
    await sql`update projects set disabled = true where id = ${other.id}`.execute(sterna.db)
    expect(await worker.mark(markable(email))).toBeUndefined()
  })

  test('does not wait for a pause that is not committed', async () => {
    const campaign = await newCampaign()
    const email = await claimOne(campaign)
    await inTx(async (tx) => {
      await pauseStream(tx, campaign)
      expect(await worker.mark(markable(email))).toBeUndefined()
    })
  })

  test.each([
    [
      'an unsubscription',
      'MARKETING',
      ({ contactId }: ClaimedEmail) => sql`update contacts set subscribed = false where id = ${contactId}`,
    ],
    [
      'the disabling of its project',
      'TRANSACTIONAL',
      ({ projectId }: ClaimedEmail) => sql`update projects set disabled = true where id = ${projectId}`,
    ],
  ] as const)('sees %s that is not committed when it begins, and does not wait for it', async (_, type, change) => {
    const other = await newProject()
    const campaign = await newCampaign({ type, projectId: other.id, fromDomain: other.domain })
    const email = await claimOne(campaign)
    const toMark = { ...markable(email), needsConsent: type === 'MARKETING' }
    await inTx(async (tx) => {
      await change(email).execute(tx)
      expect(await worker.mark(toMark)).toBeUndefined()
    })
    expect(await worker.mark(toMark)).toBeUndefined()
    expect((await rowsOf(campaign)).filter(({ marked }) => marked)).toEqual([])
  })

  test('of a marketing email needs a subscribed contact that is not suppressed', async () => {
    const campaign = await newCampaign({ type: 'MARKETING' })
    const [first, second, third] = (await claimedOf(campaign)).map((email) => ({ ...email, ...markable(email), needsConsent: true }))
    await sql`update contacts set subscribed = false where id = ${second!.contactId}`.execute(sterna.db)
    await sql`insert into suppressions (project_id, address, reason) values (${third!.projectId}, ${third!.toAddress}, 'manual')`.execute(
      sterna.db,
    )
    expect((await Promise.all([first!, second!, third!].map(worker.mark))).map((permit) => permit !== undefined)).toEqual([
      true,
      false,
      false,
    ])
  })

  test('under way keeps a pause waiting until it is committed', async () => {
    const campaign = await newCampaign()
    const email = await claimOne(campaign)
    const blocked = (statement: string) =>
      until(
        `${statement} waits`,
        async () =>
          (
            await many(
              sterna.db,
              sql`
              select 1 from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0
                and query like ${`%${statement}%`} and pid <> pg_backend_pid()
            `,
            )
          ).length,
      )
    let marking: ReturnType<typeof worker.mark> | undefined
    let pausing: Promise<boolean> | undefined
    await inTx(async (tx) => {
      await sql`select 1 from emails where project_id = ${email.projectId} and id = ${email.id} for update`.execute(tx)
      marking = worker.mark(markable(email))
      await blocked('emails_to_mark')
      pausing = inTx((other) => pauseStream(other, campaign))
      await blocked('update streams set paused_at')
    })
    expect([(await marking) !== undefined, await pausing]).toEqual([true, true])
    expect((await rowsOf(campaign)).filter(({ marked }) => marked)).toHaveLength(1)
  })

  test('never follows a pause that was answered', async () => {
    const campaign = await newCampaign({ emails: 40 })
    const marked = async () => (await rowsOf(campaign)).filter((row) => row.marked).map(({ id }) => id)
    const refused: boolean[] = []
    for (const email of await claimedOf(campaign)) {
      const marking = worker.mark(markable(email))
      await inTx((tx) => pauseStream(tx, campaign))
      const answered = await marked()
      refused.push((await marking) === undefined)
      expect(await marked()).toEqual(answered)
      await inTx((tx) => resumeStream(tx, campaign))
    }
    expect(refused).toHaveLength(40)
  })
})

describe('the gate', () => {
  const pass = (emails: ClaimedEmail[]) => passGate(sterna.db, emails, createContents(sterna.db).find)

  test('defers an email of a campaign whose domain is no longer verified, and fails any other', async () => {
    const other = await newProject()
    const emails = await claimedOf(await newCampaign({ projectId: other.id, fromDomain: other.domain }))
    await sql`update domains set status = 'pending', verified_by = null, verified_at = null where project_id = ${other.id}`.execute(
      sterna.db,
    )
    const { refused } = await pass([emails[0]!, { ...emails[1]!, campaignId: null }])
    expect(refused.map(({ state, error }) => [state, error])).toEqual([
      ['deferred', 'domain_not_verified'],
      ['failed', 'domain_not_verified'],
    ])
  })

  test('counts the age of an email of a campaign from its first failure', async () => {
    const [email] = await claimedOf(await newCampaign())
    const longAgo = new Date(Date.now() - 8 * 86_400_000)
    const { admitted, refused } = await pass([
      { ...email!, createdAt: longAgo },
      { ...email!, firstFailedAt: longAgo },
      { ...email!, createdAt: longAgo, campaignId: null },
    ])
    expect(admitted).toHaveLength(1)
    expect(refused.map(({ error }) => error)).toEqual(['expired', 'expired'])
  })
})

describe('a cancelled stream', () => {
  test('ends with every email cancelled: queued, deferred, and in hand', async () => {
    const campaign = await newCampaign({ emails: 5 })
    const [inHand, deferred] = await claimedOf(campaign, 2)
    await worker.settle({ ...markable(deferred!), state: 'deferred', error: 'busy', code: 'transient', waitSeconds: 3_600 })
    await inTx((tx) => cancelStream(tx, campaign))
    expect(await claimedOf(campaign)).toEqual([])
    expect(await inTx((tx) => cancelQueued(tx, { ...campaign.stream, limit: 3 }))).toBe(4)
    expect(await hasOpenEmails(sterna.db, campaign)).toBe(true)
    expect(await worker.mark(markable(inHand!))).toBeUndefined()
    await worker.settle({ ...markable(inHand!), state: 'queued', error: null })
    await cancelStreams(sterna.db, 100)
    expect(new Set(await statesOf(campaign))).toEqual(new Set(['cancelled']))
    expect(await hasOpenEmails(sterna.db, campaign)).toBe(false)
    await inTx((tx) => removeStream(tx, campaign))
    expect(await readStreamState(sterna.db, campaign)).toBeUndefined()
  })
})

describe('open emails of a campaign', () => {
  test.each([['queued'], ['deferred'], ['sending'], ['unknown']])('are found when %s', async (state) => {
    const campaign = await newCampaign({ emails: 2 })
    await sql`update emails set state = 'sent' where campaign_id = ${campaign.campaignId}`.execute(sterna.db)
    expect(await hasOpenEmails(sterna.db, campaign)).toBe(false)
    const { id } = (await rowsOf(campaign))[0]!
    await sql`update emails set state = ${state}, unknown_since = now(), due_at = 'infinity' where id = ${id}`.execute(sterna.db)
    expect(await hasOpenEmails(sterna.db, campaign)).toBe(true)
  })
})

describe('a resend', () => {
  test('queues the emails again that may arrive now, and only those', async () => {
    const codes = ['transient', 'expired', 'domain_not_verified', 'bounced', 'rejected', 'rendering', 'too_large', 'outcome_unknown']
    const campaign = await newCampaign({ emails: codes.length })
    const ids = (await rowsOf(campaign)).map(({ id }) => id)
    await sql`
      update emails e set state = 'failed', error = f.code, error_code = f.code, failures = 4, first_failed_at = now() - interval '3 days', attempts = 4,
        created_at = now() - interval '8 days', message_id = 'kept' || e.id
      from unnest(${ids}::uuid[], ${codes}::text[]) as f(id, code) where e.id = f.id
    `.execute(sterna.db)
    const requeue = (includeUnknown: boolean) => inTx((tx) => requeueFailed(tx, { ...campaign, includeUnknown, limit: 100 }))
    const queued = async () => (await rowsOf(campaign)).flatMap(({ state }, index) => (state === 'queued' ? [codes[index]] : []))
    expect([await requeue(false), await queued()]).toEqual([3, codes.slice(0, 3)])
    expect([await requeue(true), await queued()]).toEqual([1, [...codes.slice(0, 3), 'outcome_unknown']])
    expect(await requeue(true)).toBe(0)
    const [row] = await many(sterna.db, sql`select error, failures, first_failed_at, message_id from emails where id = ${ids[0]}`)
    expect(row).toEqual({ error: null, failures: 0, first_failed_at: null, message_id: `kept${ids[0]}` })
    await sql`update streams set expiry_from = now() - interval '8 days' where id = ${campaign.streamId}`.execute(sterna.db)
    await expireQueued(sterna.db, 100)
    expect(await queued()).toHaveLength(4)
  })
})

describe('expiry', () => {
  test('spares campaigns that wait for a person or for their rate', async () => {
    const [paused, slow, other] = [await newCampaign(), await newCampaign({ ratePerMinute: 1 }), await newCampaign()]
    await inTx((tx) => pauseStream(tx, paused))
    const ids = [paused, slow, other].map(({ streamId }) => streamId)
    await sql`update emails set created_at = now() - interval '8 days' where campaign_id = any(${ids}::uuid[])`.execute(sterna.db)
    await sql`update streams set expiry_from = now() - interval '8 days' where id = any(${ids}::uuid[])`.execute(sterna.db)
    await expireQueued(sterna.db, 2)
    expect([await statesOf(paused), await statesOf(slow), await statesOf(other)].map((states) => [...new Set(states)])).toEqual([
      ['queued'],
      ['queued'],
      ['failed'],
    ])
    await inTx((tx) => resumeStream(tx, paused))
    await expireQueued(sterna.db, 100)
    expect(new Set(await statesOf(paused))).toEqual(new Set(['queued']))
  })
})

describe('enqueueing', () => {
  test('an audience makes ids in its order, and Message-IDs that name the email', async () => {
    const [campaignId, contentId] = [newId(), newId()]
    // Ten more than were expected.
    const page = { projectId: project.id, campaignId, contentId, fromDomain: project.domain, contacts: 4_990 }
    const audience = sql`(select n, md5(n::text)::uuid as contact_id, n || '@example.com' as address from generate_series(1, 5000) as n) as audience`
    const from = await databaseTime()
    const enqueue = (mayExist: boolean) =>
      many(sterna.db, sql<{ id: string }>`${enqueueAudienceSql(audience, { ...page, mayExist })} returning id`)
    expect(await enqueue(false)).toHaveLength(5_000)
    await expect(enqueue(false)).rejects.toThrow('emails_of_campaign')
    expect(await enqueue(true)).toEqual([])
    const rows = await many(
      sterna.db,
      sql<{ id: string; messageId: string; address: string }>`
        select id, message_id as "messageId", to_address as address from emails where campaign_id = ${campaignId} order by id
      `,
    )
    expect(rows.map(({ address }) => address)).toEqual(Array.from({ length: 5_000 }, (_, index) => `${index + 1}@example.com`))
    expect(rows.filter(({ id, messageId }) => emailOfMessageId(messageId) !== id)).toEqual([])
    expect(rows.filter(({ id }) => !/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))).toEqual([])
    expect(new Set(rows.map(({ messageId }) => messageId.slice(32, 52))).size).toBe(5_000)
    expect(idTime(rows[0]!.id).getTime()).toBeGreaterThanOrEqual(from.getTime() - 1)
  })

  test('gives workflows a stream of their own with low priority, and tests that of the project', async () => {
    const email = {
      projectId: project.id,
      contentId: newId(),
      contactId: null,
      toAddress: 'ada@example.com',
      toName: null,
      vars: {},
      fromDomain: project.domain,
    }
    const [request, workflow, campaign, test_] = [newId(), newId(), newId(), newId()]
    const execution = newId()
    await inTx((tx) =>
      enqueueEmails(tx, [
        { ...email, id: request, sourceType: 'TRANSACTIONAL' },
        { ...email, id: workflow, sourceType: 'WORKFLOW', workflowExecutionId: execution },
        { ...email, id: campaign, sourceType: 'CAMPAIGN', campaignId: execution },
        { ...email, id: test_, sourceType: 'CAMPAIGN', campaignId: execution, test: true },
      ]),
    )
    const rows = await many(
      sterna.db,
      sql<{ id: string; lane: number; stream: string; source: string | null }>`
        select id, lane, stream_id as stream, coalesce(campaign_id, workflow_execution_id) as source from emails
        where content_id = ${email.contentId}
      `,
    )
    const of = (id: string) => rows.find((row) => row.id === id)!
    expect(of(request)).toMatchObject({ lane: 0, stream: project.id, source: null })
    expect(of(workflow)).toMatchObject({ lane: 1, source: execution })
    expect([project.id, execution]).not.toContain(of(workflow).stream)
    expect(of(campaign)).toMatchObject({ lane: 1, stream: execution, source: execution })
    expect(of(test_)).toMatchObject({ lane: 0, stream: project.id, source: execution })
  })

  test('a stream that is opened again is neither paused nor cancelled', async () => {
    const campaign = await newCampaign({ ratePerMinute: 5 })
    await inTx((tx) => cancelStream(tx, campaign))
    await inTx((tx) => openStream(tx, { ...campaign.stream, fromDomain: project.domain }))
    expect(await readStreamState(sterna.db, campaign)).toEqual({
      pausedAt: null,
      cancelledAt: null,
      ratePerMinute: null,
      derivedPause: null,
    })
  })
})
