import type { FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { countAffected, many, type Pool, type Tx, transact } from '../db/index.ts'
import { isPublic, networkOf } from '../lib/network/network.ts'
import { createRareWarning } from '../lib/process/rare-warning.ts'
import { MINUTE } from '../lib/text/units.ts'
import { isHealthPath } from './core/health-path.ts'
import type { App, Deps } from './core/types.ts'

/** Requests that say something about where clients come from: with fewer, one person may have made all of them. */
const MIN_REQUESTS = 100
const STORE_EVERY_MS = MINUTE
/** Addresses of clients with a public one, and of all private ones but the first: they are only counted. */
const OTHERS = ''
const FAILED = 'could not count where requests come from'

/**
 * Counts where requests without credentials come from (pages, links in emails, sign-in): if all have one private address, a proxy is in front
 * that TRUST_PROXY does not name. Not those with a key, which a server in the same network may well make alone. Stored at most once a minute.
 */
export function countRequestSources(app: App, { db, log }: Pick<Deps, 'db' | 'log'>) {
  const warn = createRareWarning(log)
  let first: string | undefined
  let pending: Record<string, number> = {}
  let count = 0
  let storedAt = Number.NEGATIVE_INFINITY

  app.addHook('onRequest', (req, _reply, done) => {
    if (isWithoutCredentials(req)) note(req.ip)
    done()
  })

  function note(ip: string) {
    if (!isPublic(ip)) first ??= networkOf(ip)
    const source = first !== undefined && networkOf(ip) === first ? first : OTHERS
    pending[source] = (pending[source] ?? 0) + 1
    count++
    if (count < MIN_REQUESTS || performance.now() - storedAt < STORE_EVERY_MS) return
    storedAt = performance.now()
    const counts = pending
    pending = {}
    // The request does not wait. Counts that cannot be stored are lost: they are a hint.
    transact(db, (tx) => addSources(tx, counts)).catch((err: Error) => warn({ reason: err.message }, FAILED))
  }
}

function isWithoutCredentials({ routeOptions: { url, config } }: FastifyRequest) {
  if (url === '/metrics' || isHealthPath(url)) return false
  return config.caller === 'anyone' || config.caller === 'visitor'
}

/** In the order of their keys, so that two nodes cannot deadlock. */
const addSources = (tx: Tx, counts: Record<string, number>) =>
  sql`
    insert into request_sources as s (hour, address, requests)
    select date_trunc('hour', now(), 'UTC'), address, requests
    from unnest(${Object.keys(counts)}::text[], ${Object.values(counts)}::bigint[]) as given(address, requests)
    order by address
    on conflict (hour, address) do update set requests = s.requests + excluded.requests
  `.execute(tx)

/** The one private address that all requests of this hour and the one before came from, if so. */
export async function readOnlySource(db: Pool) {
  const sources = await many<{ address: string; requests: number }>(db)`
    select address, sum(requests)::float8 as requests from request_sources
    where hour >= date_trunc('hour', now(), 'UTC') - interval '1 hour'
    group by address
  `
  const [source] = sources
  return source && sources.length === 1 && source.address !== OTHERS && source.requests >= MIN_REQUESTS ? source : undefined
}

export const dropOldRequestSources = (tx: Tx, limit: number) =>
  countAffected(tx)`
    delete from request_sources where (hour, address) in (
      select hour, address from request_sources where hour < now() - interval '1 day' limit ${limit}
    )
  `
