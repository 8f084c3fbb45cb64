import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import SMTPConnection from 'nodemailer/lib/smtp-connection/index.js'
import { crash } from '../../lib/crash-point.ts'
import { isLocalHost } from '../../lib/network.ts'
import { KB, SECOND } from '../../lib/units.ts'
import type { OutgoingMessage, Permit, SendOutcome, Stage, Transport } from './transport.ts'

/** What the standard asks a client to wait, phase by phase. The last is long: whoever gives up earlier sends twice. */
const CONNECT_MS = 10 * SECOND
const GREETING_MS = 30 * SECOND
const COMMANDS_MS = 120 * SECOND
const BODY_MS = 120 * SECOND
const FINAL_DOT_MS = 600 * SECOND
const IDLE_MS = 30 * SECOND
const MAILS_PER_CONNECTION = 500
const MAX_REPLY = 64 * KB
const CHUNK = 64 * KB

type Options = { url: string; name: string }
type PooledConnection = { connection: SMTPConnection; mails: number; idle: NodeJS.Timeout | undefined; lost: boolean }

/** Keeps connections open for the next mail; as many as there are mails at once. */
export function createSmtpTransport({ url, name }: Options): Transport {
  const idle: PooledConnection[] = []
  /** Connections with a message under way. */
  const inUse = new Set<PooledConnection>()

  function takeIdle(): PooledConnection | undefined {
    for (let line = idle.pop(); line; line = idle.pop()) {
      clearTimeout(line.idle)
      if (!line.lost) return line
    }
    return undefined
  }

  function keep(line: PooledConnection) {
    if (line.lost || ++line.mails >= MAILS_PER_CONNECTION) return hangUp(line)
    line.idle = setTimeout(() => {
      idle.splice(idle.indexOf(line), 1)
      hangUp(line)
    }, IDLE_MS).unref()
    idle.push(line)
  }

  async function sendOn(line: PooledConnection, mail: OutgoingMessage, handOver: () => Promise<Permit | undefined>): Promise<SmtpAttempt> {
    inUse.add(line)
    const passage = await transmit(line, mail, handOver).finally(() => inUse.delete(line))
    const { outcome, phase } = passage
    if (outcome.is === 'accepted') keep(line)
    // The sender it refused, or whose recipient it refused, is still on its mind. In the middle of a mail nothing helps.
    else if (outcome.is === 'refused' && phase !== 'body') line.connection.reset((err) => (err ? drop(line) : keep(line)))
    else drop(line)
    return passage
  }

  return {
    async send(mail, handOver) {
      const known = takeIdle()
      if (known) {
        const { outcome, phase } = await sendOn(known, mail, handOver)
        // The server may have closed it while it was idle, or does so now: a new connection shows whether it means this email.
        const isClosed = outcome.is === 'not-sent' || (outcome.is === 'refused' && outcome.code === 421)
        if (!isClosed || phase !== 'commands') return outcome
      }
      const opened = await open({ url, name }).catch(
        (err: SmtpError): SendOutcome => ({ ...notSent(err, 'session'), busy: inUse.size > 0 }),
      )
      return 'is' in opened ? opened : (await sendOn(opened, mail, handOver)).outcome
    },
    async close() {
      for (const line of idle.splice(0)) hangUp(line)
      for (const line of inUse) drop(line)
    },
  }
}

type SmtpError = Error & { code?: string; responseCode?: number; response?: string; command?: string }

async function open({ url, name }: Options): Promise<PooledConnection> {
  const { protocol, hostname, port, username, password, searchParams } = new URL(url)
  const secure = protocol === 'smtps:'
  const connection = new SMTPConnection({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (secure ? 465 : 587)),
    secure,
    name,
    // Encrypted whenever the other side offers it; `?tls=required` insists, as a password does that would cross a network in clear.
    // `?tls=off` is for a relay on the same machine.
    requireTLS: searchParams.get('tls') === 'required' || (password !== '' && searchParams.get('tls') !== 'off' && !isLocalHost(hostname)),
    ignoreTLS: searchParams.get('tls') === 'off',
    connectionTimeout: CONNECT_MS,
    greetingTimeout: GREETING_MS,
    socketTimeout: FINAL_DOT_MS,
    maxResponseSize: MAX_REPLY,
  })
  const line: PooledConnection = { connection, mails: 0, idle: undefined, lost: false }
  connection.on('end', () => (line.lost = true))
  connection.on('error', () => (line.lost = true))
  try {
    await step(connection, (done) => connection.connect(done))
    const credentials = { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
    if (username) await step(connection, (done) => connection.login({ credentials }, done))
    return line
  } catch (err) {
    drop(line)
    throw err
  }
}

/** One step of opening a line. What ends the line ends the step: whoever waits for an answer then is told nothing. */
function step(connection: SMTPConnection, start: (done: (err?: Error | null) => void) => void) {
  let timer: NodeJS.Timeout
  let gone: () => void
  let failed: (err: Error) => void
  return new Promise<void>((resolve, reject) => {
    failed = reject
    gone = () => setImmediate(reject, new Error('the connection was closed'))
    timer = setTimeout(reject, COMMANDS_MS, new Error('no answer in time'))
    connection.on('error', failed)
    connection.on('end', gone)
    start((err) => (err ? reject(err) : resolve()))
  }).finally(() => {
    clearTimeout(timer)
    connection.removeListener('error', failed)
    connection.removeListener('end', gone)
  })
}

const hangUp = (line: PooledConnection) => {
  line.lost = true
  line.connection.quit()
}

