import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Pool, transact } from '../../db/index.ts'
import { PlainError } from '../../http/errors.ts'
import { readFormFile, withFormFiles } from '../../http/form-file.ts'
import { routesOf } from '../../http/resource.ts'
import type { App, Deps } from '../../http/server.ts'
import { findJob, JobView, listErrors, Queued, type RowError } from '../../jobs/job.ts'
import { readPiece } from '../../jobs/pieces.ts'
import { AppError, fail, failPlainly, invalid } from '../../lib/errors.ts'
import { isId } from '../../lib/id.ts'
import { MB } from '../../lib/text/units.ts'
import { streamPieces } from '../../projects/csv-export-routes.ts'
import { AddToSegmentBody, BulkBody, OPERATIONS, queueBulk, readSelection } from '../bulk.ts'
import type { SegmentAccess } from '../segment-access.ts'
import { sourceOf } from '../source.ts'
import { checkImport, ImportCheck } from './check-import.ts'
import { readMapping } from './csv-mapping.ts'
import { CsvUnreadable } from './csv-records.ts'
import { printErrors } from './errors-csv.ts'
import { EXPORT_JOB, ExportBody, queueExport } from './export.ts'
import { queueImport } from './import.ts'

/** Errors shown in a status; the CSV has all of them. */
const SHOWN_ERRORS = 10_000

const JobParam = z.object({ jobId: z.string() })

