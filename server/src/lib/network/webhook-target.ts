import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { isInNetworks } from './cidr.ts'

/** Ports below 1024 that webhooks may use; above, all but those of databases, caches and mail servers. */
const LOW_PORTS = new Set([80, 443])
const REFUSED_PORTS = new Set([
  1433, 1434, 1521, 2375, 2376, 2379, 2380, 2525, 3306, 4369, 5432, 5433, 5672, 6379, 6380, 6443, 8086, 9042, 9200, 9300, 10250, 11211,
  25565, 26257, 27017, 27018, 50000,
])

const mayUsePort = (port: number) => LOW_PORTS.has(port) || (port >= 1024 && !REFUSED_PORTS.has(port))

/**
 * Whether an address is a public one. IPv6 addresses that carry an IPv4 address (mapped, NAT64, 6to4, Teredo) are not: a gateway would send
 * them on to that address.
 */
export function isGlobalAddress(ip: string) {
  if (!ipaddr.isValid(ip)) return false
  const address = ipaddr.parse(ip)
  if (address.range() !== 'unicast' || ip === AZURE_METADATA) return false
  // ipaddr.js calls these unicast: IPv4-compatible addresses (::/96), and those that are not assigned for use (outside of 2000::/3).
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(GLOBAL_IPV6, 3)
}
/** Metadata and DHCP of virtual machines in Azure; in the public range, but never routed out of the cloud. */
const AZURE_METADATA = '168.63.129.16'
const GLOBAL_IPV6 = ipaddr.IPv6.parse('2000::')

/** The address in a URL that names one; undefined for a host name. */
export function literalAddress({ hostname }: URL): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(bare) ? bare : undefined
}

/** Why an address of a webhook is refused, or undefined. */
export function refusalOfAddress(ip: string, port: number, allowed: string[]): string | undefined {
  if (isInNetworks(ip, allowed)) return undefined
  if (!isGlobalAddress(ip)) return 'The address is not a public one.'
  return mayUsePort(port) ? undefined : `Port ${port} is not allowed.`
}

export const portOf = ({ port, protocol }: URL) => (port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port))

export type WebhookTarget = {
  /** CIDRs that webhooks may reach besides public addresses. */
  allowed: string[]
  /** Our own host, by which a webhook would come back to us. */
  ownHost: string
}

/** Why a URL is refused before its name is resolved, or undefined. */
export function refusalOfUrl(text: string, { allowed, ownHost }: WebhookTarget): { url: URL } | { refusal: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url) return { refusal: 'Not a valid URL.' }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return { refusal: 'Must begin with http:// or https://.' }
  if (url.username !== '' || url.password !== '') return { refusal: 'Must not contain a user name or password.' }
  const ip = literalAddress(url)
  const port = portOf(url)
  if (ip) {
    const refusal = refusalOfAddress(ip, port, allowed)
    return refusal ? { refusal } : { url }
  }
  const host = url.hostname.replace(/\.$/, '').toLowerCase()
  if (host === 'localhost' || host.endsWith('.localhost')) return { refusal: 'The host is not a public one.' }
  if (host === ownHost) return { refusal: 'A webhook cannot call Sterna itself.' }
  // Whether a host is an allowed private one, such as a container, and which port it may use, is known once its address is.
  if (!host.includes('.') && !allowed.length) return { refusal: 'The host is not a public one.' }
  return mayUsePort(port) || allowed.length ? { url } : { refusal: `Port ${port} is not allowed.` }
}

/** Headers that a webhook cannot set: those of the connection, of proxies, of cloud metadata services, and ours. */
const REFUSED_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'metadata',
  'metadata-flavor',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
  'forwarded',
])
const REFUSED_PREFIXES = ['proxy-', 'sec-', 'webhook-', 'x-aws-ec2-metadata', 'x-forwarded-', 'x-google-', 'x-metadata']
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,76}$/

export function refusalOfHeader(name: string, value: string): string | undefined {
  const lower = name.toLowerCase()
  if (!HEADER_NAME.test(name)) return 'Not a valid header name.'
  if (REFUSED_HEADERS.has(lower) || REFUSED_PREFIXES.some((prefix) => lower.startsWith(prefix))) return 'This header cannot be set.'
  // Node refuses other characters when the request is made.
  return /[^\t\x20-\x7e\x80-\xff]/.test(value) ? 'Has a character that a header cannot contain.' : undefined
}
