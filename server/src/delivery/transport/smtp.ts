import { Readable } from 'node:stream'
import SMTPConnection from 'nodemailer/lib/smtp-connection/index.js'
import { crash } from '../../lib/crash.ts'
import type { Outcome, Outgoing, Transport } from './transport.ts'

const SECOND = 1_000
/** What the standard asks a client to wait, phase by phase. The last is long: whoever gives up earlier sends twice. */
const CONNECT_MS = 10 * SECOND
const GREETING_MS = 30 * SECOND
const COMMANDS_MS = 120 * SECOND
const BODY_MS = 120 * SECOND
const FINAL_DOT_MS = 600 * SECOND
const IDLE_MS = 30 * SECOND
const MAILS_PER_CONNECTION = 500

type Options = { url: string; name: string }
type Line = { connection: SMTPConnection; mails: number; idle: NodeJS.Timeout | undefined; lost: boolean }

/** Keeps connections open for the next mail; as many as there are mails at once. */
export function createSmtp({ url, name }: Options): Transport {
  const idle: Line[] = []

  async function take(): Promise<Line> {
    for (let line = idle.pop(); line; line = idle.pop()) {
      clearTimeout(line.idle)
      if (!line.lost) return line
    }
    return open({ url, name })
  }

  function giveBack(line: Line) {
    if (line.lost || ++line.mails >= MAILS_PER_CONNECTION) return hangUp(line)
    line.idle = setTimeout(() => {
      idle.splice(idle.indexOf(line), 1)
      hangUp(line)
    }, IDLE_MS).unref()
    idle.push(line)
  }

  return {
    async send(mail, handOver) {
      let line: Line
      try {
        line = await take()
      } catch (err) {
        return notSent(err as SmtpError)
      }
      const outcome = await transmit(line, mail, handOver)
      if (outcome.is === 'accepted' || outcome.is === 'refused') giveBack(line)
      else drop(line)
      return outcome
    },
    async close() {
      for (const line of idle.splice(0)) hangUp(line)
    },
  }
}

type SmtpError = Error & { code?: string; responseCode?: number; response?: string }

async function open({ url, name }: Options): Promise<Line> {
  const { protocol, hostname, port, username, password, searchParams } = new URL(url)
  const secure = protocol === 'smtps:'
  const connection = new SMTPConnection({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (secure ? 465 : 587)),
    secure,
    name,
    // Encrypted whenever the other side offers it; `?tls=required` insists, `?tls=off` is for a relay on the same machine.
    requireTLS: searchParams.get('tls') === 'required',
    ignoreTLS: searchParams.get('tls') === 'off',
    connectionTimeout: CONNECT_MS,
    greetingTimeout: GREETING_MS,
    socketTimeout: FINAL_DOT_MS,
  })
  const line: Line = { connection, mails: 0, idle: undefined, lost: false }
  connection.on('end', () => (line.lost = true))
  await new Promise<void>((resolve, reject) => {
    connection.on('error', (err) => {
      line.lost = true
      reject(err)
    })
    connection.connect(() => resolve())
  })
  if (username) {
    const credentials = { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
    await new Promise<void>((resolve, reject) => connection.login({ credentials }, (err) => (err ? reject(err) : resolve())))
  }
  return line
}

const hangUp = (line: Line) => {
  line.lost = true
  line.connection.quit()
}

const drop = (line: Line) => {
  line.lost = true
  line.connection.close()
}

/** One mail on an open line. Where it was when something went wrong decides what that means. */
function transmit(line: Line, mail: Outgoing, handOver: () => Promise<boolean>): Promise<Outcome> {
  return new Promise((resolve) => {
    let phase: 'commands' | 'body' | 'handed-over' = 'commands'
    let timer = setTimeout(() => end(timedOut('the commands')), COMMANDS_MS)
    const wait = (ms: number, what: string) => {
      clearTimeout(timer)
      timer = setTimeout(() => end(timedOut(what)), ms)
    }
    const end = (outcome: Outcome) => {
      clearTimeout(timer)
      line.connection.removeListener('error', failed)
      line.connection.removeListener('end', gone)
      resolve(outcome)
    }
    const timedOut = (what: string): Outcome =>
      phase === 'handed-over'
        ? { is: 'unknown', error: `no answer to ${what} in time` }
        : { is: 'not-sent', error: `no answer to ${what} in time` }
    const failed = (err: SmtpError) => end(phase === 'handed-over' ? afterHandOver(err) : notSent(err))
    const gone = () => failed(new Error('the connection was closed'))
    line.connection.on('error', failed)
    line.connection.on('end', gone)

    const body = bodyOf(mail.message, {
      started() {
        phase = 'body'
        wait(BODY_MS, 'the body')
      },
      async sent() {
        crash('body-sent')
        if (!(await handOver())) return false
        phase = 'handed-over'
        wait(FINAL_DOT_MS, 'the end of the mail')
        return true
      },
      dropped: () => end({ is: 'not-sent', error: 'it was taken from us' }),
    })
    const envelope = { from: mail.sender, to: [mail.recipient], size: Buffer.byteLength(mail.message) }
    line.connection.send(envelope, body, (err, info) => {
      if (!err) crash('accepted')
      if (err) failed(err as SmtpError)
      else end({ is: 'accepted', response: info.response })
    })
  })
}

type Hooks = { started(): void; sent(): Promise<boolean>; dropped(): void }

/** The last byte follows when the stream ends, and it ends only after the hand-over is on record. */
function bodyOf(message: string, { started, sent, dropped }: Hooks) {
  let pushed = false
  return new Readable({
    read() {
      if (pushed) return
      pushed = true
      started()
      this.push(message)
      sent().then(
        (mayLeave) => (mayLeave ? this.push(null) : dropped()),
        () => dropped(),
      )
    },
  })
}

const afterHandOver = (err: SmtpError): Outcome => (err.responseCode ? refused(err) : { is: 'unknown', error: describe(err) })

const notSent = (err: SmtpError): Outcome => (err.responseCode ? refused(err) : { is: 'not-sent', error: describe(err) })

const refused = (err: SmtpError): Outcome => ({
  is: 'refused',
  code: err.responseCode!,
  response: (err.response ?? err.message).slice(0, 1_000),
})

const describe = ({ code, message }: SmtpError) => `${code ? `${code}: ` : ''}${message}`.slice(0, 500)
