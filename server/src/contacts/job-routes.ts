import { z } from 'zod'
import { type Pool, transact } from '../db/index.ts'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import { PlainError } from '../http/core/errors.ts'
import { readFormFile, withFormFiles } from '../http/core/form-file.ts'
import type { App, Deps } from '../http/core/types.ts'
import { routesOf } from '../http/resource.ts'
import { findJob, type JobId, JobView, listErrors, Queued, type RowError } from '../jobs/job.ts'
import { AppError, failPlainly, invalid } from '../lib/errors/errors.ts'
import { isId } from '../lib/id.ts'
import { MB } from '../lib/text/units.ts'
import { CSV_FILE, csvExportRoutes, jobNotFound, queueExportRoute, sendCsv } from '../projects/csv/csv-export-routes.ts'
import { AddToSegmentBody, BulkBody, OPERATIONS, queueBulk, readSelection } from './bulk.ts'
import { checkImport, ImportCheck } from './csv/check-import.ts'
import { readMapping } from './csv/csv-mapping.ts'
import { CsvUnreadable } from './csv/csv-records.ts'
import { printErrors } from './csv/errors-csv.ts'
import { ContactExportBody, contactExport, queueContactExport } from './csv/export.ts'
import { queueImport } from './csv/import.ts'
import { sourceOf } from './record/source.ts'
import type { SegmentAccess } from './selection/segment-access.ts'

/** Errors shown in a status; the CSV has all of them. */
const SHOWN_ERRORS = 10_000

const JobParam = z.object({ jobId: z.string() })

const tags = ['Contact jobs']

const SUMMARIES: Record<(typeof OPERATIONS)[number], string> = {
  subscribe: 'Subscribe many contacts',
  unsubscribe: 'Unsubscribe many contacts',
  delete: 'Delete many contacts',
  'add-to-segment': 'Add many contacts to a static segment',
}

export async function contactJobRoutes(app: App, { db }: Deps, segments: SegmentAccess) {
  const route = routesOf(app, { tags, caller: 'project', role: 'MEMBER', scope: 'contacts', read: true, ...SENDS_NOTHING })
  const statusRoute = (path: string, summary: string, types: string[], showError: (error: RowError) => object) =>
    route.get(path, { summary, params: JobParam, response: { 200: JobView, 404: PlainError } }, (req) =>
      readStatus(db, { projectId: req.project.id, jobId: req.params.jobId }, types, showError),
    )

  // Only that of `add-to-segment` has a segment to add to, which the type of the union cannot express.
  for (const operation of OPERATIONS) {
    route.post(
      `/contacts/bulk-${operation}`,
      {
        summary: SUMMARIES[operation],
        description: 'Queues a job.',
        audit: `contact_bulk.${operation.replaceAll('-', '_')}`,
        body: operation === 'add-to-segment' ? AddToSegmentBody : BulkBody,
        response: { 202: Queued, 400: PlainError },
        refusals: ['RESOURCE_NOT_FOUND'],
      },
      async (req, reply) => {
        const { segmentId, ...selected } = req.body as z.output<typeof BulkBody> & { segmentId?: string }
        const input = { operation, selection: readSelection(selected), startedBy: sourceOf(req), ...(segmentId ? { segmentId } : {}) }
        const jobId = await transact(req.db, (tx) => queueBulk(tx, segments, req.project.id, input))
        return reply.status(202).send({ message: `Queued: ${operation.replaceAll('-', ' ')}.`, jobId })
      },
    )
  }

  const bulkTypes = OPERATIONS.map((operation) => `bulk-${operation}`)
  statusRoute('/contacts/bulk/:jobId', 'Get the status of a bulk job', bulkTypes, ({ subject, error }) => ({ contactId: subject, error }))
  statusRoute('/contacts/import/:jobId', 'Get the status of an import', ['import'], ({ row, subject, error }) => ({
    row,
    email: subject,
    error,
  }))

  route.get(
    '/contacts/import/:jobId/errors',
    { summary: 'Download all failed rows of an import as CSV', params: JobParam, response: { 200: CSV_FILE, 404: PlainError } },
    async (req, reply) => {
      const job = { projectId: req.project.id, jobId: req.params.jobId }
      if (!isId(job.jobId) || !(await findJob(db, job, ['import']))) return jobNotFound()
      const errors = printErrors((after) => listErrors(db, job, { after, limit: 5_000 }))
      return sendCsv(reply, `import-errors-${job.jobId}`, errors)
    },
  )

  queueExportRoute(app, {
    path: '/contacts',
    tags,
    body: ContactExportBody,
    audit: 'contact_export.create',
    refusals: ['RESOURCE_NOT_FOUND'],
    queue: (tx, projectId, filter) => queueContactExport(tx, segments, projectId, filter),
  })
  csvExportRoutes(app, { db }, { path: '/contacts', tags, type: contactExport(segments).type, file: 'contacts', isPlain: true })

  await withFormFiles(app, (scope) => importRoute(scope, db, segments))
}

