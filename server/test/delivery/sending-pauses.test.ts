import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../src/db/index.ts'
import { createPauseStore, PAUSE_TIMING } from '../../src/delivery/sender/limits/pauses.ts'
import { PROVIDER } from '../../src/delivery/sender/limits/stored-pauses.ts'
import { createLog } from '../../src/lib/log.ts'
import { cloneDatabase } from '../support/database.ts'

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
