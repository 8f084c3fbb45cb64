import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Config, SubmissionConfig } from '../lib/config.ts'
import { isLocalHost } from '../lib/network/network.ts'
import { DAY, SECOND } from '../lib/text/units.ts'
import { type Check, failed, ok, warn } from './check.ts'

const CERTIFICATE = 'smtp certificate'
const PORT = 'smtp submission'
const TIMEOUT_MS = 3 * SECOND
/** Certificates of Let's Encrypt are renewed 30 days before they expire. */
const EXPIRES_SOON_DAYS = 14

/** Certificate, port and reachability of SMTP submission. */
export async function checkSubmission({ submission }: Config): Promise<Check[]> {
  return submission ? [checkCertificate(submission), ...(await checkPlace(submission))] : []
}

function checkCertificate({ certificate, allowPlaintext, public: { host } }: SubmissionConfig): Check {
  if (!certificate) return withoutCertificate(allowPlaintext)
  try {
    const read = new X509Certificate(readFileSync(certificate.certFile))
    const left = Math.floor((Date.parse(read.validTo) - Date.now()) / DAY)
    if (!read.checkPrivateKey(createPrivateKey(readFileSync(certificate.keyFile))))
      return failed(CERTIFICATE, `${certificate.keyFile} is not the key of ${certificate.certFile}`)
    if (left < 0) return failed(CERTIFICATE, `expired ${-left} days ago; clients refuse it. Renew ${certificate.certFile}`)
    if (!read.checkHost(host))
      return warn(CERTIFICATE, `is not for ${host}, which clients connect to; set SMTP_SUBMISSION_PUBLIC or use another one`)
    if (left < EXPIRES_SOON_DAYS)
      return warn(CERTIFICATE, `expires in ${left} days; renew ${certificate.certFile}. It is read again within minutes`)
    return ok(CERTIFICATE, `for ${host}, valid for ${left} days`)
  } catch (err) {
    return failed(CERTIFICATE, `${(err as Error).message}; check SMTP_SUBMISSION_TLS_KEY and SMTP_SUBMISSION_TLS_CERT`)
  }
}

function withoutCertificate(allowPlaintext: boolean) {
  const advice = 'set SMTP_SUBMISSION_TLS_KEY and SMTP_SUBMISSION_TLS_CERT'
  return allowPlaintext
    ? warn(CERTIFICATE, `none, and SMTP_SUBMISSION_ALLOW_PLAINTEXT is set: keys cross the network in clear text; ${advice}`)
    : warn(CERTIFICATE, `none: only clients on this machine may log in; ${advice}`)
}

/** Reachability can only be seen while the node runs. */
async function checkPlace(submission: SubmissionConfig): Promise<Check[]> {
  const { port, host = '127.0.0.1', tls, public: place } = submission
  const here = await readGreeting({ host: host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host, port, tls })
  if (here === 'ECONNREFUSED') return [ok(PORT, `port ${port} is free`)]
  if (!here.startsWith('220 ')) return [failed(PORT, `port ${port} is used by another program (${here}); set SMTP_SUBMISSION_PORT`)]
  const there = await readGreeting({ ...place, tls })
  const at = `${place.host}:${place.port}`
  if (there.startsWith('220 ')) return [ok(PORT, `clients connect to ${at}`)]
  const isLocal = isLocalHost(place.host)
  const advice = 'open the port, or set SMTP_SUBMISSION_PUBLIC to where clients connect'
  return [isLocal ? ok(PORT, `Sterna answers on port ${port}`) : warn(PORT, `${at} does not answer from here (${there}); ${advice}`)]
}

/** The first line of the server, or the code of the error. */
const readGreeting = ({ host, port, tls }: { host: string; port: number; tls: SubmissionConfig['tls'] }) =>
  new Promise<string>((resolve) => {
    const socket = tls === 'implicit' ? connectTls({ host, port, rejectUnauthorized: false }) : connect(port, host)
    const end = (found: string) => {
      socket.destroy()
      resolve(found)
    }
    socket.setTimeout(TIMEOUT_MS, () => end('no answer'))
    socket.once('data', (chunk: Buffer) => end(chunk.toString('latin1').split('\r\n')[0]!.slice(0, 200)))
    socket.once('error', (err: NodeJS.ErrnoException) => end(err.code ?? err.message))
    socket.once('close', () => end('closed'))
  })
