import type { Socket } from 'node:net'
import { Readable, type Transform } from 'node:stream'
import SMTPConnection from 'nodemailer/lib/smtp-connection/index.js'
import { crash } from '../../lib/crash-point.ts'
import { isLocalHost } from '../../lib/network/network.ts'
import { KB, SECOND } from '../../lib/text/units.ts'
import type { OutgoingMessage, Permit, SendOutcome, Stage, Transport } from './transport.ts'

/** Timeouts per phase, as RFC 5321 asks. The one for the final dot is long: giving up earlier means sending twice. */
const CONNECT_MS = 10 * SECOND
const GREETING_MS = 30 * SECOND
const COMMANDS_MS = 120 * SECOND
const BODY_MS = 120 * SECOND
const FINAL_DOT_MS = 600 * SECOND
const IDLE_MS = 30 * SECOND
const MESSAGES_PER_CONNECTION = 500
const MAX_REPLY = 64 * KB
const CHUNK = 64 * KB
const NOTHING = Buffer.alloc(0)

type Options = { url: string; name: string }
type PooledConnection = { connection: SMTPConnection; sent: number; idle: NodeJS.Timeout | undefined; lost: boolean }

/** Sends over a pool of SMTP connections: as many as messages at once, kept open for the next ones. */
export function createSmtpTransport({ url, name }: Options): Transport {
  const idle: PooledConnection[] = []
  /** Connections with a message on the wire. */
  const inUse = new Set<PooledConnection>()

  function takeIdle(): PooledConnection | undefined {
    for (let pooled = idle.pop(); pooled; pooled = idle.pop()) {
      clearTimeout(pooled.idle)
      if (!pooled.lost) return pooled
    }
    return undefined
  }

  function keep(pooled: PooledConnection) {
    if (pooled.lost || ++pooled.sent >= MESSAGES_PER_CONNECTION) return hangUp(pooled)
    pooled.idle = setTimeout(() => {
      idle.splice(idle.indexOf(pooled), 1)
      hangUp(pooled)
    }, IDLE_MS).unref()
    idle.push(pooled)
  }

  async function sendOn(
    pooled: PooledConnection,
    outgoing: OutgoingMessage,
    handOver: () => Promise<Permit | undefined>,
  ): Promise<SmtpAttempt> {
    inUse.add(pooled)
    const attempt = await transmit(pooled, outgoing, handOver).finally(() => inUse.delete(pooled))
    const { outcome, phase } = attempt
    if (outcome.is === 'accepted') keep(pooled)
    // RSET clears the refused sender or recipient from the session. In the middle of a message nothing can.
    else if (outcome.is === 'refused' && phase !== 'body') pooled.connection.reset((err) => (err ? drop(pooled) : keep(pooled)))
    else drop(pooled)
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
      const opened = await open({ url, name }).catch(
        (err: SmtpError): SendOutcome => ({ ...notSent(err, 'session'), busy: inUse.size > 0 }),
      )
      return 'is' in opened ? opened : (await sendOn(opened, outgoing, handOver)).outcome
    },
    async close() {
      for (const pooled of idle.splice(0)) hangUp(pooled)
      for (const pooled of inUse) drop(pooled)
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
    // STARTTLS whenever the server offers it. Required with `?tls=required`, or when a password would cross a network in clear text.
    // `?tls=off` is for a relay on the same machine.
    requireTLS: searchParams.get('tls') === 'required' || (password !== '' && searchParams.get('tls') !== 'off' && !isLocalHost(hostname)),
    ignoreTLS: searchParams.get('tls') === 'off',
    connectionTimeout: CONNECT_MS,
    greetingTimeout: GREETING_MS,
    socketTimeout: FINAL_DOT_MS,
    maxResponseSize: MAX_REPLY,
  })
  const pooled: PooledConnection = { connection, sent: 0, idle: undefined, lost: false }
  connection.on('end', () => (pooled.lost = true))
  connection.on('error', () => (pooled.lost = true))
  try {
    await step(connection, (done) => connection.connect(done))
    const credentials = { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
    if (username) await step(connection, (done) => connection.login({ credentials }, done))
    return pooled
  } catch (err) {
    drop(pooled)
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

const hangUp = (pooled: PooledConnection) => {
  pooled.lost = true
  pooled.connection.quit()
}

const drop = (pooled: PooledConnection) => {
  pooled.lost = true
  pooled.connection.close()
}

/** `phase` at the end decides whether the connection can be reused. */
type SmtpAttempt = { outcome: SendOutcome; phase: 'commands' | 'body' | 'handed-over' }

/** Sends one message on an open connection. The phase in which an error occurs decides the outcome. */
function transmit(pooled: PooledConnection, outgoing: OutgoingMessage, handOver: () => Promise<Permit | undefined>): Promise<SmtpAttempt> {
  return new Promise((resolve) => {
    let phase: SmtpAttempt['phase'] = 'commands'
    let isOver = false
    let permit: Permit | undefined
    let timer = setTimeout(() => end(timedOut('the commands')), COMMANDS_MS)
    const wait = (ms: number, what: string) => {
      clearTimeout(timer)
      timer = setTimeout(() => end(timedOut(what)), ms)
    }
    const end = (outcome: SendOutcome) => {
      isOver = true
      clearTimeout(timer)
      pooled.connection.removeListener('error', failed)
      pooled.connection.removeListener('end', closed)
      unwatch()
      resolve({ outcome, phase })
    }
    const timedOut = (what: string): SendOutcome =>
      phase === 'handed-over'
        ? { is: 'unknown', error: `no reply to ${what} in time` }
        : { is: 'not-sent', at: 'message', error: `no reply to ${what} in time` }
    const failed = (err: SmtpError) => end(phase === 'handed-over' ? afterHandOver(err) : notSent(err, stageOf(err)))
    // Deferred: a server that replies and closes may close first, and the reply has the reason.
    const closed = () => setImmediate(() => isOver || failed(new Error('the connection was closed')))
    pooled.connection.on('error', failed)
    pooled.connection.on('end', closed)
    // Some turns of the event loop lie between the permit and the last byte, in which the process may be suspended.
    const unwatch = watchWrites(pooled.connection, () => {
      if (phase !== 'handed-over' || permit?.()) return true
      phase = 'body'
      end({ is: 'withheld' })
      return false
    })

    const body = bodyOf(outgoing.message, {
      started() {
        phase = 'body'
        wait(BODY_MS, 'the body')
      },
      async sent() {
        crash('body-sent')
        // After a timeout or error the outcome is reported already: nothing may follow.
        permit = await handOver()
        if (!permit || isOver) return false
        phase = 'handed-over'
        // The reply may take ten minutes, and a message may have 40 MB.
        outgoing.message = NOTHING
        wait(FINAL_DOT_MS, 'the end of the message')
        return true
      },
      dropped: () => end({ is: 'withheld' }),
    })
    const envelope = { from: outgoing.returnPath ?? outgoing.from, to: [outgoing.recipient], size: outgoing.message.length }
    pooled.connection.send(envelope, body, (err, info) => {
      if (err) return failed(err as SmtpError)
      if (phase !== 'handed-over') return end({ is: 'not-sent', at: 'message', error: 'the server replied before the end of the message' })
      crash('accepted')
      end({ is: 'accepted', response: info.response })
    })
  })
}

/** Calls `mayWrite` before each write to the socket; false destroys the connection. Returns a function that removes the check. */
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
 * The message as a stream. Its end sends the last byte, so it ends only after the hand-over is marked. The mark is requested when everything
 * before has been read, not while megabytes still wait for a slow network.
 */
function bodyOf(message: Buffer, { started, sent, dropped }: Hooks) {
  let position = 0
  let left = message
  const body = new Readable({
    highWaterMark: CHUNK,
    read() {
      if (position === 0) started()
      if (position < left.length) {
        position += CHUNK
        this.push(left.subarray(position - CHUNK, position))
        return
      }
      left = NOTHING
      sent().then(
        (mayLeave) => (mayLeave ? this.push(null) : dropped()),
        () => dropped(),
      )
    },
  })
  if (isWireForm(message))
    body.pipe = (stream, options) => Readable.prototype.pipe.call(body, withoutEscaping(stream), options) as typeof stream
  return body
}

const [LF, CR, DOT] = [0x0a, 0x0d, 0x2e]

/** True when nothing needs to be escaped: every line ends with CRLF, and none begins with a dot. */
function isWireForm(message: Uint8Array) {
  if (message[0] === DOT) return false
  for (let at = 0; at < message.length; at++) {
    const byte = message[at]!
    if (byte > CR) continue
    if (byte === LF) return false
    if (byte === CR) {
      if (message[at + 1] !== LF || message[at + 2] === DOT) return false
      at++
    }
  }
  return true
}

/** The stream of nodemailer that escapes a message, without the escaping. It reads each byte twice, a third of the CPU time of sending. */
function withoutEscaping<Stream>(stream: Stream): Stream {
  const escaper = stream as unknown as Transform & { inByteCount: number; outByteCount: number; lastByte: number }
  escaper._transform = (chunk: Buffer, _, done) => {
    escaper.inByteCount += chunk.length
    escaper.outByteCount += chunk.length
    // Decides what is written before the final dot.
    escaper.lastByte = chunk[chunk.length - 1]!
    done(null, chunk)
  }
  return stream
}

const afterHandOver = (err: SmtpError): SendOutcome => (isRefusal(err) ? refused(err, 'message') : { is: 'unknown', error: describe(err) })

function notSent(err: SmtpError, at: Stage): SendOutcome & { is: 'refused' | 'not-sent' } {
  if (isRefusal(err)) return refused(err, at)
  // The server announced its limit in EHLO, so nodemailer did not even offer the message.
  if (/^Message size larger than allowed/.test(err.message))
    return { is: 'refused', at: 'sender', code: 552, response: `552 5.3.4 ${err.message}` }
  return { is: 'not-sent', at, error: describe(err) }
}

const isRefusal = ({ responseCode = 0 }: SmtpError) => responseCode >= 400 && responseCode < 600

const STAGES: Record<string, Stage> = { 'MAIL FROM': 'sender', 'RCPT TO': 'recipient' }

/** A 421 between the commands of a message has no command: like a lost connection it concerns the message on the wire. */
const stageOf = ({ command = '' }: SmtpError): Stage => STAGES[command] ?? 'message'

const refused = (err: SmtpError, at: Stage): SendOutcome & { is: 'refused' } => ({
  is: 'refused',
  at,
  code: err.responseCode!,
  response: (err.response ?? err.message).slice(0, 1_000),
})

const describe = ({ code, message }: SmtpError) => `${code ? `${code}: ` : ''}${message}`.slice(0, 500)
