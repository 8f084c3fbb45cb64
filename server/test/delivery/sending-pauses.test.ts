import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, one } from '../../src/db/index.ts'
import { PRIORITIES } from '../../src/delivery/outbox/streams/stream-of.ts'
import { createHealth } from '../../src/delivery/sender/limits/health.ts'
import { createPauseStore, PAUSE_TIMING } from '../../src/delivery/sender/limits/pauses.ts'
import { PROVIDER } from '../../src/delivery/sender/limits/stored-pauses.ts'
import type { Disposition } from '../../src/delivery/transport/classify.ts'
import { newId } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { cloneDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const log = createLog('silent')
let db: ReturnType<typeof connect>
let drop: () => Promise<void>

beforeAll(async () => {
  const database = await cloneDatabase()
  db = connect({ url: database.url, max: 2, log })
  drop = database.drop
})
afterAll(async () => {
  await db.destroy()
  await drop()
})

/** The provider is paused, the pause is due, and the first of two workers has the probe. */
async function probingWorkers(probeMs = PAUSE_TIMING.probeMs) {
  const timing = { ...PAUSE_TIMING, providerMs: 0, probeMs }
  const [first, second] = [createPauseStore({ db, log, timing }), createPauseStore({ db, log, timing })] as const
  first.pause(PROVIDER, '554 5.7.1 Blocked')
  await first.sync()
  await second.sync()
  expect(await first.takeProbe(PROVIDER)).toBe(true)
  await second.sync()
  return { first, second }
}

test('only one worker probes at a time', async () => {
  const { first, second } = await probingWorkers()
  expect(await second.takeProbe(PROVIDER)).toBe(false)
  first.probed(PROVIDER, 'works')
  await first.sync()
})

test('a worker that stops leaves its probe to another', async () => {
  const { first, second } = await probingWorkers()
  await first.release()
  await second.sync()
  expect(await second.takeProbe(PROVIDER)).toBe(true)
  second.probed(PROVIDER, 'works')
  await second.sync()
})

test('another worker probes when the first one never reports', async () => {
  const { second } = await probingWorkers(1)
  await new Promise((resolve) => setTimeout(resolve, 20))
  await second.sync()
  expect(await second.takeProbe(PROVIDER)).toBe(true)
})

/** A worker whose requests to the provider had no reply, and which has reserved the probe. */
async function probingAfterUnknown(transactionalFirstMs: number) {
  const timing = { ...PAUSE_TIMING, unknownMs: 50, transactionalFirstMs }
  const health = createHealth({ db, log, timing })
  const email = { projectId: newId(), toAddress: 'ann@example.com', priority: PRIORITIES.transactional }
  const attempt = { email, domain: 'shop.example' }
  const unanswered: Disposition = { action: 'unknown', about: 'provider', reason: '503 ServiceUnavailable: Try again' }
  for (let times = 1; times <= 3; times++) health.attempted({ ...attempt, disposition: unanswered })
  expect(health.isProviderPaused()).toBe(true)
  await health.sync()
  await eventually(async () => expect(await health.tryProvider()).toBe(true))
  return { health, attempt, unanswered }
}

test('after unknown outcomes a transactional email is the probe, and any other one when none comes', async () => {
  const [patient, other] = [await probingAfterUnknown(3_600_000), PRIORITIES.bulk]
  expect([patient.health.mayBeProbe({ priority: PRIORITIES.transactional }), patient.health.mayBeProbe({ priority: other })]).toEqual([
    true,
    false,
  ])
  expect(patient.health.takeProviderProbe()).toBe(true)
  patient.health.probed({ ...patient.attempt, disposition: { action: 'sent', reason: null } }, { provider: true, domain: false })
  await patient.health.sync()
  const { health, attempt } = await probingAfterUnknown(0)
  expect(health.mayBeProbe({ priority: other })).toBe(true)
  expect(health.takeProviderProbe()).toBe(true)
  // It asks for a slower pace: it answers again.
  health.probed(
    { ...attempt, disposition: { action: 'retry', about: 'provider', throttled: true, reason: '429' } },
    { provider: true, domain: false },
  )
  expect(health.isProviderPaused()).toBe(false)
  await health.sync()
})

test('after unknown outcomes there is a probe every 15 seconds, however many were in vain, and also when one gets no reply', async () => {
  const store = createPauseStore({ db, log })
  const secondsLeft = () =>
    one<{ pause: number; probe: number | null; cause: string }>(db)`
      select extract(epoch from until - now())::float8 as pause, extract(epoch from probe_until - now())::float8 as probe, cause from sending_pauses
    `
  store.pause(PROVIDER, '503 ServiceUnavailable', { cause: 'unknown' })
  for (let probe = 1; probe <= 4; probe++) {
    await store.sync()
    const before = await secondsLeft()
    expect([before.cause, before.pause <= 15]).toEqual(['unknown', true])
    await sql`update sending_pauses set until = now()`.execute(db)
    await store.sync()
    await eventually(async () => expect(await store.takeProbe(PROVIDER)).toBe(true))
    expect((await secondsLeft()).probe).toBeLessThanOrEqual(15)
    store.pause(PROVIDER, '503 ServiceUnavailable', { cause: 'unknown' })
    expect(store.secondsLeft(PROVIDER)).toBeGreaterThan(14)
  }
  store.probed(PROVIDER, 'works')
  await store.sync()
})
