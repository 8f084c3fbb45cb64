import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** The project whose key is used, and where. */
export type SmtpAttacker = { secret: string; domain: string; smtpPort: number; inboundPort: number; url: string }
type SmtpAttack = (attacker: SmtpAttacker) => Promise<string>

const MB = 1024 * 1024
const HELD_MS = 2_000
const RECIPIENTS = 10_000
const COMMANDS = 10_000
const NEVER_MS = 60_000

/** A raw connection: writes the given bytes and reads replies. */
async function open({ smtpPort }: Pick<SmtpAttacker, 'smtpPort'>) {
  const socket: Socket = connect(smtpPort, '127.0.0.1')
  let received = ''
  let isClosed = false
  socket.on('data', (chunk) => (received += chunk.toString('latin1')))
  socket.on('error', () => {})
  socket.on('close', () => (isClosed = true))
  /** The code of the next reply; `none` when the connection has ended or nothing comes. */
  const reply = async () => {
    for (const end = Date.now() + NEVER_MS; Date.now() < end; await sleep(5)) {
      const [whole] = /^(?:\d{3}-.*\r\n)*\d{3}(?: .*)?\r\n/.exec(received) ?? []
      if (whole !== undefined) {
        received = received.slice(whole.length)
        return whole.slice(0, 3)
      }
      if (isClosed) break
    }
    return 'none'
  }
  const write = (bytes: string | Buffer) => new Promise<void>((resolve) => void socket.write(bytes, () => resolve()))
  await reply()
  return { write, reply, end: () => socket.destroy() }
}

const tokenOf = (key: string) => Buffer.from(`\0x\0${key}`).toString('base64')

async function logIn(attacker: SmtpAttacker) {
  const client = await open(attacker)
  await client.write(`EHLO attack.example\r\nAUTH PLAIN ${tokenOf(attacker.secret)}\r\n`)
  await client.reply()
  await client.reply()
  return client
}

/** Of so many, or of those that came before the connection ended. */
async function lastReply(client: Awaited<ReturnType<typeof open>>, count: number) {
  let last = 'none'
  for (let n = 0; n < count; n++) {
    const next = await client.reply()
    if (next === 'none') break
    last = next
  }
  return last
}

async function beginMessage(attacker: SmtpAttacker) {
  const client = await logIn(attacker)
  await client.write('MAIL FROM:<x@attack.example>\r\nRCPT TO:<reader@attack.example>\r\nDATA\r\n')
  for (let n = 0; n < 3; n++) await client.reply()
  return client
}

const head = ({ domain }: SmtpAttacker, more = '') => `From: attack@${domain}\r\nSubject: Attack\r\n${more}\r\n`
const LINES = Buffer.from(`${'x'.repeat(98)}\r\n`.repeat(MB / 100))

async function submit(attacker: SmtpAttacker, parts: (string | Buffer)[]) {
  const client = await beginMessage(attacker)
  for (const part of parts) await client.write(part)
  await client.write('\r\n.\r\n')
  const code = await client.reply()
  client.end()
  return code
}

const KB = 1024
const multipart = (key: string) => `Content-Type: multipart/mixed; boundary=b\r\nX-Sterna-Idempotency-Key: ${key}\r\n`
const MULTIPART = multipart('attack')
/** Parts whose headers take as long as possible to read, up to a size. */
const parts = (header: string, bytes: number) => {
  const part = `--b\r\nContent-Type: ${header}\r\nContent-Transfer-Encoding: ${header}\r\n\r\nü\r\n`
  return Buffer.from(part.repeat(Math.ceil(bytes / part.length)))
}
const HEADER_LINES = Buffer.from('a:\r\n'.repeat(MB / 4))
const PARENTHESES = '('.repeat(8_100)

async function deliver({ domain, inboundPort }: SmtpAttacker, body: (string | Buffer)[]) {
  const client = await open({ smtpPort: inboundPort })
  await client.write(`EHLO attack.example\r\nMAIL FROM:<x@attack.example>\r\nRCPT TO:<reader@${domain}>\r\nDATA\r\n`)
  for (let n = 0; n < 4; n++) await client.reply()
  for (const piece of [`From: x@attack.example\r\n${MULTIPART}\r\n`, ...body]) await client.write(piece)
  await client.write('\r\n.\r\n')
  const code = await client.reply()
  client.end()
  return code
}

