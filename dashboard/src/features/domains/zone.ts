/** Second-level names under which a country registers domains: `example.co.uk` is a zone, `co.uk` is not. */
const REGISTRIES = /^(?:co|com|org|net|gov|ac|edu|or|ne|go)\.[a-z]{2}$/

/** The zones that may hold the records of a domain: itself, and the domains above it. The most likely one, the shortest, comes first. */
export function zonesOf(domain: string): string[] {
  const labels = domain.split('.')
  const above = labels.map((_, index) => labels.slice(index).join('.')).filter((zone) => zone.includes('.') && !REGISTRIES.test(zone))
  return above.reverse()
}

/** The name of a record as most DNS providers want it: without the zone at its end, `@` for the zone itself. */
export function nameInZone(name: string, zone: string): string {
  if (name === zone) return '@'
  return name.endsWith(`.${zone}`) ? name.slice(0, -zone.length - 1) : name
}