const drop = (line: PooledConnection) => {
  line.lost = true
  line.connection.close()
}

/** Where it was when it ended says what may be done with the line. */
type SmtpAttempt = { outcome: SendOutcome; phase: 'commands' | 'body' | 'handed-over' }

/** One mail on an open line. Where it was when something went wrong decides what that means. */
function transmit(line: PooledConnection, mail: OutgoingMessage, handOver: () => Promise<Permit | undefined>): Promise<SmtpAttempt> {
  return new Promise((resolve) => {
    let phase: SmtpAttempt['phase'] = 'commands'
    let over = false
    let permit: Permit | undefined
    let timer = setTimeout(() => end(timedOut('the commands')), COMMANDS_MS)
    const wait = (ms: number, what: string) => {
      clearTimeout(timer)
      timer = setTimeout(() => end(timedOut(what)), ms)
    }
    const end = (outcome: SendOutcome) => {
      over = true
      clearTimeout(timer)
      line.connection.removeListener('error', failed)
      line.connection.removeListener('end', gone)
      unwatch()
      resolve({ outcome, phase })
    }
    const timedOut = (what: string): SendOutcome =>
      phase === 'handed-over'
        ? { is: 'unknown', error: `no answer to ${what} in time` }
        : { is: 'not-sent', at: 'message', error: `no answer to ${what} in time` }
    const failed = (err: SmtpError) => end(phase === 'handed-over' ? afterHandOver(err) : notSent(err, stageOf(err)))
    // A moment later: who says goodbye in a reply closes first, and the reply says why.
    const gone = () => setImmediate(() => over || failed(new Error('the connection was closed')))
    line.connection.on('error', failed)
    line.connection.on('end', gone)
    // Between the permit and the last byte lie some turns of the loop, in which a process may fall asleep.
    const unwatch = watchWrites(line.connection, () => {
      if (phase !== 'handed-over' || permit?.()) return true
      phase = 'body'
      end({ is: 'withheld' })
      return false
    })

    const body = bodyOf(mail.message, {
      started() {
        phase = 'body'
        wait(BODY_MS, 'the body')
      },
      async sent() {
        crash('body-sent')
        // What was said about it meanwhile must stay true: then nothing may follow.
        permit = await handOver()
        if (!permit || over) return false
        phase = 'handed-over'
        wait(FINAL_DOT_MS, 'the end of the mail')
        return true
      },
      dropped: () => end({ is: 'withheld' }),
    })
    const envelope = { from: mail.returnPath ?? mail.from, to: [mail.recipient], size: mail.message.length }
    line.connection.send(envelope, body, (err, info) => {
      if (err) return failed(err as SmtpError)
      if (phase !== 'handed-over') return end({ is: 'not-sent', at: 'message', error: 'it was answered before it had ended' })
      crash('accepted')
      end({ is: 'accepted', response: info.response })
    })
  })
}

/** Asks before each write to the socket. What may not be written ends the connection. Returns how to stop asking. */
function watchWrites(connection: SMTPConnection, mayWrite: () => boolean) {
  const { _socket: socket } = connection as unknown as { _socket: Socket }
  const write = socket.write
  socket.write = (...args: unknown[]) => {
    if (mayWrite()) return (write as (...given: unknown[]) => boolean).apply(socket, args)
    socket.destroy()
    return false
  }
  return () => {
    socket.write = write
  }
}

type Hooks = { started(): void; sent(): Promise<boolean>; dropped(): void }

/**
 * The last byte follows when the stream ends, and it ends only after the hand-over is on record. That is asked for when everything
 * before it has been taken from us, and not while megabytes still wait for a slow network.
 */
function bodyOf(message: Buffer, { started, sent, dropped }: Hooks) {
  let position = 0
  return new Readable({
    highWaterMark: CHUNK,
    read() {
      if (position === 0) started()
      if (position < message.length) {
        position += CHUNK
        this.push(message.subarray(position - CHUNK, position))
        return
      }
      sent().then(
        (mayLeave) => (mayLeave ? this.push(null) : dropped()),
        () => dropped(),
      )
    },
  })
}

const afterHandOver = (err: SmtpError): SendOutcome => (isRefusal(err) ? refused(err, 'message') : { is: 'unknown', error: describe(err) })

function notSent(err: SmtpError, at: Stage): SendOutcome & { is: 'refused' | 'not-sent' } {
  if (isRefusal(err)) return refused(err, at)
  // The server announced its limit in EHLO, so the message was not even offered.
  if (/^Message size larger than allowed/.test(err.message))
    return { is: 'refused', at: 'sender', code: 552, response: `552 5.3.4 ${err.message}` }
  return { is: 'not-sent', at, error: describe(err) }
}

const isRefusal = ({ responseCode = 0 }: SmtpError) => responseCode >= 400 && responseCode < 600

const STAGES: Record<string, Stage> = { 'MAIL FROM': 'sender', 'RCPT TO': 'recipient' }

/** A 421 between the commands of a message has no command: like a lost connection it counts for the message under way. */
const stageOf = ({ command = '' }: SmtpError): Stage => STAGES[command] ?? 'message'

const refused = (err: SmtpError, at: Stage): SendOutcome & { is: 'refused' } => ({
  is: 'refused',
  at,
  code: err.responseCode!,
  response: (err.response ?? err.message).slice(0, 1_000),
})

const describe = ({ code, message }: SmtpError) => `${code ? `${code}: ` : ''}${message}`.slice(0, 500)