const importRoute = (app: App, db: Pool, segments: SegmentAccess) =>
  routesOf(app, { tags, caller: 'project', role: 'MEMBER', scope: 'contacts', read: true, ...SENDS_NOTHING }).post(
    '/contacts/import',
    {
      summary: 'Import contacts from CSV',
      consumes: ['multipart/form-data'],
      audit: 'contact_import.create',
      response: { 200: ImportCheck, 202: Queued, 400: PlainError },
      formFile: { field: 'file', maxBytes: 5 * MB, fields: FIELDS },
      refusals: ['RESOURCE_NOT_FOUND'],
    },
    async (req, reply) => {
      const { content: uploaded, fields } = await readFormFile(req, refuse)
      const projectId = req.project.id
      const mapping = fields.has('mapping') ? readMapping(fields.get('mapping')!) : undefined
      const rowsBefore = readRowsBefore(fields.get('rowsBefore'))
      if (readFlag('dryRun', fields.get('dryRun'))) {
        req.changesNothing = true
        return checkImport(db, { projectId, uploaded, mapping, rowsBefore }).catch(explainUnreadable)
      }
      const segmentId = fields.get('segmentId')?.trim() || undefined
      const input = { uploaded, mapping, segmentId, rowsBefore, startedBy: sourceOf(req) }
      const jobId = await queueImport({ db: req.db, segments }, projectId, input).catch(explainUnreadable)
      return reply.status(202).send({ message: 'The import is queued.', jobId })
    },
  )

const refuse = (message: string) => failPlainly('BAD_REQUEST', message)

const explainUnreadable = (err: unknown): never => {
  throw err instanceof CsvUnreadable ? new AppError('BAD_REQUEST', { message: err.message, plain: true }) : err
}

/** Fields of the form besides the file. */
const FIELDS = {
  mapping:
    'JSON: the name of a column and its target, which is `email`, `subscribed`, a field such as `plan` or `data.plan`, or null to skip the ' +
    'column. A column that is not named is read as without a mapping.',
  segmentId: 'A static segment, to which all imported contacts are added.',
  dryRun: '`true`: checks the file, writes nothing, and answers 200 with the result.',
  rowsBefore:
    'For a file that is sent in parts: the number of rows in the earlier parts. Rows are then numbered by their position in the whole file.',
}

const MAX_ROWS_BEFORE = 100_000_000

function readRowsBefore(text = ''): number {
  if (text === '') return 0
  const rows = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  return rows <= MAX_ROWS_BEFORE ? rows : invalid('rowsBefore', 'Must be a whole number from 0 to 100,000,000.')
}

function readFlag(field: string, text = ''): boolean {
  if (['true', '1'].includes(text)) return true
  return ['', 'false', '0'].includes(text) ? false : invalid(field, 'Must be true or false.', 'invalid_type')
}

async function readStatus(db: Pool, job: JobId, types: string[], showError: (error: RowError) => object) {
  const found = (isId(job.jobId) && (await findJob(db, job, types))) || jobNotFound()
  if (!found.result) return found
  const errors = await listErrors(db, job, { limit: SHOWN_ERRORS })
  return { ...found, result: { ...found.result, errors: errors.map(showError) } }
}