/** Sends a message that is as slow to read as is accepted, and looks at it again and again. */
async function preview(attacker: SmtpAttacker) {
  const headers = { authorization: `Bearer ${attacker.secret}` }
  const find = async () => {
    const answer = await fetch(`${attacker.url}/emails?limit=1&search=preview`, { headers })
    return ((await answer.json()) as { data: { id: string }[] }).data[0]?.id
  }
  let id = await find()
  if (!id) {
    const message = [
      head(attacker, multipart('preview')).replace('Subject: Attack', 'Subject: preview'),
      parts(PARENTHESES, 900 * KB),
      '--b\r\n\r\n',
      ...Array.from({ length: 30 }, () => LINES),
    ]
    await submit(attacker, message)
    id = await find()
  }
  const answer = await fetch(`${attacker.url}/emails/${id}/preview`, { headers })
  await answer.arrayBuffer()
  return String(answer.status)
}

export const SMTP_ATTACKS = {
  'SMTP: wrong keys': {
    concurrency: 8,
    smtp: async (attacker) => {
      const client = await open(attacker)
      await client.write(`EHLO attack.example\r\n${`AUTH PLAIN ${tokenOf(`sk_${'0'.repeat(64)}`)}\r\n`.repeat(3)}`)
      await client.reply()
      const code = await client.reply()
      client.end()
      return code
    },
  },
  'SMTP: ten thousand recipients': {
    concurrency: 4,
    every: 12,
    smtp: async (attacker) => {
      const client = await logIn(attacker)
      await client.write('MAIL FROM:<x@attack.example>\r\n')
      await client.write(Array.from({ length: RECIPIENTS }, (_, n) => `RCPT TO:<r${n}@attack.example>\r\n`).join(''))
      const last = await lastReply(client, RECIPIENTS + 1)
      client.end()
      return last
    },
  },
  'SMTP: commands that do nothing': {
    concurrency: 8,
    every: 12,
    smtp: async (attacker) => {
      const client = await open(attacker)
      await client.write('NOOP\r\n'.repeat(COMMANDS))
      const last = await lastReply(client, COMMANDS)
      client.end()
      return last
    },
  },
  'SMTP: messages that do not end': {
    concurrency: 150,
    smtp: async (attacker) => {
      const client = await beginMessage(attacker)
      await client.write(head(attacker))
      for (let n = 0; n < 5; n++) await client.write(LINES)
      await sleep(HELD_MS)
      client.end()
      return 'held'
    },
  },
  'SMTP: messages of 40 MB': {
    concurrency: 20,
    every: 20,
    smtp: (attacker) => submit(attacker, [head(attacker), ...Array.from({ length: 39 }, () => LINES)]),
  },
  'SMTP: lines that look like boundaries': {
    concurrency: 4,
    every: 12,
    smtp: (attacker) => {
      const headers = 'Content-Type: multipart/mixed; boundary=b\r\nX-Sterna-Idempotency-Key: attack\r\n'
      return submit(attacker, [head(attacker, headers), 'ü\r\n', '--c\r\n'.repeat(MB)])
    },
  },
  'reading: 1 MB of parentheses': {
    concurrency: 4,
    every: 12,
    smtp: (attacker) => submit(attacker, [head(attacker, MULTIPART), parts(PARENTHESES, 900 * KB)]),
  },
  'reading: 40 MB of parentheses': {
    concurrency: 2,
    every: 30,
    smtp: (attacker) => submit(attacker, [head(attacker, MULTIPART), ...Array.from({ length: 39 }, () => parts(PARENTHESES, MB))]),
  },
  'reading: a header of ten million lines': {
    concurrency: 2,
    every: 30,
    smtp: (attacker) =>
      submit(attacker, [head(attacker, MULTIPART), '--b\r\n', ...Array.from({ length: 38 }, () => HEADER_LINES), '\r\nü']),
  },
  'reading: received parentheses': { concurrency: 4, every: 12, smtp: (attacker) => deliver(attacker, [parts(PARENTHESES, 20 * MB)]) },
  'reading: a received header of six million lines': {
    concurrency: 4,
    every: 12,
    smtp: (attacker) => deliver(attacker, ['--b\r\n', ...Array.from({ length: 23 }, () => HEADER_LINES), '\r\nü']),
  },
  'reading: previews of 30 MB': { concurrency: 4, every: 12, smtp: preview },
} satisfies Record<string, { concurrency: number; every?: number; smtp: SmtpAttack }>
