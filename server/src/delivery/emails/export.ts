import { sql } from 'kysely'
import { z } from 'zod'
import { maybeOne, type Tx } from '../../db/index.ts'
import { idTime, NIL_ID, newId } from '../../lib/id.ts'
import { type CsvExport, type ExportedRow, queueCsvExport } from '../../projects/csv/csv-export.ts'
import { SHOWN_COLUMNS } from './email.ts'
import { EMAIL_FILTERS, type EmailFilter, emailMatchesSql, emailRangeSql, STATUSES } from './filter.ts'

/** Strict: a misspelt key must not export every email. */
export const EmailExportBody = z.object({
  filter: z
    .strictObject({ ...EMAIL_FILTERS, status: z.array(z.enum(STATUSES)).min(1).max(STATUSES.length).optional() })
    .optional()
    .describe('As in the list. Without it, every email is exported.'),
})

/** The first and the last email; later ones are not exported, so that an export ends while emails are sent. */
type Input = { filter: EmailFilter; first: string; last: string }

export const emailExport: CsvExport<Input> = {
  job: 'delivery.export-emails',
  type: 'email-export',
  columns: () => [
    ...['id', 'to', 'status', 'subject', 'from', 'sourceType', 'type', 'contactId', 'templateId', 'campaignId', 'workflowExecutionId'],
    ...['createdAt', 'sentAt', 'deliveredAt', 'openedAt', 'clickedAt', 'bouncedAt', 'complainedAt', 'opens', 'clicks', 'attempts'],
    ...['errorCode', 'error', 'messageId', 'requestId', 'test'],
  ],
  async select(db, { projectId, input: { filter, first, last }, after, limit }) {
    const matches = await emailMatchesSql(db, projectId, filter)
    const range = emailRangeSql(filter) ?? sql`true`
    return sql<ExportedRow>`
      select e.id as position, ${matches} as matches, ${SHOWN_COLUMNS}
      from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id
      where e.project_id = ${projectId} and e.id >= ${first} and e.id <= ${last} and ${range} ${after === undefined ? sql`` : sql`and e.id > ${after}`}
      order by e.id limit ${limit + 1}`
  },
  /** By the times in the ids. */
  progressAt: ({ first, last }, { position }) => {
    const [from, to] = [idTime(first).getTime(), idTime(last).getTime()]
    return to > from ? (idTime(position).getTime() - from) / (to - from) : 0
  },
}

/** The oldest first. */
export async function queueEmailExport(tx: Tx, projectId: string, filter: EmailFilter = {}) {
  const oldest = await maybeOne<{ id: string }>(tx)`select id from emails where project_id = ${projectId} order by id limit 1`
  return queueCsvExport(tx, emailExport, projectId, { filter, first: oldest?.id ?? NIL_ID, last: newId() })
}
