import type { SMTPServerSession } from 'smtp-server'
import type { App, Deps } from '../../http/core/types.ts'
import type { SubmissionConfig } from '../../lib/config.ts'
import { isLoopback, networkOf } from '../../lib/network/network.ts'
import { listenForSmtp, refuseUnknownParameters, SENDER_PARAMETERS } from '../../lib/smtp/smtp-listener.ts'
import { Refusal } from '../../lib/smtp/smtp-refusal.ts'
import { createSmtpSockets } from '../../lib/smtp/smtp-sockets.ts'
import { createAcceptor } from '../acceptance/accept.ts'
import { createClients } from './clients.ts'
import { SUBMISSION_LIMITS, type SubmissionLimits } from './limits.ts'
import { createMessageReader } from './message-reader.ts'
import { createSubmissionReceiver, SUBMISSION_ENDPOINT } from './receive.ts'
import { refusalOf } from './replies.ts'

/** Commands of the library that have no use here. */
const DISABLED = ['WIZ', 'SHELL', 'KILL', 'VRFY', 'HELP']
/** RFC 4954: a client may repeat, at MAIL, that it has logged in. */
const KNOWN_PARAMETERS = [...SENDER_PARAMETERS, 'AUTH']
const NO_LOGIN = '4.7.0 No login in time'

/**
 * Accepts messages of clients that log in with a secret key: SMTP instead of POST /v1/send. Shares the rate limit, the budget of body bytes and
 * the limit of wrong keys with the API of this node.
 */
export async function startSubmission(
  { config, db, log }: Pick<Deps, 'config' | 'db' | 'log'> & { config: { submission: SubmissionConfig } },
  { secretKeys: keys, holdBody }: Pick<App, 'secretKeys' | 'holdBody'>,
  given: Partial<SubmissionLimits> = {},
) {
  const { port, host, tls, certificate, allowPlaintext, public: place } = config.submission
  const limits = { ...SUBMISSION_LIMITS, ...given }
  const acceptor = createAcceptor(db, { ...config, endpoint: SUBMISSION_ENDPOINT })
  const clients = createClients({ keys, log, limits })
  const reader = createMessageReader()
  const receive = createSubmissionReceiver({ clients, keys, holdBody, reader, acceptor, limits })
  const sockets = createSmtpSockets({ ...limits, ownerOf: (session) => clients.clientOf(session)?.project.owner })
  const deadlines = createDeadlines((session, why) => listener.disconnect(session, why))
  const inProgress = new Set<Promise<unknown>>()

  /** AUTH is offered only where nobody can read the key on its way. */
  const disabledFor = ({ secure, remoteAddress }: Pick<SMTPServerSession, 'secure' | 'remoteAddress'>) => [
    ...DISABLED,
    ...(secure || allowPlaintext || isLoopback(remoteAddress) ? [] : ['AUTH']),
    ...(certificate ? [] : ['STARTTLS']),
  ]

  const listener = await listenForSmtp(
    {
      port,
      host,
      setting: 'SMTP_SUBMISSION_PORT',
      certificate,
      log,
      name: place.host,
      secure: tls === 'implicit',
      authMethods: ['PLAIN', 'LOGIN'],
      paceBy: (session) => clients.clientOf(session)?.project.owner ?? networkOf(session.remoteAddress),
      // Decided per connection, by `disabledFor`.
      allowInsecureAuth: true,
      authOptional: true,
      lenientAddressParsing: true,
      size: limits.messageBytes,
      maxCommandLength: limits.commandBytes,
      socketTimeout: limits.idleMs,
      closeTimeout: limits.closingMs,
      onConnect(session, done) {
        session.disabledCommands = disabledFor(session)
        if (sockets.isOverLimit(session.remoteAddress)) return done(new Refusal(421, '4.7.0 Too many connections'))
        deadlines.set(session, limits.loginMs, NO_LOGIN)
        done()
      },
      onSecure(_socket, session, done) {
        session.disabledCommands = disabledFor({ secure: true, remoteAddress: session.remoteAddress })
        // RFC 3207: what the client said before the handshake is forgotten.
        clients.leave(session)
        deadlines.set(session, limits.loginMs, NO_LOGIN)
        done()
      },
      onAuth({ password }, session, done) {
        void clients.logIn(session, password ?? '').then((refusal) => {
          if (!refusal) deadlines.end(session)
          done(refusal, refusal ? undefined : { user: true })
        })
      },
      onMailFrom(sender, session, done) {
        const refusal = refuseUnknownParameters(sender, KNOWN_PARAMETERS)
        if (refusal) done(refusal)
        else void clients.begin(session).then(done)
      },
      onRcptTo(recipient, session, done) {
        done(refuseUnknownParameters(recipient, []) ?? clients.addRecipient(session, recipient.address))
      },
      onData(stream, session, done) {
        deadlines.set(session, limits.messageMs, '4.4.2 The message took too long')
        stream.once('end', () => deadlines.end(session))
        const work = receive(stream, session)
          .then(
            (reply) => done(null, reply),
            (err) => done(refusalOf(err, log)),
          )
          .finally(() => inProgress.delete(work))
        inProgress.add(work)
      },
      onClose(session) {
        deadlines.end(session)
        clients.end(session)
      },
    },
    sockets,
  )

  return {
    /** Messages that have arrived are accepted. */
    async stop() {
      await listener.close()
      await Promise.allSettled(inProgress)
      await acceptor.drain()
      await reader.close()
    },
  }
}

/** One time limit per connection. */
function createDeadlines(disconnect: (session: SMTPServerSession, why: string) => void) {
  const timers = new WeakMap<SMTPServerSession, NodeJS.Timeout>()
  const end = (session: SMTPServerSession) => clearTimeout(timers.get(session))
  return {
    end,
    set(session: SMTPServerSession, ms: number, why: string) {
      end(session)
      timers.set(session, setTimeout(() => disconnect(session, why), ms).unref())
    },
  }
}
