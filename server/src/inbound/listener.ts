import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { SMTPServer, SMTPServerAddress, SMTPServerOptions } from 'smtp-server'
import type { Pool } from '../db/index.ts'
import { ConfigError, type InboundConfig } from '../lib/config.ts'
import type { Log } from '../lib/log.ts'
import { networkOf } from '../lib/network/network.ts'
import type { Secrets } from '../lib/secrets.ts'
import { LIMITS, type Limits } from './limits.ts'
import { createReceiver, Refusal } from './receive.ts'

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
  const limits = { ...LIMITS, ...given }
  const receiver = createReceiver({ db, log, installation: { secrets, bounceDomain }, limits })
  const sockets = createSockets(limits)
  const library = await import('smtp-server')
  const server = new library.SMTPServer({
    ...settings(inbound, limits),
    name,
    onConnect: ({ remoteAddress }, done) => done(sockets.isOverLimit(remoteAddress) ? new Refusal(421, 'Too many connections') : null),
    onMailFrom: (sender, _session, done) => done(refuseUnknownParameters(sender, SENDER_PARAMETERS)),
    onRcptTo(recipient, session, done) {
      const refusal = refuseUnknownParameters(recipient, [])
      if (refusal) done(refusal)
      else void receiver.checkRecipient(recipient, session).then(done)
    },
    onData: (stream, session, done) => void receiver.receive(stream, session).then(done),
  })
  server.server.on('connection', sockets.add)
  server.on('error', (err) => log.debug({ err }, 'an incoming connection failed'))
  await listen(server, inbound)

  return {
    async stop() {
      await new Promise<void>((resolve) => server.close(resolve))
      sockets.destroy()
      await receiver.close()
    },
  }
}

function settings({ keyFile, certFile }: InboundConfig, limits: Limits): SMTPServerOptions {
  const tls = keyFile && certFile ? { key: readPem(keyFile), cert: readPem(certFile) } : undefined
  return {
    ...tls,
    // Without a certificate the library would offer STARTTLS with its built-in one, whose private key is public.
    disabledCommands: ['AUTH', 'WIZ', 'SHELL', 'KILL', ...(tls ? [] : ['STARTTLS'])],
    authOptional: true,
    logger: false,
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    size: limits.messageBytes,
    rejectOversized: true,
    maxRecipients: limits.recipients,
    maxClients: limits.connections,
    maxCommandLength: 4_096,
    socketTimeout: limits.idleMs,
    closeTimeout: limits.closingMs,
  }
}

/** MAIL FROM parameters of the extensions in our EHLO reply. */
const SENDER_PARAMETERS = ['SIZE', 'BODY', 'SMTPUTF8']

/** RFC 5321 section 4.1.1.11: unknown parameters must not be ignored silently. */
function refuseUnknownParameters({ args }: SMTPServerAddress, known: string[]) {
  const unknown = Object.keys(args || {}).find((name) => !known.includes(name))
  return unknown ? new Refusal(555, 'Unsupported parameter') : null
}

/** All open connections, counted by network. */
function createSockets({ connectionMs, connectionsOfOne }: Limits) {
  const open = new Set<Socket>()
  const counts = new Map<string, number>()
  const count = (network: string, change: number) => {
    const total = (counts.get(network) ?? 0) + change
    if (total) counts.set(network, total)
    else counts.delete(network)
  }
  return {
    add(socket: Socket) {
      const network = networkOf(socket.remoteAddress ?? '')
      const deadline = setTimeout(() => socket.destroy(), connectionMs).unref()
      open.add(socket)
      count(network, 1)
      socket.once('close', () => {
        clearTimeout(deadline)
        open.delete(socket)
        count(network, -1)
      })
    },
    isOverLimit: (ip: string) => (counts.get(networkOf(ip)) ?? 0) > connectionsOfOne,
    destroy() {
      for (const socket of open) socket.destroy()
    },
  }
}

function readPem(file: string) {
  try {
    return readFileSync(file)
  } catch (err) {
    throw new ConfigError(`Cannot read the key or certificate for inbound SMTP: ${(err as Error).message}`)
  }
}

async function listen(server: SMTPServer, { port, host }: InboundConfig) {
  server.listen(port, host)
  await once(server.server, 'listening').catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'EADDRINUSE') throw new ConfigError(`Port ${port} is in use. Stop the program that uses it, or set INBOUND_SMTP_PORT.`)
    if (err.code === 'EACCES')
      throw new ConfigError(`Not allowed to listen on port ${port}. Use one above 1023, redirect port 25 to it, and set INBOUND_SMTP_PORT.`)
    throw err
  })
}
