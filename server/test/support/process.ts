import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { listAccountEmails, readAccountEmail } from '../../src/account-emails/account-email.ts'
import { connect } from '../../src/db/index.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { deriveSecrets } from '../../src/lib/secrets.ts'
import { cloneDatabase } from './database.ts'
import { FEW_OPTIMIZATIONS } from './processes/few-optimizations.ts'
import { SECRET_KEY } from './secret-key.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const PROBE_BUILD = 'server/dist.probe'
/** The product; with the probe routes; with the fake SNS; measuring itself; or a worker with short intervals. */
const ENTRIES = {
  // The test runner has built it: to look for changed sources takes a tenth of the CPU of a start.
  product: [process.env.TEST_BUNDLE ? 'scripts/serve.mjs' : 'scripts/start.mjs'],
  probe: [`${PROBE_BUILD}/node.js`],
  notified: ['server/chaos/nodes/notified.mjs'],
  measured: ['server/chaos/nodes/measured.mjs'],
  sender: ['server/chaos/dist/sender.js'],
}
export type Entry = keyof typeof ENTRIES
/** `npm test` starts a hundred nodes: they begin with the heap that they have under load, so that garbage is collected less often. */
const OPTIONS = process.env.TEST_BUNDLE ? [FEW_OPTIMIZATIONS, '--min-semi-space-size=16'] : []
/** A node starts within two seconds; on a busy machine many processes may want its core. */
const READY_MS = 150_000

export type Running = {
  url: string
  child: ChildProcess
  output(): string
  exited: Promise<number | null>
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/** Starts one node as its own process and waits until it is ready. */
export async function startNode(env: Record<string, string>, entry: Entry = 'product'): Promise<Running> {
  const running = await spawnNode(env, entry)
  await waitUntilReady(running)
  return running
}

export async function spawnNode(env: Record<string, string>, entry: Entry = 'product'): Promise<Running> {
  const port = env.PORT ?? String(await freePort())
  const url = `http://127.0.0.1:${port}`
  const child = spawn(process.execPath, [...OPTIONS, ...ENTRIES[entry]], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      SECRET_KEY,
      PORT: port,
      PUBLIC_URL: url,
      SANDBOX_DELIVERIES: 'false',
      CLAIM_FIRST_ACCOUNT: 'false',
      // Stands for the public internet.
      WEBHOOK_ALLOW_PRIVATE: '127.0.0.2/32',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', (text) => (output += text))
  child.stderr.on('data', (text) => (output += text))
  const exited = once(child, 'exit').then(([code]) => code as number | null)

  return {
    url,
    child,
    output: () => output,
    exited,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      return exited
    },
  }
}

/** Call before nodes with the probe routes are started: through a loader for TypeScript each would take four times as long to start. */
export async function buildProbe() {
  const { buildServer } = await import(new URL('../../../scripts/build.mjs', import.meta.url).href)
  await buildServer(join(ROOT, PROBE_BUILD), { node: 'test/support/api/node' })
}

export async function waitUntilReady({ url, exited, output }: Running) {
  let gone = false
  exited.then(() => (gone = true))
  for (const deadline = Date.now() + READY_MS; Date.now() < deadline; ) {
    if (gone) throw new Error(`the node exited before it was ready:\n${output()}`)
    if (
      await fetch(`${url}/ready`).then(
        (answer) => answer.ok,
        () => false,
      )
    )
      return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`the node was not ready in time:\n${output()}`)
}

/** Below the ports that Linux gives to outgoing connections: one of those might take the port before the node listens on it. */
const PORTS = { from: 11_000, to: 32_000 }

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.from, PORTS.to)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}

/** The product as a process of its own with its own database. */
export async function startSterna(env: Record<string, string> = {}) {
  const database = await cloneDatabase()
  const node = await startNode({ DATABASE_URL: database.url, ...env })
  const db = connect({ url: database.url, max: 1, log: createLog('silent') })
  const secrets = deriveSecrets(SECRET_KEY)
  return {
    url: node.url,
    /** Marks an email as failed for a passing reason, with its counters: in truth that takes days. */
    failEmail: (projectId: string, campaignId: string, address: string) =>
      sql`
        with failed as (
          update emails set state = 'failed', error = 'transient', error_code = 'transient', sent_at = null
          where project_id = ${projectId} and campaign_id = ${campaignId} and to_address = ${address}
        )
        insert into email_ledger (project_id, campaign_id, kind, n)
        values (${projectId}, ${campaignId}, 'failed', 1), (${projectId}, ${campaignId}, 'sent', -1)
      `.execute(db),
    /** As if the emails had been sent a minute earlier: a click right after sending counts as one of a machine. */
    ageEmails: (projectId: string, campaignId: string) =>
      sql`
        update emails set sent_at = sent_at - interval '1 minute' where project_id = ${projectId} and campaign_id = ${campaignId}
      `.execute(db),
    /** Counts emails as an installation that really sends does: those of the sandbox are not counted. */
    countEmails: (projectId: string, kind: 'transactional' | 'campaigns', n: number) =>
      sql`
        insert into email_ledger (project_id, kind, source, hour, n)
        values (${projectId}, 'accepted', ${kind === 'campaigns' ? 'CAMPAIGN' : 'TRANSACTIONAL'}, date_trunc('hour', now(), 'UTC'), ${n})
      `.execute(db),
    /**
     * What the server answers while it counts emails, as an installation that really sends does: caps do not limit the sandbox.
     * The check of domains, each minute, must find them proven for SMTP too; it would take back a proof of the sandbox.
     */
    async whileMetered<Result>(work: () => Promise<Result>): Promise<Result> {
      await sql`
        with proven as (update domains set verified_by = 'dns' where verified_by = 'sandbox') update instance set transport = 'smtp'
      `.execute(db)
      try {
        return await work()
      } finally {
        await sql`update instance set transport = 'sandbox'`.execute(db)
      }
    },
    async accountEmails() {
      const emails = await listAccountEmails(db, 100)
      return Promise.all(emails.map(async ({ id }) => (await readAccountEmail(db, secrets, id))!))
    },
    async stop() {
      await db.destroy()
      await node.stop()
      await database.drop()
    },
    /** For a process that is about to end. */
    kill: () => void node.child.kill('SIGKILL'),
  }
}