export async function contactJobRoutes(app: App, { db }: Deps, segments: SegmentAccess) {
  const route = routesOf(app, { tags: ['Contact jobs'], caller: 'project' })

  for (const operation of ['subscribe', 'unsubscribe', 'delete'] as const) {
    route.post(
      `/contacts/bulk-${operation}`,
      {
        summary: `${operation[0]!.toUpperCase()}${operation.slice(1)} many contacts`,
        description: 'Queues a job.',
        body: BulkBody,
        response: { 202: Queued, 400: PlainError },
        refusals: ['RESOURCE_NOT_FOUND'],
      },
      async (req, reply) => {
        const input = { operation, selection: readSelection(req.body), startedBy: sourceOf(req) }
        const jobId = await transact(db, (tx) => queueBulk(tx, segments, req.project.id, input))
        return reply.status(202).send({ message: `Queued: ${operation}.`, jobId })
      },
    )
  }

  route.post(
    '/contacts/bulk-add-to-segment',
    {
      summary: 'Add many contacts to a static segment',
      description: 'Queues a job.',
      body: AddToSegmentBody,
      response: { 202: Queued, 400: PlainError },
      refusals: ['RESOURCE_NOT_FOUND'],
    },
    async (req, reply) => {
      const { segmentId, ...selected } = req.body
      const input = { operation: 'add-to-segment' as const, selection: readSelection(selected), startedBy: sourceOf(req), segmentId }
      const jobId = await transact(db, (tx) => queueBulk(tx, segments, req.project.id, input))
      return reply.status(202).send({ message: 'Queued: add to segment.', jobId })
    },
  )

  route.get(
    '/contacts/bulk/:jobId',
    { summary: 'Get the status of a bulk job', params: JobParam, response: { 200: JobView, 404: PlainError } },
    (req) =>
      statusOf(
        db,
        req,
        OPERATIONS.map((operation) => `bulk-${operation}`),
        ({ subject, error }) => ({ contactId: subject, error }),
      ),
  )

  route.get(
    '/contacts/import/:jobId',
    { summary: 'Get the status of an import', params: JobParam, response: { 200: JobView, 404: PlainError } },
    (req) => statusOf(db, req, ['import'], ({ row, subject, error }) => ({ row, email: subject, error })),
  )

  route.get(
    '/contacts/import/:jobId/errors',
    {
      summary: 'Download all failed rows of an import as CSV',
      params: JobParam,
      response: { 200: { description: 'CSV', content: { 'text/csv': { schema: z.string() } } }, 404: PlainError },
    },
    async (req, reply) => {
      const job = { projectId: req.project.id, jobId: req.params.jobId }
      if (!isId(job.jobId) || !(await findJob(db, job, ['import']))) return jobNotFound()
      return reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="import-errors-${job.jobId}.csv"`)
        .send(printErrors((after) => listErrors(db, job, { after, limit: 5_000 })) as never) // a stream is not JSON
    },
  )

  route.post(
    '/contacts/export',
    {
      summary: 'Export contacts as CSV',
      description: 'Queues a job. Its file can be downloaded for 7 days; the newest five of a project are kept.',
      body: ExportBody,
      response: { 202: Queued },
      refusals: ['RESOURCE_NOT_FOUND'],
      bodyOptional: true,
    },
    async (req, reply) => {
      const jobId = await transact(db, (tx) => queueExport(tx, segments, req.project.id, req.body.filter))
      return reply.status(202).send({ message: 'The export is queued.', jobId })
    },
  )

  route.get(
    '/contacts/export/:jobId',
    { summary: 'Get the status of an export', params: JobParam, response: { 200: JobView, 404: PlainError } },
    async (req) => (await findExport(req)) ?? jobNotFound(),
  )

  route.get(
    '/contacts/export/:jobId/file',
    {
      summary: 'Download the file of an export',
      params: JobParam,
      response: { 200: { description: 'CSV', content: { 'text/csv': { schema: z.string() } } }, 404: PlainError },
      refusals: ['CONFLICT'],
    },
    async (req, reply) => {
      const found = (await findExport(req)) ?? jobNotFound()
      if (found.state !== 'completed') fail('CONFLICT', { message: 'The export has not been completed.', details: { state: found.state } })
      const job = { projectId: req.project.id, jobId: found.id }
      const first = (await readPiece(db, job, 0)) ?? fail('RESOURCE_NOT_FOUND', { message: 'The file was deleted.', plain: true })
      return reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="contacts-${found.createdAt.slice(0, 10)}.csv"`)
        .send(streamPieces(db, job, first) as never) // a stream is not JSON
    },
  )

  const findExport = async (req: FastifyRequest) => {
    const { jobId } = req.params as { jobId: string }
    return isId(jobId) ? findJob(db, { projectId: req.project.id, jobId }, [EXPORT_JOB]) : undefined
  }

  await withFormFiles(app, (scope) => {
    routesOf(scope, { tags: ['Contact jobs'], caller: 'project' }).post(
      '/contacts/import',
      {
        summary: 'Import contacts from CSV',
        consumes: ['multipart/form-data'],
        response: { 200: ImportCheck, 202: Queued, 400: PlainError },
        formFile: { field: 'file', maxBytes: 5 * MB, fields: FIELDS },
        refusals: ['RESOURCE_NOT_FOUND'],
      },
      async (req, reply) => {
        const { content: uploaded, fields } = await readFormFile(req, refuse)
        const projectId = req.project.id
        const mapping = fields.has('mapping') ? readMapping(fields.get('mapping')!) : undefined
        const rowsBefore = readRowsBefore(fields.get('rowsBefore'))
        if (readFlag('dryRun', fields.get('dryRun')))
          return checkImport(db, { projectId, uploaded, mapping, rowsBefore }).catch(explainUnreadable)
        const segmentId = fields.get('segmentId')?.trim() || undefined
        const input = { uploaded, mapping, segmentId, rowsBefore, startedBy: sourceOf(req) }
        const jobId = await queueImport({ db, segments }, projectId, input).catch(explainUnreadable)
        return reply.status(202).send({ message: 'The import is queued.', jobId })
      },
    )
  })
}

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

const jobNotFound = (): never => fail('RESOURCE_NOT_FOUND', { message: 'No such job.', plain: true })

async function statusOf(db: Pool, req: FastifyRequest, types: string[], showError: (error: RowError) => object) {
  const job = { projectId: req.project.id, jobId: (req.params as { jobId: string }).jobId }
  const found = (isId(job.jobId) && (await findJob(db, job, types))) || jobNotFound()
  if (!found.result) return found
  const errors = await listErrors(db, job, { limit: SHOWN_ERRORS })
  return { ...found, result: { ...found.result, errors: errors.map(showError) } }
}
