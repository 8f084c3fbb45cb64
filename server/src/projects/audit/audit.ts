import { Readable } from 'node:stream'
import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { columns, type RowOf } from '../../db/columns.ts'
import { countRows, type Db, many } from '../../db/index.ts'
import { CursorQuery, readKeysetPage } from '../../http/core/paging.ts'
import { Timestamp } from '../../http/core/validate.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { csvCell } from '../../lib/text/csv-cell.ts'

export const ProjectAuditEntry = z
  .object({
    id: z.uuid(),
    at: Timestamp,
    actor: z.object({
      type: z.enum(['user', 'key', 'system']),
      id: z.string().nullable().describe('The id of the user or the API key. Null for the key pair of the project, and for the system.'),
      name: z.string().nullable(),
    }),
    action: z.string().describe('The action: `template.update`.'),
    target: z.object({
      type: z.string(),
      id: z.string().nullable(),
      name: z.string().nullable().describe('Null for contacts and emails.'),
    }),
    changes: z.array(
      z.object({ field: z.string(), value: z.unknown().optional().describe('Only of settings.') }).describe('A field of the request.'),
    ),
    network: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' })

const MAX_TEXT = 200

const FILTERS = {
  actor: z.string().max(MAX_TEXT).optional().describe('Id of a user or an API key, or `system`.'),
  action: z.string().max(MAX_TEXT).optional().describe('`template.update`, or `template` for everything done to templates.'),
}
export const AuditQuery = CursorQuery.extend({
  ...FILTERS,
  format: z.enum(['json', 'csv']).optional().describe('`csv`: all entries that match, as a file.'),
})

type Filters = z.output<ReturnType<typeof z.object<typeof FILTERS>>>
type Entry = z.output<typeof ProjectAuditEntry>

const COLUMNS = columns('audit_entries', '', [
  'id',
  'createdAt',
  'actorType',
  'actorId',
  'actorName',
  'action',
  'targetType',
  'targetId',
  'targetName',
  'changes',
  'network',
])
type AuditRow = RowOf<typeof COLUMNS>

const showEntry = (row: AuditRow): Entry => ({
  id: row.id,
  at: row.createdAt.toISOString(),
  actor: { type: row.actorType as Entry['actor']['type'], id: row.actorId, name: row.actorName },
  action: row.action,
  target: { type: row.targetType, id: row.targetId, name: row.targetName },
  changes: row.changes as Entry['changes'],
  network: row.network,
})

function matching(projectId: string, { actor, action }: Filters): RawBuilder<unknown> {
  const byActor = actor === 'system' ? sql`and actor_type = 'system'` : actor ? sql`and actor_id = ${actor}` : sql``
  // From `template.` to the character after the point.
  const byAction = !action
    ? sql``
    : action.includes('.')
      ? sql`and action = ${action}`
      : sql`and action >= ${`${action}.`} and action < ${`${action}/`}`
  return sql`project_id = ${projectId} ${byActor} ${byAction}`
}

/** Totals are exact up to this number, and stop there. */
const COUNT_UP_TO = 10_000

/** Newest first. */
export function listAuditEntries(db: Db, secrets: Secrets, projectId: string, query: z.output<typeof AuditQuery>) {
  const where = matching(projectId, query)
  return readKeysetPage<AuditRow, Entry>(db, secrets, {
    scope: JSON.stringify(['audit', projectId, query.actor, query.action]),
    query,
    select: ({ after, limit }) => selectEntries(where, { after: after?.[0] as string | undefined, limit }),
    positionOf: ({ id }) => [id],
    show: showEntry,
    count: () => countRows(db, sql`select 1 from audit_entries where ${where} limit ${COUNT_UP_TO}`),
  })
}

const selectEntries = (where: RawBuilder<unknown>, { after, limit }: { after: string | undefined; limit: number }) => sql<AuditRow>`
  select ${COLUMNS} from audit_entries where ${where} ${after ? sql`and id < ${after}` : sql``} order by id desc limit ${limit}`

const EXPORTED_AT_ONCE = 1_000
const HEADER = 'at,actorType,actorId,actorName,action,targetType,targetId,targetName,changes,network\r\n'

/** As CSV, newest first, page by page, as fast as the client reads. */
export const streamAuditEntries = (db: Db, projectId: string, filters: Filters) =>
  Readable.from(
    (async function* () {
      yield HEADER
      for (let after: string | undefined; ; ) {
        const rows = await many(db, selectEntries(matching(projectId, filters), { after, limit: EXPORTED_AT_ONCE }))
        if (!rows.length) return
        yield rows.map(showEntry).map(printEntry).join('')
        after = rows.at(-1)!.id
      }
    })(),
    { objectMode: false },
  )

function printEntry({ at, actor, action, target, changes, network }: Entry) {
  const cells = [at, actor.type, actor.id, actor.name, action, target.type, target.id, target.name, printChanges(changes), network]
  return `${cells.map((cell) => (cell === null ? '' : csvCell(String(cell)))).join(',')}\r\n`
}

const printChanges = (changes: Entry['changes']) =>
  changes.map(({ field, value }) => (value === undefined ? field : `${field}: ${JSON.stringify(value)}`)).join('; ')
