/** The name of a record as most DNS providers want it: without the domain at its end, `@` for the domain itself. */
export function nameInZone(name: string, domain: string): string {
  if (name === domain) return '@'
  return name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1) : name
}
