import { many, type Pool } from '../db/index.ts'
import { prepared } from '../db/prepared.ts'
import { createCache } from '../lib/collections/cache.ts'
import { MB, SECOND } from '../lib/text/units.ts'
import { payloadOf, type WebhookMessage } from './payload.ts'

/** Bodies that are kept for the other endpoints of a project, and for how long: what is deleted meanwhile is soon forgotten. */
const MAX_CACHED = 32 * MB
const CACHED_MS = 10 * SECOND
/** Bodies that one call returns, about: a batch of large ones is sent in parts. */
const MAX_READ = 4 * MB

type Row = Omit<WebhookMessage, 'createdAt' | 'data'> & { createdAt: Date; data: string; total: number }

/** Reads the bodies of messages, each once for all endpoints that are told it at about the same time. */
export function createMessageBodies(db: Pool, { maxRead = MAX_READ } = {}) {
  const cached = createCache<string, { body: Buffer; until: number }>({ maxWeight: MAX_CACHED })
  /** The last call of each project: one at a time, because the next one probably wants the same messages. */
  const calls = new Map<string, Promise<unknown>>()

  async function load(projectId: string, ids: string[]) {
    const now = performance.now()
    const bodies = new Map<string, Buffer>()
    for (const id of ids) {
      const known = cached.get(id)
      if (known && known.until > now) bodies.set(id, known.body)
    }
    const missing = ids.filter((id) => !bodies.has(id)).sort()
    const left = maxRead - [...bodies.values()].reduce((sum, { length }) => sum + length, 0)
    const rows = missing.length ? await readMessages(db, projectId, missing, left) : []
    for (const row of rows) {
      const body = bodyOf(projectId, row)
      bodies.set(row.id, body)
      cached.set(row.id, { body, until: now + CACHED_MS }, body.length)
    }
    const isCut = rows.length < (rows[0]?.total ?? 0)
    return upTo(maxRead, ids, bodies, isCut ? rows.at(-1)!.id : undefined)
  }

  return {
    /** By id. Null for a message that is no longer kept; without those that would be too much at once. */
    read(projectId: string, ids: string[]) {
      const call = (calls.get(projectId) ?? Promise.resolve()).catch(() => {}).then(() => load(projectId, ids))
      calls.set(projectId, call)
      const forget = () => {
        if (calls.get(projectId) === call) calls.delete(projectId)
      }
      call.then(forget, forget)
      return call
    },
  }
}

/** `lastRead`: if not all messages were read, the last one that was. */
function upTo(maxBytes: number, ids: string[], bodies: Map<string, Buffer>, lastRead: string | undefined) {
  const chosen = new Map<string, Buffer | null>()
  let bytes = 0
  for (const id of ids) {
    const body = bodies.get(id)
    if (bytes >= maxBytes || (!body && lastRead && id > lastRead)) continue
    bytes += body?.length ?? 0
    chosen.set(id, body ?? null)
  }
  return chosen
}

/** In order of their ids, which are sorted; the first one always. `total`: how many there are. */
const readMessages = (db: Pool, projectId: string, ids: string[], maxBytes: number) =>
  many(
    db,
    prepared<Row>`
  select id, type, name, contact_id as "contactId", contact_email as "contactEmail", email_id as "emailId", data,
    created_at as "createdAt", total
  from (
    select m.*, count(*) over ()::int as total,
      sum(octet_length(m.data)) over (order by m.id rows between unbounded preceding and 1 preceding) as bytes_before
    from (
      select id, type, name, contact_id, contact_email, email_id, data::text as data, created_at from webhook_messages
      where project_id = ${projectId} and id = any(${ids}::uuid[]) offset 0
    ) as m
  ) as sized
  where bytes_before is null or bytes_before < ${Math.max(0, maxBytes)}::int order by id`,
  )

const bodyOf = (projectId: string, { createdAt, data, ...message }: Row) =>
  Buffer.from(JSON.stringify(payloadOf(projectId, { ...message, data: JSON.parse(data), createdAt: createdAt.toISOString() })))
