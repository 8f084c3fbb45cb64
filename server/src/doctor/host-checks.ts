import { type ConnectionOptions, connect } from 'node:tls'
import type { Config } from '../lib/config.ts'
import { createDns, type Dns, type DnsOutcome } from '../lib/network/dns.ts'
import { isLocalHost } from '../lib/network/network.ts'
import { DAY, SECOND } from '../lib/text/units.ts'
import { type Check, ok, warn } from './check.ts'

const LOOKUP_MS = 3 * SECOND
const CONNECT_MS = 5 * SECOND
/** Remaining validity below which a certificate should have been renewed. */
const RENEWED_DAYS = 14

/** Blocklists that many receivers ask. Those that answer `127.255.255.x` refuse to answer us. */
const BLOCKLISTS = ['zen.spamhaus.org', 'b.barracudacentral.org', 'bl.spamcop.net']

/** The host of PUBLIC_URL, which is the name that Sterna says in EHLO: its certificate, its address and the name of that, and blocklists. */
export async function checkHost({ publicUrl, transportKind, dnsServers }: Config): Promise<Check[]> {
  const { protocol, hostname, port } = new URL(publicUrl)
  if (isLocalHost(hostname)) return []
  const dns = createDns({ servers: dnsServers })
  const certificate = protocol === 'https:' ? [await checkCertificate(hostname, Number(port || 443))] : []
  return [...certificate, ...(transportKind === 'smtp' ? await checkNames(dns, hostname) : [])]
}

/** `options` and `now` are for tests, whose certificate no authority has signed. */
export async function checkCertificate(host: string, port: number, options: ConnectionOptions = {}, now = Date.now()): Promise<Check> {
  const end = await certificateEnd({ ...options, host, port }).catch((err: Error) => err)
  if (end instanceof Error)
    return warn('certificate', `${host}:${port} does not answer with a valid certificate (${end.message}); check the proxy`)
  return describeCertificate('certificate', host, end, now)
}

/** One line about the end of a certificate. */
export function describeCertificate(name: string, host: string, end: Date, now = Date.now()): Check {
  const days = Math.floor((end.getTime() - now) / DAY)
  const until = `the certificate of ${host} is valid until ${end.toISOString().slice(0, 10)}`
  return days < RENEWED_DAYS ? warn(name, `${until}, for ${days} days; renew it`) : ok(name, until)
}

const certificateEnd = (options: ConnectionOptions & { host: string }) =>
  new Promise<Date>((resolve, reject) => {
    const socket = connect({ ...options, servername: options.host, timeout: CONNECT_MS }, () => {
      resolve(new Date(socket.getPeerCertificate().valid_to))
      socket.end()
    })
    socket.on('error', reject)
    socket.on('timeout', () => socket.destroy(new Error('no answer')))
  })

/** Receivers distrust a client whose name has no address, or whose address has another name. With a relay they see the relay. */
async function checkNames(dns: Dns, host: string): Promise<Check[]> {
  const found = await dns.lookUp('A', host, LOOKUP_MS)
  if (found.is === 'unknown') return [warn('host name', `${host} could not be looked up: ${found.reason}`)]
  if (found.is !== 'found') return [warn('host name', `${host}, which Sterna says in EHLO, has no address; add an A record`)]
  const address = found.records[0]!
  const names = await dns.reverse(address, LOOKUP_MS)
  const isSame = names.is === 'found' && names.records.includes(host)
  const others = names.is === 'found' ? names.records.join(', ') : 'no name'
  const listed = await listsWith(dns, address)
  return [
    isSame
      ? ok('host name', `${host} is ${address}, and ${address} is ${host}`)
      : warn('host name', `the PTR record of ${address} is ${others}, not ${host}; set it if this machine delivers to receivers itself`),
    listed.length
      ? warn('blocklists', `${address} is on ${listed.join(', ')}; ask for its removal there`)
      : ok('blocklists', `${address} is on none of ${BLOCKLISTS.join(', ')} that answered`),
  ]
}

async function listsWith(dns: Dns, address: string) {
  const reversed = address.split('.').toReversed().join('.')
  const answers = await Promise.all(BLOCKLISTS.map((list) => dns.lookUp('A', `${reversed}.${list}`, LOOKUP_MS)))
  const isListed = (answer: DnsOutcome<string>) =>
    answer.is === 'found' && answer.records.some((record) => record.startsWith('127.') && !record.startsWith('127.255.255.'))
  return BLOCKLISTS.filter((_, at) => isListed(answers[at]!))
}
