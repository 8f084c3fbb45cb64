import { sql } from 'kysely'
import { type Pool, type Tx, transact } from '../../db/index.ts'
import { recordset } from '../../db/rows.ts'
import { OF_DELETED_PROJECT, type WipeScope, wipeRows } from '../../db/wipe-rows.ts'
import { createCache } from '../../lib/collections/cache.ts'
import type { Log } from '../../lib/process/log.ts'
import { MINUTE, SECOND } from '../../lib/text/units.ts'

/** `keyId`: null for the pair of a project. */
type Key = { projectId: string; kind: 'pk' | 'sk'; keyId: string | null; keyVersion: number }
type Use = Key & { usedAt: Date }

/** The time of the last use is exact to this: a write for each request would cost more than the request. */
const RESOLUTION_MS = MINUTE
/** Uses of all projects are written together. */
const WRITE_AFTER_MS = SECOND
const MAX_REMEMBERED = 10_000

/** Notes when keys are used. A node that is killed loses the uses of a second. */
export function createKeyUsage(db: Pool, log: Log) {
  const written = createCache<string, number>({ maxEntries: MAX_REMEMBERED })
  let waiting: Use[] = []
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<unknown> = Promise.resolve()

  function note(key: Key) {
    const name = key.keyId ?? `${key.kind} ${key.projectId} ${key.keyVersion}`
    const now = Date.now()
    if (now - (written.get(name) ?? 0) < RESOLUTION_MS) return
    written.set(name, now)
    waiting.push({ ...key, usedAt: new Date(now) })
    timer ??= setTimeout(flush, WRITE_AFTER_MS).unref()
  }

  function flush() {
    timer = undefined
    const uses = waiting
    waiting = []
    writing = transact(db, async (tx) => {
      await writePairUses(tx, uses)
      await writeKeyUses(tx, uses)
    }).catch((err) => log.warn({ err }, 'could not note the use of keys'))
  }

  return {
    note,
    async close() {
      clearTimeout(timer)
      if (waiting.length) flush()
      await writing
    },
  }
}

async function writePairUses(tx: Tx, all: Use[]) {
  const uses = all.filter(({ keyId }) => keyId === null)
  if (!uses.length) return
  await sql`
    insert into key_usage as k (project_id, kind, key_version, used_at)
    select distinct on (u."projectId", u.kind) u."projectId", u.kind, u."keyVersion", u."usedAt"
    from ${recordset('key_usage', uses, ['projectId', 'kind', 'keyVersion', 'usedAt'])} as u
    join projects p on p.id = u."projectId" and p.deleted_at is null
    order by 1, 2, 3 desc, 4 desc -- consistent lock order: avoids deadlocks
    on conflict (project_id, kind) do update set key_version = excluded.key_version, used_at = excluded.used_at
    where (k.key_version, k.used_at) < (excluded.key_version, excluded.used_at)
  `.execute(tx)
}

async function writeKeyUses(tx: Tx, all: Use[]) {
  const uses = all.flatMap(({ keyId, projectId, usedAt }) => (keyId === null ? [] : { projectId, keyId, usedAt }))
  if (!uses.length) return
  await sql`
    insert into api_key_uses as k (project_id, key_id, used_at)
    select distinct on (u."projectId", u."keyId") u."projectId", u."keyId", u."usedAt"
    from ${recordset('api_key_uses', uses, ['projectId', 'keyId', 'usedAt'])} as u
    join api_keys a on a.project_id = u."projectId" and a.id = u."keyId"
    order by 1, 2, 3 desc -- consistent lock order: avoids deadlocks
    on conflict (project_id, key_id) do update set used_at = excluded.used_at where k.used_at < excluded.used_at
  `.execute(tx)
}

/** Survives a reset, as the keys do. */
export const wipeKeyUsage = (tx: Tx, scope: WipeScope) => wipeRows(tx, 'key_usage', scope, { key: ['kind'], which: OF_DELETED_PROJECT })
