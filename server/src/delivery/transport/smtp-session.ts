import type { Socket } from 'node:net'
import type SMTPConnection from 'nodemailer/lib/smtp-connection/index.js'
import { crash } from '../../lib/crash-point.ts'
import { KB, SECOND } from '../../lib/text/units.ts'
import type { OutgoingMessage, Permit, SendOutcome, Stage } from './transport.ts'
import { toWireForm } from './wire-form.ts'

/** Timeouts per phase, as RFC 5321 asks. The one for the final dot is long: giving up earlier means sending twice. */
export const COMMANDS_MS = 120 * SECOND
const BODY_MS = 120 * SECOND
export const FINAL_DOT_MS = 600 * SECOND
/** After QUIT, time for the server to close the connection. */
const QUIT_MS = 5 * SECOND
export const MAX_REPLY = 64 * KB
/** Unsolicited replies after which the session is dropped. */
const MAX_UNREAD = 10
const NOTHING = Buffer.alloc(0)
const DOT = '.\r\n'

export type SmtpError = Error & { code?: string; responseCode?: number; response?: string }
/** All lines of a reply, and the code of the last one; 0 when it has none. */
type Reply = { code: number; text: string }
type Waiter = { resolve: (reply: Reply) => void; reject: (err: Error) => void }

/** `phase` at the end decides whether the session can be used again. */
export type SmtpAttempt = { outcome: SendOutcome; phase: 'commands' | 'body' | 'handed-over' }
export type SmtpSession = ReturnType<typeof takeOver>

/** Fields of nodemailer's connection that its types leave out. */
type Opened = SMTPConnection & {
  _socket: Socket
  _supportedExtensions: string[]
  _maxAllowedSize: number
  _onSocketData: (chunk: Buffer) => void
  _onSocketEnd: () => void
  _onSocketClose: () => void
  _onSocketError: (err: Error) => void
  _onSocketTimeout: () => void
}

/**
 * Takes the socket of an open connection over from nodemailer, which has read the greeting, switched to TLS and logged in. What remains of SMTP is
 * the same few lines for each message. A general client passes every message through streams, which takes three times as much CPU.
 */
