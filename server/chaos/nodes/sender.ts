import { setTimeout as sleep } from 'node:timers/promises'
import { startCampaignWork } from '../../src/campaigns/sending/work.ts'
import { connect } from '../../src/db/index.ts'
import { startNotifications } from '../../src/delivery/feedback/ses/apply.ts'
import { PAUSE_TIMING } from '../../src/delivery/sender/limits/pauses.ts'
import { startSender } from '../../src/delivery/sender/loop.ts'
import { startDispatcher } from '../../src/events/dispatch.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { readMasterKeys } from '../../src/lib/master-key.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { deriveSecrets } from '../../src/lib/secrets.ts'
import { announce } from '../../src/nodes/presence.ts'
import { recheckSegments } from '../../src/segments/tracking/recheck.ts'
import { addUpEmailsEvery, outgoingEmail } from '../../src/worker.ts'
import { buildWorkerApp } from '../../src/worker-app.ts'
import { startWorkflowEngine } from '../../src/workflows/executions/engine.ts'
import { reactForWorkflows } from '../../src/workflows/executions/react.ts'
import { TIMEOUT_AFTER_MS } from './timeout-after.ts'

/**
 * Seconds instead of minutes, so that timeouts happen during a test; but longer than a killed database takes to recover, or evidence
 * would come too late through no fault of ours.
 */
const TIMING = {
  leaseMs: 2_000,
  unknownMs: 5_000,
  resolveMs: 250,
  pauses: { ...PAUSE_TIMING, providerMs: 100, maxProviderMs: 500, domainMs: 200, maxDomainMs: 1_000, probeMs: 3_000 },
}

const COUNT_MS = 500
const START_ATTEMPTS = 40
const START_WAIT_MS = 500

// A process that sends, starts campaigns, advances workflows and adds up what happened, as workers do.
const stops: (() => Promise<unknown>)[] = []
process.once('SIGTERM', async () => {
  for (const stop of stops.toReversed()) await stop()
  process.exit(0)
})

const config = loadConfig(process.env)
const { host, port, databaseUrl, poolSize, logLevel } = config
const url = databaseUrl!
const log = createLog(logLevel)
const db = connect({ url, max: poolSize, log })
stops.push(() => db.destroy())
const deps = { config, db, secrets: deriveSecrets(...readMasterKeys(config)), log }
const presence = await announce({ url, kind: 'worker', log })
stops.push(presence.leave)
const app = await buildWorkerApp(deps, { accepting: true })
// Before anything is sent: the process must be ready before it reaches a crash point.
await app.listen({ host, port })
stops.push(() => app.close())
const way = outgoingEmail(deps)
stops.push(way.transport.close)
const ownDb = connect({ url, max: 4, log })
stops.push(() => ownDb.destroy())
const { isHeld } = presence
const start = () => startSender({ ...deps, ownDb, url, worker: presence.key, isHeld, ...way, timing: TIMING })
const sender = await startWithDatabase(start)
stops.push(sender.stop)
stops.push(startNotifications(deps).stop)
stops.push(startCampaignWork({ ...deps, isHeld }).stop)
const handlers = { segment: recheckSegments, workflow: reactForWorkflows }
stops.push((await startDispatcher({ ...deps, url, isHeld, handlers })).stop)
stops.push(startWorkflowEngine({ ...deps, url, isHeld, timeoutAfterMs: TIMEOUT_AFTER_MS }).stop)
stops.push(addUpEmailsEvery(COUNT_MS, deps, isHeld).stop)

/** The database may be killed between the moment at which this process is ready and the first query of the sender. */
async function startWithDatabase<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start()
    } catch (err) {
      if (attempt === START_ATTEMPTS) throw err
      await sleep(START_WAIT_MS)
    }
  }
}
