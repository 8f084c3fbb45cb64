import ipaddr from 'ipaddr.js'
import { createCache } from '../collections/cache.ts'

/** Key for limits by address. For IPv6 the /64 network: one customer has 2^64 addresses and can change between them. */
export function networkOf(ip: string) {
  // IPv4, by far the most frequent, needs no parsing.
  if (!ip.includes(':') || !ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  return address.kind() === 'ipv4' ? address.toString() : `${address.toNormalizedString().split(':').slice(0, 4).join(':')}::/64`
}

const MAX_KNOWN = 1_000
const known = createCache<string, boolean>({ maxEntries: MAX_KNOWN })

/** False for loopback, private and other special addresses, which are our own machines and proxies. */
export function isPublic(ip: string) {
  const remembered = known.get(ip)
  if (remembered !== undefined) return remembered
  const found = ipaddr.isValid(ip) && ipaddr.process(ip).range() === 'unicast'
  known.set(ip, found)
  return found
}

/** Whether the host name of a URL means this machine. */
export const isLocalHost = (hostname: string) => /^(localhost|127(\.\d+){3}|\[::1\])$|\.localhost$/.test(hostname)

/** Whether an address is that of this machine. */
export const isLoopback = (ip: string) => ipaddr.isValid(ip) && ipaddr.process(ip).range() === 'loopback'