export function takeOver(connection: SMTPConnection) {
  const { _socket: socket, _supportedExtensions: extensions, _maxAllowedSize: maxSize } = connection as Opened
  const canPipeline = extensions.includes('PIPELINING')
  const unread: Reply[] = []
  let waiter: Waiter | undefined
  let lostBy: Error | undefined
  let deadline: NodeJS.Timeout | undefined
  const replies = createReplyReader((reply) => {
    if (waiter) settleWaiter(({ resolve }) => resolve(reply))
    else if (unread.push(reply) > MAX_UNREAD) lose(new Error('the server sent replies that were not asked for'))
  })

  detach(connection as Opened)
  socket.setTimeout(0)
  // The final dot is a write of its own, which must not wait for an acknowledgement of the message.
  socket.setNoDelay(true)
  socket.on('data', (chunk: Buffer) => {
    if (!replies.read(chunk)) lose(new Error('the reply is too long'))
  })
  socket.on('error', lose)
  // Deferred: a server that replies and closes may close first, and the reply has the reason.
  const closed = () =>
    setImmediate(() => {
      replies.end()
      lose(new Error('the connection was closed'))
    })
  socket.on('end', closed)
  socket.on('close', closed)

  function settleWaiter(how: (waiter: Waiter) => void) {
    const waiting = waiter
    waiter = undefined
    if (waiting) how(waiting)
  }

  function lose(err: Error) {
    lostBy ??= err
    clearTimeout(deadline)
    socket.destroy()
    settleWaiter(({ reject }) => reject(err))
  }

  /** Replaces the time limit of the phase before. */
  function within(ms: number, what: string) {
    clearTimeout(deadline)
    deadline = setTimeout(() => lose(new Error(`no reply to ${what} in time`)), ms)
  }

  function nextReply(): Promise<Reply> {
    const reply = unread.shift()
    if (reply) return Promise.resolve(reply)
    if (lostBy) return Promise.reject(lostBy)
    return new Promise((resolve, reject) => {
      waiter = { resolve, reject }
    })
  }

  /** Resolves when the bytes have left this process, not while a slow network still transmits them. */
  const written = (bytes: Buffer) => new Promise<undefined>((resolve) => void socket.write(bytes, () => resolve(undefined)))

  /** MAIL, RCPT and DATA, in one write where the server allows it. Undefined when the message may follow. */
  async function sendEnvelope({ from, returnPath, recipient, message }: OutgoingMessage): Promise<SendOutcome | undefined> {
    const sender = (returnPath ?? from).trim()
    const to = recipient.trim()
    if (/[\r\n<>]/.test(sender) || !to || /[\r\n<>]/.test(to)) return notSent('message', 'the envelope has an invalid address')
    // The server announced its limit: the message need not even be offered.
    if (maxSize && message.length > maxSize)
      return { is: 'refused', at: 'sender', code: 552, response: `552 5.3.4 Message size larger than allowed ${maxSize}` }
    const utf8 = extensions.includes('SMTPUTF8') && /[^\0-\x7f]/.test(sender + to) ? ' SMTPUTF8' : ''
    const size = extensions.includes('SIZE') ? ` SIZE=${message.length}` : ''
    const commands: [Stage, string][] = [
      ['sender', `MAIL FROM:<${sender}>${utf8}${size}\r\n`],
      ['recipient', `RCPT TO:<${to}>\r\n`],
      ['message', 'DATA\r\n'],
    ]
    if (canPipeline) socket.write(commands.map(([, line]) => line).join(''))
    let refusal: SendOutcome | undefined
    for (const [stage, line] of commands) {
      if (!canPipeline) socket.write(line)
      const reply = await nextReply().catch((err: Error) => err)
      if (reply instanceof Error) {
        if (!refusal) throw reply
        return refusal
      }
      const isTaken = stage === 'message' ? reply.code >= 200 && reply.code < 400 : reply.code >= 200 && reply.code < 300
      if (!isTaken) refusal ??= refusedBy(reply, stage)
      // The server expects a message that will not come: not even an empty one may follow.
      else if (refusal && stage === 'message') lose(new Error('the server took DATA after a refusal'))
      // With 421 the server closes the session. Without pipelining no other command was sent.
      if (refusal && (!canPipeline || reply.code === 421)) return refusal
    }
    return refusal
  }

  /** Sends one message. The phase in which an error occurs decides the outcome. */
  async function transmit(outgoing: OutgoingMessage, handOver: () => Promise<Permit | undefined>): Promise<SmtpAttempt> {
    let phase: SmtpAttempt['phase'] = 'commands'
    try {
      within(COMMANDS_MS, 'the commands')
      const refusal = await sendEnvelope(outgoing)
      if (refusal) return { outcome: refusal, phase }
      phase = 'body'
      within(BODY_MS, 'the body')
      // Normally to the final dot. If it comes earlier, nothing may follow.
      const reply = nextReply()
      const wire = outgoing.isWireForm ? outgoing.message : toWireForm(outgoing.message)
      const early = (await Promise.race([written(wire), reply])) ?? (await handOverUnless(reply, handOver))
      if ('code' in early) return { outcome: refusedBy(early, 'message'), phase }
      // Checked in the same turn as the write: this process may have been suspended since the mark.
      if (!early.permit?.()) return { outcome: { is: 'withheld' }, phase }
      phase = 'handed-over'
      socket.write(DOT)
      within(FINAL_DOT_MS, 'the end of the message')
      // The reply may take ten minutes, and a message may have 40 MB.
      outgoing.message = NOTHING
      return { outcome: answered(await reply), phase }
    } catch (err) {
      return {
        outcome: phase === 'handed-over' ? { is: 'unknown', error: describe(err as Error) } : notSent('message', describe(err as Error)),
        phase,
      }
    } finally {
      clearTimeout(deadline)
    }
  }

  async function handOverUnless(reply: Promise<Reply>, handOver: () => Promise<Permit | undefined>) {
    crash('body-sent')
    // The connection was lost, or the server has replied: nothing is marked for it.
    if (!waiter) return reply
    const permit = handOver().catch(() => undefined)
    const first = await Promise.race([permit.then((given) => ({ permit: given })), reply])
    // The reply may have come in the same turn.
    return waiter || 'code' in first ? first : reply
  }

  return {
    /** False when the connection has ended, or the server sent something that was not asked for. */
    isUsable: () => !lostBy && unread.length === 0,
    transmit,
    /** Clears a refused sender or recipient from the session. False when the session cannot be used again. */
    async reset() {
      within(COMMANDS_MS, 'RSET')
      socket.write('RSET\r\n')
      const isReset = await nextReply().then(
        ({ code }) => code === 250,
        () => false,
      )
      clearTimeout(deadline)
      return isReset
    },
    hangUp() {
      lostBy ??= new Error('the session was ended')
      socket.end('QUIT\r\n')
      setTimeout(() => socket.destroy(), QUIT_MS).unref()
    },
    drop: () => lose(new Error('the session was dropped')),
  }
}

