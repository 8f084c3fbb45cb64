import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many, transact, transactAtOnce } from '../../src/db/index.ts'
import type { HeldRefusal, Settlement } from '../../src/delivery/outbox/outcomes/settlement.ts'
import { claimProbe, concludeProbe, endProbe, reserveProbes } from '../../src/delivery/outbox/probes.ts'
import { HELD, holdSql, MAX_EQUAL_REPLIES, REFUSAL_TIMING } from '../../src/delivery/outbox/refusals/hold.ts'
import { applyVerdicts, askAgain, pauseStreaks, tidyHeldRefusals } from '../../src/delivery/outbox/refusals/verdicts.ts'
import { PRIORITIES } from '../../src/delivery/outbox/streams/stream-of.ts'
import type { ReadyEmail } from '../../src/delivery/sender/build-email.ts'
import { createLedger } from '../../src/delivery/sender/ledger/ledger.ts'
import type { Health } from '../../src/delivery/sender/limits/health.ts'
import { createRefusedDomains } from '../../src/delivery/sender/limits/refused-domains.ts'
import { createSlots } from '../../src/delivery/sender/limits/slots.ts'
import { createVerifier } from '../../src/delivery/sender/verify.ts'
import { NIL_ID } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { createOwners } from '../../src/projects/owner.ts'
import { useOutbox } from '../support/delivery/outbox.ts'

// The statements that hold and judge refusals, in the order of settlement.

const { sterna, newProject, newWorker, newCampaign, claimOf, rowsOf } = useOutbox()

const NEVER_MS = 3_600_000
const AT_ONCE_MS = 0

type Outcome = 'accepted' | 'a' | 'b'

const PLAIN = { unknownRecipient: true, plain: true, acceptedBefore: false }

const judge = (holdMs = NEVER_MS) => transact(sterna.db, (tx) => applyVerdicts(tx, { holdMs, limit: 100 }))

const pausesOf = (projectId: string) =>
  many(sterna.db, sql<{ fingerprint: string }>`select fingerprint from sending_pauses where project_id = ${projectId} and verifies`)

/** Emails of a new campaign in hand of a worker, to be settled one by one. */
async function inHand(count: number, more: Partial<HeldRefusal> = {}) {
  const { id: projectId, domain } = await newProject()
  const campaign = await newCampaign({ projectId, fromDomain: domain, emails: count })
  const worker = await newWorker()
  const claimed = await claimOf(worker, { projectId }, count)
  expect(claimed).toHaveLength(count)
  const settlementOf = (index: number, outcome: Outcome): Settlement => {
    const { id, attempts, wasHeld } = claimed[index]!
    const base = { projectId, id, attempts, wasHeld, domain }
    if (outcome === 'accepted') return { ...base, state: 'sent', error: null }
    return {
      ...base,
      state: 'deferred',
      error: HELD,
      code: HELD,
      refusal: { fingerprint: outcome, reply: `550 ${outcome}`, ...PLAIN, ...more },
    }
  }
  return {
    projectId,
    domain,
    campaign,
    worker,
    settlementOf,
    /** Each in a statement of its own, as the workers judge meanwhile. */
    settle: async (outcomes: Outcome[]) => {
      for (const [index, outcome] of outcomes.entries()) {
        expect(await worker.settle(settlementOf(index, outcome))).toBe(true)
        await judge()
      }
    },
    states: async () => {
      const byId = new Map((await rowsOf(campaign)).map((row) => [row.id, row.code === HELD ? 'held' : row.state]))
      return claimed.map(({ id }) => byId.get(id))
    },
    ids: claimed.map(({ id }) => id),
  }
}

/**
 * What the rules say: equal replies since the last accepted recipient are counted, and the fifth pauses until probes decide. An accepted recipient lets
 * the others stand, unless they were five or more.
 */
function expectedOf(outcomes: Outcome[]) {
  let streaks: Record<'a' | 'b', number[]> = { a: [], b: [] }
  const frequent = new Set<number>()
  let paused: 'a' | 'b' | undefined
  const states = outcomes.map((outcome): string => (outcome === 'accepted' ? 'sent' : 'held'))
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome === 'accepted') {
      streaks = { a: [], b: [] }
      for (let before = 0; before < index; before++)
        if (states[before] === 'held' && outcomes[before] !== paused && !frequent.has(before)) states[before] = 'failed'
    } else if (streaks[outcome].push(index) >= MAX_EQUAL_REPLIES) {
      for (const each of streaks[outcome]) frequent.add(each)
      paused ??= outcome
    }
  }
  return { states, paused: paused ? [{ fingerprint: paused }] : [] }
}

