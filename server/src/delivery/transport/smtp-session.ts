import type { Socket } from 'node:net'
import type SMTPConnection from 'nodemailer/lib/smtp-connection/index.js'
import { crash } from '../../lib/crash-point.ts'
import { SECOND } from '../../lib/text/units.ts'
import { fitToServer } from './fit-server.ts'
import { createSmtpDialog, type SmtpDialog, type SmtpReply } from './smtp-dialog.ts'
import type { OutgoingMessage, Permit, SendOutcome, Stage } from './transport.ts'
import { toWireForm } from './wire-form.ts'

/** Timeouts per phase, as RFC 5321 asks. The one for the final dot is long: giving up earlier means sending twice. */
export const COMMANDS_MS = 120 * SECOND
const BODY_MS = 120 * SECOND
export const FINAL_DOT_MS = 600 * SECOND
const NOTHING = Buffer.alloc(0)
const DOT = '.\r\n'

export type SmtpError = Error & { code?: string; responseCode?: number; response?: string }

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
 * Takes the socket of an open connection over from nodemailer, which has read the greeting, switched to TLS and logged in. The rest of SMTP is
 * the same few lines for each message. A general client passes every message through streams, which takes three times as much CPU.
 */
export function takeOver(connection: SMTPConnection) {
  const { _socket: socket, _supportedExtensions: extensions, _maxAllowedSize: maxSize } = connection as Opened
  detach(connection as Opened)
  const dialog = createSmtpDialog(socket)
  const server: Server = { canPipeline: extensions.includes('PIPELINING'), extensions, maxSize }
  const abilities = { eightBit: extensions.includes('8BITMIME'), utf8: extensions.includes('SMTPUTF8') }

  /** Sends one message. The phase in which an error occurs decides the outcome. */
  async function transmit(outgoing: OutgoingMessage, handOver: () => Promise<Permit | undefined>): Promise<SmtpAttempt> {
    let phase: SmtpAttempt['phase'] = 'commands'
    try {
      dialog.within(COMMANDS_MS, 'the commands')
      const unfit = outgoing.form && (await fitToServer(outgoing, abilities))
      if (unfit) return { outcome: unfit, phase }
      const refusal = await sendEnvelope(dialog, server, outgoing)
      if (refusal) return { outcome: refusal, phase }
      phase = 'body'
      dialog.within(BODY_MS, 'the body')
      // Normally to the final dot. If it comes earlier, nothing may follow.
      const reply = dialog.nextReply()
      const wire = outgoing.isWireForm ? outgoing.message : toWireForm(outgoing.message)
      const early = (await Promise.race([dialog.written(wire), reply])) ?? (await handOverUnless(reply, handOver))
      if ('code' in early) return { outcome: refusedBy(early, 'message'), phase }
      // Checked in the same turn as the write: this process may have been suspended since the mark.
      if (!early.permit?.()) return { outcome: { is: 'withheld' }, phase }
      phase = 'handed-over'
      dialog.write(DOT)
      dialog.within(FINAL_DOT_MS, 'the end of the message')
      // The reply may take ten minutes, and a message may have 40 MB.
      outgoing.message = NOTHING
      return { outcome: answered(await reply), phase }
    } catch (err) {
      return {
        outcome: phase === 'handed-over' ? { is: 'unknown', error: describe(err as Error) } : notSent('message', describe(err as Error)),
        phase,
      }
    } finally {
      dialog.endTimeLimit()
    }
  }

  async function handOverUnless(reply: Promise<SmtpReply>, handOver: () => Promise<Permit | undefined>) {
    crash('body-sent')
    // The connection was lost, or the server has replied: nothing is marked for it.
    if (!dialog.isWaiting()) return reply
    const permit = handOver().catch(() => undefined)
    const first = await Promise.race([permit.then((given) => ({ permit: given })), reply])
    // The reply may have come in the same turn.
    return dialog.isWaiting() || 'code' in first ? first : reply
  }

  return {
    isUsable: dialog.isUsable,
    transmit,
    /** Clears a refused sender or recipient from the session. False when the session cannot be used again. */
    async reset() {
      dialog.within(COMMANDS_MS, 'RSET')
      dialog.write('RSET\r\n')
      const isReset = await dialog.nextReply().then(
        ({ code }) => code === 250,
        () => false,
      )
      dialog.endTimeLimit()
      return isReset
    },
    hangUp: dialog.hangUp,
    drop: () => dialog.lose(new Error('the session was dropped')),
  }
}

type Server = { canPipeline: boolean; extensions: string[]; maxSize: number }

/** MAIL, RCPT and DATA, in one write where the server allows it. Undefined when the message may follow. */
async function sendEnvelope(
  { write, nextReply, lose }: SmtpDialog,
  { canPipeline, extensions, maxSize }: Server,
  { from, returnPath, recipient, message, form }: OutgoingMessage,
): Promise<SendOutcome | undefined> {
  const sender = (returnPath ?? from).trim()
  const to = recipient.trim()
  if (/[\r\n<>]/.test(sender) || !to || /[\r\n<>]/.test(to)) return notSent('message', 'the envelope has an invalid address')
  // The server announced its limit: the message need not even be offered.
  if (maxSize && message.length > maxSize)
    return { is: 'refused', at: 'sender', code: 552, response: `552 5.3.4 Message size larger than allowed ${maxSize}` }
  const utf8 = extensions.includes('SMTPUTF8') && (form === 'utf8' || /[^\0-\x7f]/.test(sender + to)) ? ' SMTPUTF8' : ''
  const body = form && extensions.includes('8BITMIME') ? ' BODY=8BITMIME' : ''
  const size = extensions.includes('SIZE') ? ` SIZE=${message.length}` : ''
  const commands: [Stage, string][] = [
    ['sender', `MAIL FROM:<${sender}>${utf8}${body}${size}\r\n`],
    ['recipient', `RCPT TO:<${to}>\r\n`],
    ['message', 'DATA\r\n'],
  ]
  if (canPipeline) write(commands.map(([, line]) => line).join(''))
  let refusal: SendOutcome | undefined
  for (const [stage, line] of commands) {
    if (!canPipeline) write(line)
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

function detach(connection: Opened) {
  const { _socket: socket } = connection
  socket.removeListener('data', connection._onSocketData)
  socket.removeListener('end', connection._onSocketEnd)
  socket.removeListener('close', connection._onSocketClose)
  socket.removeListener('error', connection._onSocketError)
  socket.removeListener('timeout', connection._onSocketTimeout)
}

function answered(reply: SmtpReply): SendOutcome {
  if (reply.code >= 200 && reply.code < 300) {
    crash('accepted')
    return { is: 'accepted', response: reply.text }
  }
  return isRefusal(reply.code) ? refusedBy(reply, 'message') : { is: 'unknown', error: reply.text.slice(0, 500) }
}

const isRefusal = (code: number) => code >= 400 && code < 600

/** A reply that is neither expected nor a refusal says nothing about the email. */
const refusedBy = ({ code, text }: SmtpReply, at: Stage): SendOutcome =>
  isRefusal(code) ? { is: 'refused', at, code, response: text.slice(0, 1_000) } : notSent(at, text)

const notSent = (at: Stage, error: string): SendOutcome => ({ is: 'not-sent', at, error: error.slice(0, 500) })

export const describe = ({ code, message }: SmtpError) => `${code ? `${code}: ` : ''}${message}`.slice(0, 500)
