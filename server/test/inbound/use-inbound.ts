import { sql } from 'kysely'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { many } from '../../src/db/index.ts'
import { startApp } from '../support/app.ts'
import { cloneDatabase } from '../support/database.ts'
import type { Reported } from '../support/files/reports.ts'
import { freePort } from '../support/process.ts'
import { deliver } from '../support/servers/smtp-client.ts'
import { startSmtpServer } from '../support/servers/smtp-server.ts'

export const BOUNCES = 'bounces.example'
type Event = { name: string; data: Record<string, unknown>; contactId: string | null }

/** With an encoded subject, two texts and an attachment. */
export const LETTER = `From: =?utf-8?q?Gr=C3=A4ce?= <grace@example.com>
To: help@shop.example
Reply-To: reply@example.com
Subject: =?utf-8?b?${Buffer.from('Frage 🐦').toString('base64')}?=
Message-ID: <letter-1@example.com>
In-Reply-To: <before@shop.example>
X-Twice: first
X-Twice: second
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="m"

--m
Content-Type: multipart/alternative; boundary="a"

--a
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Gr=FC=DFe
.with a dot
--a
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: 8bit

<p>Grüße</p>
--a--
--m
Content-Type: application/pdf
Content-Disposition: attachment; filename*=utf-8''r%C3%A9sum%C3%A9.pdf
Content-Transfer-Encoding: base64

JVBERi0xLjQK
--m--
`

const soon = <T>(look: () => Promise<T>) => vi.waitFor(look, { timeout: 40_000, interval: 20 })

/** An app with an SMTP listener at `place.port`, a relay, and projects that receive email. Call at the top level. */
export function useInbound() {
  const database = {} as Awaited<ReturnType<typeof cloneDatabase>>
  const sink = {} as Awaited<ReturnType<typeof startSmtpServer>>
  const sterna = {} as Awaited<ReturnType<typeof startApp>>['sterna']
  const place = { port: 0 }
  let closeApp: () => Promise<void>

  beforeAll(async () => {
    Object.assign(database, await cloneDatabase({ isPatient: false }))
    Object.assign(sink, await startSmtpServer())
    const port = await freePort()
    place.port = port
    const inbound = { BOUNCE_DOMAIN: BOUNCES, INBOUND_SMTP_PORT: String(port), INBOUND_SMTP_HOST: '127.0.0.1' }
    const started = await startApp(database.url, { env: { SMTP_URL: sink.url, RATE_LIMIT_PER_MINUTE: '0', ...inbound } })
    Object.assign(sterna, started.sterna)
    closeApp = started.close
  })
  afterAll(async () => {
    // The worker would wait 15 s for replies that never come.
    sink.reset?.()
    await closeApp?.()
    await sink.stop?.()
    await database.drop?.()
  })

  let projects = 0
  let people = 0

  /** A project that has proven its domain. */
  async function newProject() {
    const { id, sk } = await sterna.newProject(await sterna.sharedOwner())
    const domain = `shop${++projects}.example`
    await sterna.call('POST', '/domains', { key: sk, body: { domain } })
    await sql`
      update domains set status = 'verified', verified_by = 'dns', verified_at = now(), next_check_at = 'infinity' where project_id = ${id}
    `.execute(sterna.db)
    const get = async (url: string) => (await sterna.call('GET', url, { key: sk })).body

    /** One that has left, as the receiver knows it. */
    async function send(recipient = `ada${++people}@example.com`): Promise<Reported> {
      const body = { to: recipient, from: `news@${domain}`, subject: 'Hi', body: 'Hi', subscribed: true }
      const answer = await sterna.call('POST', '/v1/send', { key: sk, body })
      const emailId = answer.body.data.emails[0].email as string
      const email = await soon(async () => {
        const arrived = sink.messages.find((each) => each.id === emailId)
        expect(arrived).toBeDefined()
        return arrived!
      })
      if (!recipient.startsWith('hang-dot')) await soon(async () => expect((await get(`/emails/${emailId}`)).status).toBe('SENT'))
      return { id: emailId, recipient, returnPath: email.sender, messageId: email.messageId.replace(/[<>]/g, '') }
    }
    const eventsOf = (emailId: string) =>
      many(
        sterna.db,
        sql<Event>`select name, data, contact_id as "contactId" from events where project_id = ${id} and email_id = ${emailId} order by id`,
      )
    const bouncesOf = async (emailId: string) =>
      (await eventsOf(emailId)).filter(({ name }) => name === 'email.bounce').map(({ data }) => [data.bounceType, data.reason])
    const received = async () =>
      (
        await many(
          sterna.db,
          sql<Event>`select name, data, contact_id as "contactId" from events where project_id = ${id} and name = 'email.received' order by id`,
        )
      ).map(({ data, contactId }) => ({ ...data, contactId }) as Record<string, unknown>)
    const isSuppressed = async (address: string) =>
      (await sterna.call('GET', '/suppressions', { key: sk })).body.data.some((each: { address: string }) => each.address === address)
    return { id, sk, domain, get, send, eventsOf, bouncesOf, received, isSuppressed }
  }

  const bounceTo = (email: Reported, message: string) => deliver(place.port, { to: email.returnPath, message })

  /** What a message changed, besides that it was kept. */
  async function changes(work: () => Promise<unknown>) {
    const before = await sterna.digest()
    await work()
    return (await sterna.digest()) !== before
  }

  return { database, sink, sterna, place, newProject, bounceTo, changes }
}