describe('held refusals', () => {
  test('stand after the next accepted recipient, and five equal ones in a row pause, in any order of settlement', async () => {
    const outcome = fc.oneof(
      { weight: 2, arbitrary: fc.constant<Outcome>('accepted') },
      { weight: 5, arbitrary: fc.constant<Outcome>('a') },
      { weight: 3, arbitrary: fc.constant<Outcome>('b') },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(outcome, { minLength: 1, maxLength: 14 }), async (outcomes) => {
        const emails = await inHand(outcomes.length)
        await emails.settle(outcomes)
        const { states, paused } = expectedOf(outcomes)
        expect(await emails.states()).toEqual(states)
        expect(await pausesOf(emails.projectId)).toEqual(paused)
      }),
      { numRuns: 12 },
    )
  })

  test('in one batch are followed by the recipients that were accepted after them', async () => {
    const emails = await inHand(7)
    const outcomes: Outcome[] = ['a', 'a', 'a', 'a', 'accepted', 'a', 'b']
    const settlements = outcomes.map((outcome, index) => emails.settlementOf(index, outcome))
    await transactAtOnce(sterna.db, [...holdSql(settlements, REFUSAL_TIMING)])
    expect(await pausesOf(emails.projectId)).toEqual([])
    await judge()
    expect(await emails.states()).toEqual(['failed', 'failed', 'failed', 'failed', 'sending', 'held', 'held'])
  })

  test('stand when their time is over, unless there are five equal ones', async () => {
    const [few, many5] = [await inHand(4), await inHand(5)]
    await few.settle(Array(4).fill('a'))
    await many5.settle(Array(5).fill('a'))
    await judge()
    expect([await few.states(), await many5.states()].flat()).toEqual(Array(9).fill('held'))
    await judge(AT_ONCE_MS)
    expect(await few.states()).toEqual(Array(4).fill('failed'))
    expect(await many5.states()).toEqual(Array(5).fill('held'))
  })

  test.each(['the sender domain', 'the provider'])('do not stand by time while %s is paused', async (paused) => {
    const emails = await inHand(2)
    await emails.settle(['a', 'a'])
    const [projectId, domain] = paused === 'the provider' ? [NIL_ID, ''] : [emails.projectId, emails.domain]
    await sql`insert into sending_pauses (project_id, domain, reason, until) values (${projectId}, ${domain}, '451', now())`.execute(
      sterna.db,
    )
    await judge(AT_ONCE_MS)
    expect(await emails.states()).toEqual(['held', 'held'])
    await sql`delete from sending_pauses where project_id = ${projectId} and domain = ${domain}`.execute(sterna.db)
    await judge(AT_ONCE_MS)
    expect(await emails.states()).toEqual(['failed', 'failed'])
  })

  test.each(['the fifth refusal', 'the next check'])('begin a pause for another reason anew, with %s', async (by) => {
    const emails = await inHand(5)
    const { projectId, domain } = emails
    const pause = sql`
      insert into sending_pauses (project_id, domain, reason, cause, failed_probes, until, probe_until, since, escalated)
      values (${projectId}, ${domain}, '451', 'quota', 7, now() + interval '1 hour', now() + interval '1 hour', now() - interval '1 hour', true)`
    if (by === 'the fifth refusal') await pause.execute(sterna.db)
    await emails.settle(Array(5).fill('a'))
    if (by === 'the next check') {
      await sql`delete from sending_pauses where project_id = ${projectId}`.execute(sterna.db)
      await pause.execute(sterna.db)
      await transact(sterna.db, (tx) => pauseStreaks(tx, REFUSAL_TIMING))
    }
    const rows = await many(
      sterna.db,
      sql`
        select fingerprint, reason, cause, failed_probes, probe_until, escalated, since > now() - interval '1 minute' as "isNew",
          until < now() + interval '1 minute' as "isShort", verifies
        from sending_pauses where project_id = ${projectId}
      `,
    )
    const anew = { fingerprint: 'a', reason: '550 a', cause: null, failed_probes: 0, probe_until: null, escalated: false }
    expect(rows).toEqual([{ ...anew, isNew: true, isShort: true, verifies: true }])
  })

  test('of emails of a week ago end as transient, and nobody is suppressed', async () => {
    const emails = await inHand(5)
    await emails.settle(Array(5).fill('a'))
    await sql`update held_refusals set held_at = now() - interval '2 hours' where project_id = ${emails.projectId}`.execute(sterna.db)
    await judge()
    expect(await emails.states()).toEqual(Array(5).fill('held'))
    await sql`update emails set created_at = now() - interval '8 days' where project_id = ${emails.projectId}`.execute(sterna.db)
    await sql`update streams set expiry_from = now() - interval '8 days' where project_id = ${emails.projectId}`.execute(sterna.db)
    await judge()
    expect((await rowsOf(emails.campaign)).map(({ state, code }) => [state, code])).toEqual(Array(5).fill(['failed', 'transient']))
    expect(await many(sterna.db, sql`select 1 from provider_notifications where project_id = ${emails.projectId}`)).toEqual([])
  })

  test('whose emails have ended otherwise are forgotten, and a held email without its refusal is queued again', async () => {
    const emails = await inHand(2)
    await emails.settle(['a', 'a'])
    const [ended, lost] = emails.ids
    await sql`update emails set state = 'cancelled', error_code = 'cancelled' where id = ${ended}`.execute(sterna.db)
    await sql`delete from held_refusals where email_id = ${lost}`.execute(sterna.db)
    await transact(sterna.db, tidyHeldRefusals)
    expect(await many(sterna.db, sql`select 1 from held_refusals where project_id = ${emails.projectId}`)).toEqual([])
    expect((await rowsOf(emails.campaign)).find(({ id }) => id === lost)).toMatchObject({ state: 'queued', code: null })
  })

  test('an accepted recipient whose message was under way does not end the pause', async () => {
    const emails = await inHand(6)
    await emails.settle(['a', 'a', 'a', 'a', 'a', 'accepted'])
    await judge(AT_ONCE_MS)
    expect(await emails.states()).toEqual([...Array(5).fill('held'), 'sent'])
    expect(await pausesOf(emails.projectId)).toHaveLength(1)
  })
})

