import type { Pool } from '../db/index.ts'
import type { InboundConfig } from '../lib/config.ts'
import type { Log } from '../lib/process/log.ts'
import type { Secrets } from '../lib/secrets.ts'
import { listenForSmtp, refuseUnknownParameters, SENDER_PARAMETERS } from '../lib/smtp/smtp-listener.ts'
import { Refusal } from '../lib/smtp/smtp-refusal.ts'
import { createSmtpSockets } from '../lib/smtp/smtp-sockets.ts'
import { LIMITS, type Limits } from './limits.ts'
import { createReceiver } from './receive.ts'

type Options = {
  db: Pool
  secrets: Secrets
  log: Log
  inbound: InboundConfig
  bounceDomain: string | undefined
  /** Host name in the greeting. */
  name: string
  limits?: Partial<Limits>
}

/**
 * Receives messages by SMTP, for return paths and verified domains; relays nothing and offers no authentication. The reply to a message is
 * 250 once all its effects are committed, and 451 when they could not be: then its sender tries again.
 */
export async function startListener({ db, secrets, log, inbound, bounceDomain, name, limits: given }: Options) {
  const { port, host, certificate } = inbound
  const limits = { ...LIMITS, ...given }
  const receiver = createReceiver({ db, log, installation: { secrets, bounceDomain }, limits })
  const sockets = createSmtpSockets(limits)
  const listener = await listenForSmtp(
    {
      port,
      host,
      setting: 'INBOUND_SMTP_PORT',
      certificate,
      log,
      name,
      // Without a certificate the library would offer STARTTLS with its built-in one, whose private key is public.
      disabledCommands: ['AUTH', 'WIZ', 'SHELL', 'KILL', ...(certificate ? [] : ['STARTTLS'])],
      authOptional: true,
      size: limits.messageBytes,
      maxRecipients: limits.recipients,
      maxCommandLength: 4_096,
      socketTimeout: limits.idleMs,
      closeTimeout: limits.closingMs,
      onConnect: ({ remoteAddress }, done) => done(sockets.isOverLimit(remoteAddress) ? new Refusal(421, 'Too many connections') : null),
      onMailFrom: (sender, _session, done) => done(refuseUnknownParameters(sender, SENDER_PARAMETERS)),
      onRcptTo(recipient, session, done) {
        const refusal = refuseUnknownParameters(recipient, [])
        if (refusal) done(refusal)
        else void receiver.checkRecipient(recipient, session).then(done)
      },
      onData: (stream, session, done) => void receiver.receive(stream, session).then(done),
    },
    sockets,
  )

  return {
    async stop() {
      await listener.close()
      await receiver.close()
    },
  }
}
