import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SMTPServerEnvelope, SMTPServerSession } from 'smtp-server'
import type { CallingProject } from '../../http/auth/key-lookup.ts'
import type { SecretKeys } from '../../http/auth/secret-keys.ts'
import { AppError } from '../../lib/errors/errors.ts'
import { createCounts } from '../../lib/fair/counts.ts'
import type { Log } from '../../lib/process/log.ts'
import { Refusal } from '../../lib/smtp/smtp-refusal.ts'
import { readAddress } from '../../lib/text/address.ts'
import type { SubmissionLimits } from './limits.ts'
import { refusalOf } from './replies.ts'

/** A connection that has logged in. */
export type SubmissionClient = {
  key: string
  ip: string
  project: CallingProject
  /** Its next message is counted against the rate limit already. */
  hasTurn: boolean
}

type Recipients = { accepted: string[]; refused: number }

type Deps = { keys: SecretKeys; log: Log; limits: SubmissionLimits }

/** Steps of a connection before a message arrives: log in, name a sender and recipients. Every failure is a Refusal. */
export function createClients({ keys, log, limits }: Deps) {
  const clients = new WeakMap<SMTPServerSession, SubmissionClient>()
  const failedLogins = new WeakMap<SMTPServerSession, number>()
  /** Sessions whose connection has ended, perhaps while their key was looked up. */
  const ended = new WeakSet<SMTPServerSession>()
  /** Recipients of the current message. The library keeps a repeated recipient once; each RCPT is an email. */
  const recipients = new WeakMap<SMTPServerEnvelope, Recipients>()
  const connections = createCounts()

  /** The user name is not looked at. */
  async function logIn(session: SMTPServerSession, key: string) {
    const ip = session.remoteAddress
    const project = await keys.find(key.trim(), ip, 'send').catch((err: unknown) => refuseLogin(session, err))
    if (connections.of(project.owner) >= limits.connectionsOfOwner) throw new Refusal(421, '4.7.0 Too many connections of this account')
    if (ended.has(session)) return
    connections.change(project.owner, 1)
    clients.set(session, { key: key.trim(), ip, project, hasTurn: false })
  }

  function refuseLogin(session: SMTPServerSession, err: unknown): never {
    if (!(err instanceof AppError)) throw err
    // A network that guesses keys.
    if (err.code === 'RATE_LIMIT_EXCEEDED') throw new Refusal(421, `4.7.0 ${err.message}`)
    const failures = (failedLogins.get(session) ?? 0) + 1
    failedLogins.set(session, failures)
    const isLast = failures >= limits.failedLogins
    throw isLast ? new Refusal(421, '4.7.0 Too many wrong keys') : new Refusal(535, '5.7.8 Not a secret key with the scope "send"')
  }

  const clientOf = (session: SMTPServerSession) => clients.get(session)

  /** Refused here if the rate limit is used up. A message counts when its DATA arrives. */
  async function begin(session: SMTPServerSession) {
    // Gives other connections a turn: a client may send thousands of these commands at once.
    await nextTurn()
    const client = clientOf(session)
    if (!client) throw new Refusal(530, session.secure ? '5.7.0 Log in first' : '5.7.0 Use STARTTLS, then log in')
    if (!client.hasTurn && !(await keys.takeTurn(client.project.id)))
      throw new Refusal(450, '4.7.1 Too many messages. Try again in a minute')
    client.hasTurn = true
  }

  /** Not asynchronous: the library then gives other connections their turn, however many of these commands come at once. */
  function addRecipient({ envelope }: SMTPServerSession, given: string): Refusal | null {
    const known = recipients.get(envelope) ?? { accepted: [], refused: 0 }
    recipients.set(envelope, known)
    const address = readAddress(given)
    if (address && known.accepted.length < limits.recipients) {
      known.accepted.push(address)
      return null
    }
    if (++known.refused > limits.refusedRecipients) return new Refusal(421, '4.7.0 Too many recipients were refused')
    if (!address) return new Refusal(550, '5.1.3 Not a valid email address')
    return new Refusal(452, `4.5.3 At most ${limits.recipients} recipients`)
  }

  function leave(session: SMTPServerSession) {
    const client = clientOf(session)
    if (client) connections.change(client.project.owner, -1)
    clients.delete(session)
  }

  const outcomeOf = (work: Promise<void>): Promise<Refusal | null> =>
    work.then(
      () => null,
      (err) => refusalOf(err, log),
    )

  return {
    clientOf,
    recipientsOf: ({ envelope }: SMTPServerSession) => recipients.get(envelope)?.accepted ?? [],
    logIn: (session: SMTPServerSession, key: string) => outcomeOf(logIn(session, key)),
    begin: (session: SMTPServerSession) => outcomeOf(begin(session)),
    addRecipient,
    /** The session goes on, as one that has not logged in. */
    leave,
    end(session: SMTPServerSession) {
      ended.add(session)
      leave(session)
    },
  }
}
