import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { SMTPServer, SMTPServerAddress, SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import { ConfigError } from '../errors/config-error.ts'
import type { Log } from '../process/log.ts'
import { MINUTE } from '../text/units.ts'
import { setConnectionRules } from './connection-rules.ts'
import { Refusal } from './smtp-refusal.ts'
import type { SmtpSockets } from './smtp-sockets.ts'

type Options = SMTPServerOptions & {
  onData: NonNullable<SMTPServerOptions['onData']>
  port: number
  host: string | undefined
  /** The setting that a busy port is changed by. */
  setting: string
  certificate: CertificateFiles | undefined
  log: Log
  paceBy?: (session: SMTPServerSession) => string
}
export type CertificateFiles = { keyFile: string; certFile: string }

/** A certificate that was renewed is used from then on. */
const RELOAD_MS = 10 * MINUTE

/** Listens for SMTP. Every connection is in `sockets`, which bounds their number. */
export async function listenForSmtp(
  { port, host, setting, certificate, log, paceBy, onData, onClose, ...options }: Options,
  sockets: SmtpSockets,
) {
  const library = await import('smtp-server')
  const loaded = certificate && loadCertificate(certificate)
  const server = new library.SMTPServer({
    logger: false,
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    rejectOversized: true,
    ...loaded,
    ...options,
    onData(stream, session, done) {
      const end = sockets.beginMessage(session, stream)
      onData(stream, session, (...reply) => {
        end()
        done(...reply)
      })
    },
    onClose(session, done) {
      sockets.ended(session)
      onClose?.(session, done)
    },
  })
  setConnectionRules(server, { paceBy, onConnection: sockets.connected })
  server.server.on('connection', (socket) => sockets.add(server, socket))
  server.on('error', (err) => log.debug({ err }, 'an incoming connection failed'))
  await listen(server, { port, host, setting })
  const reloading = certificate && setInterval(() => reloadCertificate(server, certificate, log), RELOAD_MS).unref()
  return {
    /** `why` begins with an enhanced code. */
    disconnect(session: SMTPServerSession, why: string) {
      for (const connection of server.connections) if (connection.session === session) connection.send(421, why)
    },
    /** No new connections; resolves when the open ones have ended, or the time for that is over. */
    async close() {
      clearInterval(reloading)
      await new Promise<void>((resolve) => server.close(resolve))
      sockets.destroy()
    },
  }
}

/** MAIL FROM parameters of the extensions in our EHLO reply. */
export const SENDER_PARAMETERS = ['SIZE', 'BODY', 'SMTPUTF8']

/** RFC 5321 section 4.1.1.11: unknown parameters must not be ignored silently. */
export function refuseUnknownParameters({ args }: SMTPServerAddress, known: string[]) {
  const unknown = Object.keys(args || {}).find((name) => !known.includes(name))
  return unknown ? new Refusal(555, 'Unsupported parameter') : null
}

function loadCertificate({ keyFile, certFile }: CertificateFiles) {
  try {
    return { key: readFileSync(keyFile), cert: readFileSync(certFile) }
  } catch (err) {
    throw new ConfigError(`Cannot read the key or certificate for SMTP: ${(err as Error).message}`)
  }
}

function reloadCertificate(server: SMTPServer, files: CertificateFiles, log: Log) {
  try {
    server.updateSecureContext(loadCertificate(files))
  } catch (err) {
    log.warn({ err }, 'could not reload the certificate for SMTP; the one before stays in use')
  }
}

async function listen(server: SMTPServer, { port, host, setting }: Pick<Options, 'port' | 'host' | 'setting'>) {
  server.listen(port, host)
  await once(server.server, 'listening').catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'EADDRINUSE') throw new ConfigError(`Port ${port} is in use. Stop the program that uses it, or set ${setting}.`)
    if (err.code === 'EACCES')
      throw new ConfigError(`Not allowed to listen on port ${port}. Use one above 1023, redirect the port to it, and set ${setting}.`)
    throw err
  })
}
