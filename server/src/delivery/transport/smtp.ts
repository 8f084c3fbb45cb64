import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import SMTPConnection from 'nodemailer/lib/smtp-connection/index.js'
import { createSemaphore } from '../../lib/concurrency/semaphore.ts'
import { isLocalHost } from '../../lib/network/network.ts'
import { SECOND } from '../../lib/text/units.ts'
import { MAX_REPLY } from './smtp-dialog.ts'
import { COMMANDS_MS, describe, FINAL_DOT_MS, type SmtpAttempt, type SmtpError, type SmtpSession, takeOver } from './smtp-session.ts'
import type { OutgoingMessage, Permit, SendOutcome, Transport } from './transport.ts'

const CONNECT_MS = 10 * SECOND
const GREETING_MS = 30 * SECOND
const IDLE_MS = 30 * SECOND
const MESSAGES_PER_CONNECTION = 500
/** Sessions that are opened at a time. A relay that refuses us, or our password, is asked a few times, not once per slot. */
const OPENING_AT_ONCE = 8

type Options = { url: string; name: string }
/** An open session, and how many messages it has sent. */
type Pooled = { session: SmtpSession; sent: number; idle: NodeJS.Timeout | undefined }

/** Sends over a pool of SMTP sessions: as many as messages at once, kept open for the next ones. */
export function createSmtpTransport({ url, name }: Options): Transport {
  const idle: Pooled[] = []
  /** Sessions with a message on the wire. */
  const inUse = new Set<Pooled>()
  const inTurn = createSemaphore(OPENING_AT_ONCE)
  let lastFailure: { at: number; err: unknown } | undefined

  /** While there is no session at all, those that waited for an opening that failed fail with it. */
  function openInTurn(): Promise<Pooled> {
    const askedAt = performance.now()
    return inTurn(async () => {
      if (lastFailure && lastFailure.at > askedAt && inUse.size === 0) throw lastFailure.err
      try {
        return await open({ url, name })
      } catch (err) {
        lastFailure = { at: performance.now(), err }
        throw err
      }
    })
  }

  function takeIdle(): Pooled | undefined {
    for (let pooled = idle.pop(); pooled; pooled = idle.pop()) {
      clearTimeout(pooled.idle)
      if (pooled.session.isUsable()) return pooled
      pooled.session.drop()
    }
    return undefined
  }

  function keep(pooled: Pooled) {
    const { session } = pooled
    if (!session.isUsable()) return session.drop()
    if (++pooled.sent >= MESSAGES_PER_CONNECTION) return session.hangUp()
    pooled.idle = setTimeout(() => {
      idle.splice(idle.indexOf(pooled), 1)
      session.hangUp()
    }, IDLE_MS).unref()
    idle.push(pooled)
  }

  async function sendOn(pooled: Pooled, outgoing: OutgoingMessage, handOver: () => Promise<Permit | undefined>): Promise<SmtpAttempt> {
    const { session } = pooled
    inUse.add(pooled)
    const attempt = await session.transmit(outgoing, handOver)
    inUse.delete(pooled)
    const { outcome, phase } = attempt
    if (outcome.is === 'accepted') keep(pooled)
    // RSET clears the refused sender or recipient from the session. In the middle of a message nothing can.
    else if (outcome.is === 'refused' && phase !== 'body') void session.reset().then((isReset) => (isReset ? keep(pooled) : session.drop()))
    else session.drop()
    return attempt
  }

  return {
    async send(outgoing, handOver) {
      const known = takeIdle()
      if (known) {
        const { outcome, phase } = await sendOn(known, outgoing, handOver)
        // The server may have closed the idle connection, or does so now: a new connection shows whether the reply is about this email.
        const isClosed = outcome.is === 'not-sent' || (outcome.is === 'refused' && outcome.code === 421)
        if (!isClosed || phase !== 'commands') return outcome
      }
      const opened = await openInTurn().catch((err: SmtpError): SendOutcome => ({ ...notOpened(err), busy: inUse.size > 0 }))
      return 'is' in opened ? opened : (await sendOn(opened, outgoing, handOver)).outcome
    },
    async close() {
      for (const { session } of idle.splice(0)) session.hangUp()
      for (const { session } of inUse) session.drop()
    },
  }
}

const open = async (options: Options): Promise<Pooled> => ({ session: takeOver(await logIn(options)), sent: 0, idle: undefined })

/** For the doctor: whether the relay lets us in. Throws if not. Without `certificateUntil` the session is not encrypted. */
export async function probeRelay(options: Options): Promise<{ certificateUntil: Date | undefined }> {
  const connection = await logIn(options)
  const { _socket: socket } = connection as SMTPConnection & { _socket: Socket }
  const until = socket instanceof TLSSocket ? socket.getPeerCertificate().valid_to : undefined
  connection.quit()
  return { certificateUntil: until === undefined ? undefined : new Date(until) }
}

/** Greeting, EHLO, STARTTLS and AUTH are nodemailer's. */
async function logIn({ url, name }: Options): Promise<SMTPConnection> {
  const { protocol, hostname, port, username, password, searchParams } = new URL(url)
  const secure = protocol === 'smtps:'
  const connection = new SMTPConnection({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (secure ? 465 : 587)),
    secure,
    name,
    // STARTTLS whenever the server offers it. Required with `?tls=required`, or when a password would cross a network in clear text.
    // `?tls=off` is for a relay on the same machine.
    requireTLS: searchParams.get('tls') === 'required' || (password !== '' && searchParams.get('tls') !== 'off' && !isLocalHost(hostname)),
    ignoreTLS: searchParams.get('tls') === 'off',
    connectionTimeout: CONNECT_MS,
    greetingTimeout: GREETING_MS,
    socketTimeout: FINAL_DOT_MS,
    maxResponseSize: MAX_REPLY,
  })
  connection.on('error', () => {})
  try {
    await step(connection, (done) => connection.connect(done))
    const credentials = { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
    if (username) await step(connection, (done) => connection.login({ credentials }, done))
    return connection
  } catch (err) {
    connection.close()
    throw err
  }
}

/** One step of opening a connection. The end of the connection ends the step: nodemailer does not call back then. */
function step(connection: SMTPConnection, start: (done: (err?: Error | null) => void) => void) {
  let timer: NodeJS.Timeout
  let closed: () => void
  let failed: (err: Error) => void
  return new Promise<void>((resolve, reject) => {
    failed = reject
    closed = () => setImmediate(reject, new Error('the connection was closed'))
    timer = setTimeout(reject, COMMANDS_MS, new Error('no reply in time'))
    connection.on('error', failed)
    connection.on('end', closed)
    start((err) => (err ? reject(err) : resolve()))
  }).finally(() => {
    clearTimeout(timer)
    connection.removeListener('error', failed)
    connection.removeListener('end', closed)
  })
}

function notOpened(err: SmtpError): SendOutcome & { is: 'refused' | 'not-sent' } {
  const { responseCode: code = 0, response, message } = err
  if (code >= 400 && code < 600) return { is: 'refused', at: 'session', code, response: (response ?? message).slice(0, 1_000) }
  return { is: 'not-sent', at: 'session', error: describe(err) }
}