function detach(connection: Opened) {
  const { _socket: socket } = connection
  socket.removeListener('data', connection._onSocketData)
  socket.removeListener('end', connection._onSocketEnd)
  socket.removeListener('close', connection._onSocketClose)
  socket.removeListener('error', connection._onSocketError)
  socket.removeListener('timeout', connection._onSocketTimeout)
}

/** Reads replies from chunks that may end anywhere. */
function createReplyReader(onReply: (reply: Reply) => void) {
  let line = ''
  let lines = ''
  return {
    /** False once a reply is too long. */
    read(chunk: Buffer) {
      const parts = (line + chunk.toString('latin1')).split('\n')
      line = parts.pop()!
      for (const part of parts) {
        const text = part.endsWith('\r') ? part.slice(0, -1) : part
        if (!text.trim()) continue
        lines += lines ? `\n${text}` : text
        if (/^\d+-/.test(text)) continue
        onReply({ code: Number.parseInt(text, 10) || 0, text: decoded(lines) })
        lines = ''
      }
      return line.length + lines.length <= MAX_REPLY
    },
    /** The connection has ended: a refusal without its line break counts. */
    end() {
      if (/^[45]\d\d[ -]/.test(line)) onReply({ code: Number.parseInt(line, 10), text: decoded(line.trim()) })
      line = ''
    },
  }
}

/** UTF-8, or the bytes as they are if they are something else. */
function decoded(latin1: string) {
  if (!/[^\0-\x7f]/.test(latin1)) return latin1
  const utf8 = Buffer.from(latin1, 'latin1').toString()
  return utf8.includes('\ufffd') ? latin1 : utf8
}

function answered(reply: Reply): SendOutcome {
  if (reply.code >= 200 && reply.code < 300) {
    crash('accepted')
    return { is: 'accepted', response: reply.text }
  }
  return isRefusal(reply.code) ? refusedBy(reply, 'message') : { is: 'unknown', error: reply.text.slice(0, 500) }
}

const isRefusal = (code: number) => code >= 400 && code < 600

/** A reply that is neither expected nor a refusal says nothing about the email. */
const refusedBy = ({ code, text }: Reply, at: Stage): SendOutcome =>
  isRefusal(code) ? { is: 'refused', at, code, response: text.slice(0, 1_000) } : notSent(at, text)

const notSent = (at: Stage, error: string): SendOutcome => ({ is: 'not-sent', at, error: error.slice(0, 500) })

export const describe = ({ code, message }: SmtpError) => `${code ? `${code}: ` : ''}${message}`.slice(0, 500)
