import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import type { Parts } from '../../src/app.ts'
import { connect as connectDatabase, many } from '../../src/db/index.ts'
import type { Deps } from '../../src/http/core/types.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { createLog } from '../../src/lib/process/log.ts'
import type { SubmissionLimits } from '../../src/send/submission/limits.ts'
import { startSubmission } from '../../src/send/submission/listener.ts'
import { startApp } from '../support/app.ts'
import { cloneDatabase } from '../support/database.ts'
import { until } from '../support/eventually.ts'
import { freePort } from '../support/process.ts'
import { verifyDomains } from '../support/project.ts'
import { SECRET_KEY } from '../support/secret-key.ts'
import { connectSmtp } from '../support/servers/smtp-client.ts'

export const TO = 'ada@example.com'

/** Without a database: messages cannot be stored. */
type Options = { env?: Record<string, string>; limits?: Partial<SubmissionLimits>; hasDatabase?: boolean }
type Email = { id: string; to: string; state: string; error: string | null; errorCode: string | null; messageId: string; contentId: string }

/** An app that also accepts messages by SMTP, at `place.port`. `env` are settings of the app, `parts` parts of it. Call at the top level. */
export function useSubmission(env: () => Promise<Record<string, string>> = async () => ({}), parts: Parts = {}) {
  const sterna = {} as Awaited<ReturnType<typeof startApp>>['sterna']
  const place = { port: 0, url: '' }
  let started: Awaited<ReturnType<typeof startApp>>
  let database: Awaited<ReturnType<typeof cloneDatabase>>
  const stops: (() => Promise<unknown>)[] = []

  beforeAll(async () => {
    database = await cloneDatabase()
    place.url = database.url
    started = await startApp(database.url, { ...parts, env: { RATE_LIMIT_PER_MINUTE: '0', ...(await env()) } })
    Object.assign(sterna, started.sterna)
    const { port, stop } = await listenWith()
    place.port = port
    stops.push(stop)
  })
  afterAll(async () => {
    for (const stop of stops) await stop()
    await started?.close()
    await database?.drop()
  })

  /** A listener beside the first one, with settings and limits of its own. */
  async function listenWith({ env: more = {}, limits = {}, hasDatabase = true }: Options = {}) {
    const port = await freePort()
    const { submission } = loadConfig({ SECRET_KEY, SMTP_SUBMISSION_PORT: String(port), SMTP_SUBMISSION_HOST: '127.0.0.1', ...more })
    const deps: Deps = hasDatabase ? started.deps : { ...started.deps, db: unreachable() }
    const { stop } = await startSubmission({ ...deps, config: { ...deps.config, submission: submission! } }, started.app, {
      closingMs: 300,
      ...limits,
    })
    return { port, stop }
  }
  const later: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const stop of later.splice(0)) await stop()
  })
  async function listen(options: Options = {}) {
    const { port, stop } = await listenWith(options)
    later.push(stop)
    return port
  }

  let projects = 0
  async function newProject(of?: Awaited<ReturnType<typeof sterna.newPerson>>) {
    const { id, sk, owner } = await sterna.newProject(of ?? (await sterna.sharedOwner()))
    const domain = `shop${++projects}.example`
    await sterna.call('POST', '/domains', { key: sk, body: { domain } })
    await verifyDomains(sterna.db, id)
    const from = `news@${domain}`
    const emails = () =>
      many(
        sterna.db,
        sql<Email>`
          select id, to_address as "to", state, error, error_code as "errorCode", message_id as "messageId", content_id as "contentId"
          from emails where project_id = ${id} order by id`,
      )
    const call = async (method: string, url: string, body?: unknown) =>
      sterna.call(method, url, { key: sk, ...(body === undefined ? {} : { body }) })
    const ended = (emailId: string) =>
      until('the email has ended', async () =>
        (await emails()).some((email) => email.id === emailId && ['sent', 'failed', 'skipped'].includes(email.state)),
      )
    return { id, sk, owner, domain, from, emails, call, ended, letter: letterFrom(from) }
  }

  /** A connection that has logged in, unless `key` is null. */
  async function connect({ key, port = place.port, from }: { key: string | null; port?: number; from?: string }) {
    const client = await connectSmtp(port, '127.0.0.1', from)
    later.push(async () => client.end())
    const extensions = await client.say('EHLO client.example')
    if (key !== null) expect(await client.say(`AUTH PLAIN ${plainToken(key)}`)).toBe('235 2.7.0 Authentication successful')
    return Object.assign(client, { extensions })
  }

  /** Submits a message in a connection of its own; the first negative reply, or the last. */
  async function submit(key: string, message: string | Buffer, to: string | string[] = TO, port = place.port) {
    const client = await connect({ key, port })
    const answer = await client.deliver({ from: 'anybody@else.example', to, message })
    client.end()
    return answer
  }

  return { sterna, place, listen, newProject, connect, submit }
}

function unreachable() {
  return connectDatabase({ url: 'postgres://127.0.0.1:1/none', max: 1, log: createLog('silent') })
}

export const plainToken = (key: string, user = 'sterna') => Buffer.from(`\0${user}\0${key}`).toString('base64')

/** The ids in a reply. */
export const idsIn = (reply: string): string[] => reply.replace(/ batch .*/, '').match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? []

/** A message of one part; `headers` replace or add lines. */
const letterFrom =
  (from: string) =>
  (headers: Record<string, string> = {}, body = 'Hello\r\n') =>
    `${Object.entries({ From: from, To: TO, Subject: 'Hi', ...headers })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n${body}`