test('an email that keeps being put back waits in between, without a failure, and its count has an end', async () => {
  const emails = await inHand(1)
  const { projectId, worker, campaign } = emails
  const read = () =>
    many(sterna.db, sql`select state, due_at is not null as waits, put_back, failures from emails where project_id = ${projectId}`)
  const putBack = async () => {
    const { attempts, id } = (await rowsOf(campaign))[0]!
    await sql`update emails set state = 'sending', due_at = null where project_id = ${projectId}`.execute(sterna.db)
    await worker.settle({ projectId, id, attempts, state: 'queued', putBack: true, error: null })
  }
  for (const put_back of [1, 2, 3]) {
    await putBack()
    expect(await read()).toEqual([{ state: 'queued', waits: false, put_back, failures: 0 }])
  }
  await putBack()
  expect(await read()).toEqual([{ state: 'deferred', waits: true, put_back: 4, failures: 0 }])
  await sql`update emails set put_back = 32767 where project_id = ${projectId}`.execute(sterna.db)
  await putBack()
  expect(await read()).toEqual([{ state: 'deferred', waits: true, put_back: 32_767, failures: 0 }])
})

describe('the probe of a pause', () => {
  /** Five held emails, perhaps a queued one, and the probe in hand. */
  async function probing({ withOther = false } = {}) {
    const emails = await inHand(5)
    await emails.settle(Array(5).fill('a'))
    const other = withOther && (await newCampaign({ projectId: emails.projectId, fromDomain: emails.domain, emails: 1 }))
    await sql`update sending_pauses set until = now() where project_id = ${emails.projectId}`.execute(sterna.db)
    const reserve = async () =>
      (await transact(sterna.db, (tx) => reserveProbes(tx, { probeMs: 60_000, limit: 100 }))).find(
        ({ projectId }) => projectId === emails.projectId,
      )
    const pause = (await reserve())!
    expect(await reserve()).toBeUndefined()
    const probe = await claimProbe(sterna.db, await one(), pause)
    if (other) expect(probe.email?.campaignId).toBe(other.campaignId)
    else expect(probe.email?.id).toBe(emails.ids[0])
    return {
      ...emails,
      pause,
      probe,
      email: probe.email!,
      end: () => transact(sterna.db, (tx) => endProbe(tx, pause, probe, REFUSAL_TIMING)),
    }
  }

  /** A worker with a lease. */
  let workers = 5_000
  async function one() {
    const worker = ++workers
    await sql`insert into senders (worker, lease_until) values (${worker}, 'infinity')`.execute(sterna.db)
    return worker
  }

  test('are reserved for owners in turn, however many pauses one of them has', async () => {
    await sql`update sending_pauses set until = 'infinity'`.execute(sterna.db)
    const [a, b] = [await newProject(), await newProject()]
    const same = await newProject(a.owner)
    const pause = async ({ id }: { id: string }, domains: string[]) => {
      for (const domain of domains)
        await sql`
          insert into sending_pauses (project_id, domain, reason, fingerprint, until, verifies)
          values (${id}, ${domain}, '550', ${domain}, now(), true)
        `.execute(sterna.db)
    }
    await pause(a, ['1.example', '2.example'])
    await pause(same, ['3.example', '4.example', '5.example'])
    await pause(b, ['6.example', '7.example'])
    const reserve = async (limit: number, probed: string[]) =>
      (await transact(sterna.db, (tx) => reserveProbes(tx, { probeMs: 60_000, limit, probed }))).map(({ projectId }) => projectId)
    expect((await reserve(2, [])).filter((id) => id === b.id)).toHaveLength(1)
    expect(await reserve(1, [a.id, same.id])).toEqual([b.id])
    expect(await reserve(9, [])).toHaveLength(4)
  })

  test('is a held email when no other is queued; accepted, it voids the others in the same statement, and they are queued again', async () => {
    const { projectId, domain, email, worker, states, end } = await probing()
    const { id, attempts, wasHeld } = email
    expect(wasHeld).toBe(true)
    await worker.settle({ projectId, id, attempts, wasHeld, domain, state: 'sent', error: null })
    expect(await states()).toEqual(['sent', 'queued', 'queued', 'queued', 'queued'])
    expect(await pausesOf(projectId)).toEqual([])
    expect(await judge(AT_ONCE_MS)).toBe(0)
    expect(await end()).toBe('end')
  })

  test('is another email if one is queued; accepted, each held email is asked again, and stands only when it is refused alike', async () => {
    const { projectId, domain, email, worker, states, settlementOf, ids, end } = await probing({ withOther: true })
    await sql`update held_refusals set held_at = now() - interval '1 minute' where project_id = ${projectId}`.execute(sterna.db)
    await worker.settle({ ...email, domain, state: 'sent', error: null, beganAt: performance.now() })
    await judge(AT_ONCE_MS)
    expect(await transact(sterna.db, (tx) => askAgain(tx, 100))).toBe(0)
    expect(await end()).toBe('end')
    expect(await judge(AT_ONCE_MS)).toBe(0)
    expect(await states()).toEqual(Array(5).fill('held'))
    expect(await transact(sterna.db, (tx) => askAgain(tx, 100))).toBe(5)
    const again = await claimOf(worker, { projectId })
    expect(again.map(({ id, wasHeld }) => [id, wasHeld])).toEqual(ids.map((id) => [id, true]))
    const { attempts, wasHeld } = again[0]!
    await worker.settle({ ...settlementOf(0, 'a'), attempts, wasHeld })
    expect(await pausesOf(projectId)).toEqual([])
    await judge()
    expect((await states())[0]).toBe('failed')
    await worker.settle({ ...settlementOf(1, 'accepted'), attempts, wasHeld })
    expect(await many(sterna.db, sql`select 1 from provider_notifications where project_id = ${projectId}`)).toHaveLength(1)
  })

  test('that was refused, whatever the reply, doubles the pause; one that did not reach the server does not', async () => {
    const { projectId, domain, email, worker, end } = await probing({ withOther: true })
    await worker.settle({ ...email, domain, state: 'queued', error: '550', code: 'provider_paused' })
    expect(await end()).toBe('retry')
    const counted = sql`select failed_probes, probe_until from sending_pauses where project_id = ${projectId}`
    expect(await many(sterna.db, counted)).toEqual([{ failed_probes: 0, probe_until: null }])
    await sql`update emails set state = 'deferred', error_code = 'transient' where project_id = ${projectId} and id = ${email.id}`.execute(
      sterna.db,
    )
    expect(await end()).toBe('pause')
    expect(await many(sterna.db, counted)).toEqual([{ failed_probes: 1, probe_until: null }])
  })

  test.each([
    ['sending', true],
    ['sent', false],
  ])('knows whether there is another email that cannot be claimed: %s', async (state, othersWait) => {
    const emails = await inHand(5)
    const { projectId, domain } = emails
    await emails.settle(Array(5).fill('a'))
    const { campaignId } = await newCampaign({ projectId, fromDomain: domain, emails: 1 })
    await sql`update emails set state = ${state} where project_id = ${projectId} and campaign_id = ${campaignId}`.execute(sterna.db)
    const probe = await claimProbe(sterna.db, await one(), { projectId, domain, fingerprint: 'a', failedProbes: 0 })
    expect(probe).toMatchObject({ email: { id: emails.ids[0] }, othersWait })
  })

  test('that cannot be any held email, since a person stopped its campaign, ends the pause, and the held emails are queued there again', async () => {
    const emails = await inHand(5)
    const { projectId, domain, campaign } = emails
    await emails.settle(Array(5).fill('a'))
    const stop = sql`update streams set paused_at = now() where project_id = ${projectId} and id = ${campaign.campaignId}`
    await stop.execute(sterna.db)
    await sql`update held_refusals set held_at = now() - interval '8 days' where project_id = ${projectId}`.execute(sterna.db)
    await sql`update emails set created_at = now() - interval '8 days' where project_id = ${projectId}`.execute(sterna.db)
    await judge(AT_ONCE_MS)
    expect(await emails.states()).toEqual(Array(5).fill('held'))
    const pause = { projectId, domain, fingerprint: 'a', failedProbes: 0 }
    const probe = await claimProbe(sterna.db, await one(), pause)
    expect(probe.email).toBeUndefined()
    expect(await transact(sterna.db, (tx) => endProbe(tx, pause, probe, REFUSAL_TIMING))).toBe('requeue')
    await judge(AT_ONCE_MS)
    expect(await emails.states()).toEqual(Array(5).fill('queued'))
    expect(await pausesOf(projectId)).toEqual([])
  })

  test('is a transactional email before those of campaigns, and one to another recipient domain before the others', async () => {
    const emails = await inHand(5)
    const { projectId, domain } = emails
    await emails.settle(Array(5).fill('a'))
    const campaign = await newCampaign({ projectId, fromDomain: domain, emails: 3 })
    const [bulk, first, second] = (await rowsOf(campaign)).map(({ id }) => id)
    await sql`
      update emails set lane = ${PRIORITIES.transactional}, stream_id = project_id, campaign_id = null,
        to_address = case when id = ${first} then to_address else 'ada@other.example' end
      where project_id = ${projectId} and id = any(${[first, second]}::uuid[])
    `.execute(sterna.db)
    const pause = { projectId, domain, fingerprint: 'a', failedProbes: 0 }
    const claimed = []
    for (let count = 0; count < 4; count++) claimed.push((await claimProbe(sterna.db, await one(), pause)).email?.id)
    expect(claimed).toEqual([second, first, bulk, emails.ids[0]])
  })

  test('is found behind any number of those that a person stopped', async () => {
    const emails = await inHand(5)
    const { projectId, domain } = emails
    await emails.settle(Array(5).fill('a'))
    const { campaignId } = await newCampaign({ projectId, fromDomain: domain, emails: 201 })
    await sql`update streams set paused_at = now() where project_id = ${projectId} and id = ${campaignId}`.execute(sterna.db)
    await sql`
      with stopped as (
        update emails set state = 'deferred', error = ${HELD}, error_code = ${HELD} where project_id = ${projectId} and campaign_id = ${campaignId} returning id
      )
      insert into held_refusals (project_id, email_id, domain, fingerprint, reply, unknown_recipient, place) overriding system value
      select ${projectId}, id, ${domain}, 'a', '550 a', true, -1 from stopped
    `.execute(sterna.db)
    const probe = await claimProbe(sterna.db, await one(), { projectId, domain, fingerprint: 'a', failedProbes: 0 })
    expect(probe.email?.id).toBe(emails.ids[0])
  })

  /** A verifier for one due pause, whose worker builds emails by `prepare`. */
  async function verifying(prepare: Parameters<typeof createVerifier>[0]['prepare'], isExclusive = () => false) {
    await sql`update sending_pauses set until = 'infinity'`.execute(sterna.db)
    const emails = await inHand(5)
    const { projectId, domain } = emails
    await emails.settle(Array(5).fill('a'))
    await newCampaign({ projectId, fromDomain: domain, emails: 1 })
    await sql`update sending_pauses set until = now() where project_id = ${projectId}`.execute(sterna.db)
    const owners = createOwners(sterna.db)
    const ledger = createLedger<ReadyEmail>(owners.of, createSlots())
    const health = { isVerifying: () => true, isProviderPaused: () => false, sync: async () => {} } as Health
    const verifier = createVerifier({
      db: sterna.db,
      worker: await one(),
      readOwners: owners.read,
      ledger,
      health,
      prepare,
      send: async () => {},
      isDue: () => true,
      timing: REFUSAL_TIMING,
      refusedDomains: createRefusedDomains(),
      oneAtATime: (run) => run(),
      mayWork: () => true,
      isExclusive,
      stopping: new AbortController().signal,
      onQueued: () => {},
      log: createLog('silent'),
    })
    await verifier.verify()
    await verifier.untilProbed()
    return { projectId, ledger, owners }
  }

  test('is given back when it cannot be prepared, and counts for the owner of their project', async () => {
    const prepared: string[] = []
    const { projectId, ledger, owners } = await verifying(async (emails, { onPrepared }) => {
      prepared.push(...emails.map(({ id }) => id))
      onPrepared([emails[0]!], [{ email: emails[0]! } as ReadyEmail])
      throw new Error('the database is away')
    })
    expect(prepared).toHaveLength(1)
    expect(ledger.heldIds()).toEqual([])
    expect(owners.of(projectId)).not.toBe(projectId)
  })

  test('is not claimed while a suspect is sent alone, and may be reserved again at once', async () => {
    const asked = [false, true]
    const { projectId } = await verifying(
      async () => expect.unreachable(),
      () => asked.shift() ?? true,
    )
    expect(asked).toEqual([])
    expect(await many(sterna.db, sql`select failed_probes, probe_until from sending_pauses where project_id = ${projectId}`)).toEqual([
      { failed_probes: 0, probe_until: null },
    ])
    expect(await many(sterna.db, sql`select 1 from emails where project_id = ${projectId} and state = 'sending'`)).toEqual([])
  })

  test('is no held email that is a suspect', async () => {
    const emails = await inHand(5)
    const { projectId, domain } = emails
    await emails.settle(Array(5).fill('a'))
    await sql`update emails set crashes = 3 where project_id = ${projectId} and id = ${emails.ids[0]}`.execute(sterna.db)
    const probe = await claimProbe(sterna.db, await one(), { projectId, domain, fingerprint: 'a', failedProbes: 0 })
    expect(probe.email?.id).toBe(emails.ids[1])
  })

  test.each([
    ['end', { outcome: 'accepted' }],
    ['end', { outcome: 'accepted', hasHeld: false, mayProbe: false }],
    ['pause', { outcome: 'refused' }],
    ['pause', { outcome: 'open', mayProbe: false }],
    ['retry', { outcome: 'otherwise' }],
    ['retry', { outcome: 'otherwise', hasHeld: false, mayProbe: false }],
    ['retry', { outcome: null }],
    ['retry', { outcome: null, othersWait: true, mayProbe: false }],
    ['requeue', { outcome: null, mayProbe: false }],
    ['end', { outcome: null, hasHeld: false, mayProbe: false }],
  ] as const)('concludes to %s from %j', (conclusion, findings) => {
    expect(concludeProbe({ hasHeld: true, mayProbe: true, ...findings })).toBe(conclusion)
  })
})
