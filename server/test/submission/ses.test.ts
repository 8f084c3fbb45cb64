import { sql } from 'kysely'
import PostalMime from 'postal-mime'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { until } from '../support/eventually.ts'
import { startDnsServer } from '../support/servers/dns-server.ts'
import { startSesServer } from '../support/servers/ses-server.ts'
import { startSmtpServer } from '../support/servers/smtp-server.ts'
import { idsIn, TO, useSubmission } from './use-submission.ts'

for (const [name, value] of Object.entries({
  AWS_ACCESS_KEY_ID: 'AKIDTEST',
  AWS_SECRET_ACCESS_KEY: 'secret',
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
}))
  vi.stubEnv(name, value)

const ses = await startSesServer()
const dns = await startDnsServer()
/** A relay that takes what Amazon takes: ASCII. */
const relay = await startSmtpServer({ extensions: ['PIPELINING'] })
afterAll(async () => {
  ses.stop()
  await dns.stop()
  await relay.stop()
  vi.unstubAllEnvs()
})

const bySes = useSubmission(async () => ({ SES_REGION: 'eu-central-1', SES_ENDPOINT: ses.url, DNS_SERVERS: dns.address }))
const byRelay = useSubmission(async () => ({ SMTP_URL: `${relay.url}&dkim=off` }))

const withoutId = (source: string) => source.replace(/^X-Sterna-Id: .*\r\n/im, '')

/** The message as Amazon got it, and as a relay did, for the same message of a client. */
async function sentBoth(headers: Record<string, string>, body: string) {
  const [amazon, other] = [await bySes.newProject(), await byRelay.newProject()]
  await sql`update domains set verified_by = 'ses' where project_id = ${amazon.id}`.execute(bySes.sterna.db)
  const all = { Date: 'Tue, 17 Nov 2026 10:00:00 +0000', 'Message-ID': '<one@client.example>', ...headers }
  const [id] = idsIn(await bySes.submit(amazon.sk, amazon.letter(all, body)))
  const [relayed] = idsIn(await byRelay.submit(other.sk, other.letter(all, body)))
  const { source, from, to } = await until('Amazon has it', () => ses.messages.find(({ tags }) => tags.emailId === id))
  const wire = await until('the relay has it', () => relay.bodies.get(relayed!))
  expect([from, to]).toEqual([amazon.from, [TO]])
  return { source, relayed: wire.replace(/^\.\./gm, '.') }
}

describe('Amazon SES gets the bytes that a relay gets which signs itself', () => {
  const FILE = Buffer.from(Uint8Array.from({ length: 256 }, (_, n) => n)).toString('base64')

  test.each<[string, Record<string, string>, string]>([
    ['ASCII with dots at the beginning of lines', {}, 'Hello\r\n.dot\r\n..\r\n.\r\nend\r\n'],
    [
      'text in 8 bits',
      { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Transfer-Encoding': '8bit', Subject: '=?utf-8?q?Gr=C3=BC=C3=9Fe?=' },
      'Grüße, Zoë\r\n.dot\r\n',
    ],
    [
      'text in 8 bits beside a file',
      { 'Content-Type': 'multipart/mixed; boundary=b' },
      `--b\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n<p>Grüße</p>\r\n--b\r\nContent-Type: application/octet-stream; name=a.bin\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=a.bin\r\n\r\n${FILE.replace(/.{76}/g, '$&\r\n')}\r\n--b--\r\n`,
    ],
  ])('%s', async (_, headers, body) => {
    const { source, relayed } = await sentBoth(headers, body)
    expect(withoutId(source)).toBe(withoutId(relayed))
    expect(source).not.toMatch(/^DKIM-Signature:/im)
    expect(Buffer.from(source).every((byte) => byte < 0x80)).toBe(true)
    const { text, html, attachments } = await PostalMime.parse(source)
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const sent = await PostalMime.parse(Buffer.from(`${head.join('')}\r\n${body}`))
    expect([text?.trimEnd(), html]).toEqual([sent.text?.trimEnd(), sent.html])
    expect(attachments.map(({ filename, content }) => [filename, content])).toEqual(
      sent.attachments.map(({ filename, content }) => [filename, content]),
    )
  })
})
