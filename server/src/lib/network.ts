import ipaddr from 'ipaddr.js'
import { createCache } from './cache.ts'

/** Whom to count for an address: an IPv6 customer has 2^64 of them, and changes them at will. */
export function networkOf(ip: string) {
  // Written as it is, and by far the most frequent.
  if (!ip.includes(':') || !ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  return address.kind() === 'ipv4' ? address.toString() : `${address.toNormalizedString().split(':').slice(0, 4).join(':')}::/64`
}

const MAX_KNOWN = 1_000
const known = createCache<string, boolean>({ maxEntries: MAX_KNOWN })

/** Not a loopback, private or otherwise special address: those are our own machines and proxies. */
export function isPublic(ip: string) {
  const remembered = known.get(ip)
  if (remembered !== undefined) return remembered
  const found = ipaddr.isValid(ip) && ipaddr.process(ip).range() === 'unicast'
  known.set(ip, found)
  return found
}

/** Whether a host of a URL is this machine, by its name. */
export const isLocalHost = (hostname: string) => /^(localhost|127(\.\d+){3}|\[::1\])$|\.localhost$/.test(hostname)
