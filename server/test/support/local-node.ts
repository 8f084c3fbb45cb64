import { startWorkerAgenda } from '../../src/agenda.ts'
import { buildApp } from '../../src/app.ts'
import { connect } from '../../src/db/index.ts'
import type { SenderTiming } from '../../src/delivery/sender/timing.ts'
import { syncWithTransport } from '../../src/domains/sender-domains/sync-with-transport.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { readMasterKeys } from '../../src/lib/master-key.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { deriveSecrets } from '../../src/lib/secrets.ts'
import { checkSecret } from '../../src/nodes/instance.ts'
import { joinNodes } from '../../src/nodes/join.ts'
import { announce } from '../../src/nodes/presence.ts'
import { startWorker } from '../../src/worker.ts'
import { createSterna } from './app.ts'
import { CHEAP_PARTS, QUICK_AGENDA, QUICK_TIMING } from './cheap-parts.ts'
import { SECRET_KEY } from './secret-key.ts'

const log = createLog('silent')

/**
 * A node of any role inside this process: it joins the installation as the product does, and starts in a tenth of the time. Its
 * scheduled tasks run only when a test adds their jobs.
 */
export async function startLocalNode(
  env: { DATABASE_URL: string; ROLE?: 'all' | 'api' | 'worker' } & Record<string, string>,
  timing: Partial<SenderTiming> = {},
) {
  const config = loadConfig({ SECRET_KEY, SANDBOX_DELIVERIES: 'false', ...env })
  const { role, transportKind: transport } = config
  const url = env.DATABASE_URL
  const db = connect({ url, max: 4, log })
  const deps = { config, db, secrets: deriveSecrets(...readMasterKeys(config)), log }
  await checkSecret(db, deps.secrets, { adopt: true })
  const app = await buildApp(deps, CHEAP_PARTS)
  const kind = role === 'worker' ? 'worker' : 'api'
  const presence = await joinNodes({
    db,
    log,
    transport,
    announce: () => announce({ url, kind, transport, log }),
    follow: syncWithTransport,
  })
  const agenda = role === 'api' ? undefined : startWorkerAgenda(db, QUICK_AGENDA)
  const worker = agenda && (await startWorker(deps, { url, presence, agenda, timing: { ...QUICK_TIMING, ...timing }, withSchedule: false }))
  return {
    ...createSterna(app, db, deps.secrets),
    async stop() {
      await Promise.all([app.close(), worker?.stop(), agenda?.stop()])
      await presence.leave()
      await db.destroy()
    },
  }
}

export type LocalNode = Awaited<ReturnType<typeof startLocalNode>>
