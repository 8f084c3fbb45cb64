import { type MxRecord, promises } from 'node:dns'
import { createCache } from '../collections/cache.ts'
import { MINUTE } from '../text/units.ts'

/**
 * `none`: the name exists without such a record. `missing`: no such name. `unknown`: the lookup failed, which says nothing about the
 * domain.
 */
export type DnsOutcome<Found> = { is: 'found'; records: Found[] } | { is: 'none' } | { is: 'missing' } | { is: 'unknown'; reason: string }

type Answers = { TXT: string; MX: MxRecord; NS: string; A: string; AAAA: string; CNAME: string }
export type RecordType = keyof Answers
export type Dns = ReturnType<typeof createDns>

// Each try waits twice as long as the one before. The first waits for TRY_MS; once a server has answered three lookups, for five times its
// usual time, but at least 250 ms. So a server that is silent about one name is given up after four seconds or more, also when the caller
// has timed out before: a name that has to be looked up elsewhere may take that long, even when known names are answered at once.
const TRY_MS = 500
const TRIES = 4
const MAX_IN_FLIGHT = 1_000
const MAX_CACHED = 10_000
const KEEP_MS = { found: MINUTE, none: MINUTE, missing: MINUTE, unknown: 5_000 }

/** DNS lookups that always end in time and never throw. `servers`: those of the system unless given. */
export function createDns({ servers }: { servers?: string[] | undefined } = {}) {
  const resolver = new promises.Resolver({ timeout: TRY_MS, tries: TRIES })
  if (servers) resolver.setServers(servers)
  const resolve: { [Type in RecordType]: (name: string) => Promise<Answers[Type][]> } = {
    TXT: async (name) => (await resolver.resolveTxt(name)).map((parts) => parts.join('')),
    MX: async (name) => resolver.resolveMx(name),
    NS: async (name) => resolver.resolveNs(name),
    A: async (name) => resolver.resolve4(name),
    AAAA: async (name) => resolver.resolve6(name),
    CNAME: async (name) => resolver.resolveCname(name),
  }
  const cache = createCache<string, { outcome: Promise<DnsOutcome<unknown>>; until: number }>({ maxEntries: MAX_CACHED })
  let inFlight = 0

  async function ask<Type extends RecordType>(type: Type, name: string): Promise<DnsOutcome<Answers[Type]>> {
    if (inFlight >= MAX_IN_FLIGHT) return { is: 'unknown', reason: 'too many lookups at once' }
    inFlight++
    return outcomeOf(resolve[type](name)).finally(() => inFlight--)
  }

  /** Not cached. */
  const lookUp = <Type extends RecordType>(type: Type, name: string, withinMs: number) => within(withinMs, ask(type, name))

  /** Cached for a minute; concurrent calls share one lookup. */
  function recall<Type extends RecordType>(type: Type, name: string, withinMs: number): Promise<DnsOutcome<Answers[Type]>> {
    const key = `${type} ${name}`
    const known = cache.get(key)
    // The key contains the type, so the cached outcome is of that type.
    if (known && known.until > performance.now()) return within(withinMs, known.outcome as Promise<DnsOutcome<Answers[Type]>>)
    const outcome = ask(type, name)
    const entry = { outcome, until: Number.POSITIVE_INFINITY }
    outcome.then(({ is }) => (entry.until = performance.now() + KEEP_MS[is]))
    cache.set(key, entry)
    return within(withinMs, outcome)
  }

  /** Names of an address, by its PTR records. */
  const reverse = (ip: string, withinMs: number) => within(withinMs, outcomeOf(resolver.reverse(ip)))

  return { lookUp, recall, reverse }
}

const outcomeOf = <Found>(asked: Promise<Found[]>): Promise<DnsOutcome<Found>> =>
  asked.then(
    (records) => (records.length ? { is: 'found', records } : { is: 'none' }),
    (err: NodeJS.ErrnoException) => explain(err.code ?? ''),
  )

function explain(code: string): Exclude<DnsOutcome<never>, { is: 'found' }> {
  if (code === 'ENOTFOUND') return { is: 'missing' }
  if (code === 'ENODATA') return { is: 'none' }
  return { is: 'unknown', reason: REASONS[code] ?? 'the DNS server gave no usable answer' }
}

const REASONS: Record<string, string> = {
  ETIMEOUT: 'the DNS server did not answer in time',
  ECONNREFUSED: 'the DNS server cannot be reached',
  ESERVFAIL: 'the DNS server reported a failure (SERVFAIL)',
  EREFUSED: 'the DNS server refused to answer',
}

function within<T>(ms: number, asked: Promise<DnsOutcome<T>>): Promise<DnsOutcome<T>> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve({ is: 'unknown', reason: REASONS.ETIMEOUT! }), ms)
    asked.then(resolve).finally(() => clearTimeout(timer))
  })
}
