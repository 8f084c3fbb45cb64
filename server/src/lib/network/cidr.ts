import ipaddr from 'ipaddr.js'

/** `10.0.0.0/8`, or an address, as a CIDR; null if it is neither. */
export function parseCidr(text: string): string | null {
  const [address = '', bits] = text.split('/')
  if (!ipaddr.isValid(address) || (ipaddr.IPv4.isValid(address) && !ipaddr.IPv4.isValidFourPartDecimal(address))) return null
  const parsed = ipaddr.parse(address)
  // Requests are compared as IPv4 then.
  if (parsed.kind() === 'ipv6' && (parsed as ipaddr.IPv6).isIPv4MappedAddress()) return null
  const whole = parsed.kind() === 'ipv4' ? 32 : 128
  const length = bits === undefined ? whole : /^\d{1,3}$/.test(bits) ? Number(bits) : -1
  return length >= 0 && length <= whole ? `${parsed.toString()}/${length}` : null
}

export function isInNetworks(ip: string, cidrs: readonly string[]): boolean {
  if (!ipaddr.isValid(ip)) return false
  const address = ipaddr.process(ip)
  return networksOf(cidrs).some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits))
}

/** Read once per list: that of a cached key is asked on every request. */
const read = new WeakMap<readonly string[], ReturnType<typeof ipaddr.parseCIDR>[]>()

function networksOf(cidrs: readonly string[]) {
  const networks = read.get(cidrs) ?? cidrs.map((cidr) => ipaddr.parseCIDR(cidr))
  read.set(cidrs, networks)
  return networks
}
