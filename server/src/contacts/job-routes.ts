import multipart from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Pool, transact } from '../db/index.ts'
import { PlainError } from '../http/errors.ts'
import type { App, Deps } from '../http/server.ts'
import { findJob, JobView, listErrors, Queued, queueJob, type RowError } from '../jobs/job.ts'
import { fail, failPlainly } from '../lib/errors.ts'
import { isId } from '../lib/id.ts'
import { BulkBody, OPERATIONS, readSelection } from './bulk.ts'
import { CsvUnreadable } from './csv.ts'
import { printErrors } from './errors-csv.ts'
import { queueImport } from './import.ts'

const MB = 1024 * 1024
const MAX_FILE = 5 * MB
/** Around the file: its part headers and boundaries. */
const MAX_UPLOAD = MAX_FILE + 64 * 1024
/** What a status shows of them; the CSV has them all. */
const SHOWN_ERRORS = 10_000

const JobParam = z.object({ jobId: z.string() })

export async function contactJobRoutes(app: App, { db }: Deps) {
  const tags = ['Contact jobs']
  const config = { caller: 'project' as const }

  for (const operation of OPERATIONS) {
    app.post(
      `/contacts/bulk-${operation}`,
      {
        config,
        schema: { tags, summary: `Queue: ${operation} many contacts`, body: BulkBody, response: { 202: Queued, 400: PlainError } },
      },
      async (req, reply) => {
        const input = { operation, selection: readSelection(req.body) }
        const jobId = await transact(db, (tx) =>
          queueJob(tx, 'contacts.bulk', { projectId: req.project.id, type: `bulk-${operation}`, input }),
        )
        return reply.status(202).send({ message: `Queued: ${operation}.`, jobId })
      },
    )
  }

  app.get(
    '/contacts/bulk/:jobId',
    { config, schema: { tags, summary: 'Status of a bulk job', params: JobParam, response: { 200: JobView, 404: PlainError } } },
    (req) =>
      statusOf(
        db,
        req,
        OPERATIONS.map((operation) => `bulk-${operation}`),
        ({ subject, error }) => ({ contactId: subject, error }),
      ),
  )

  app.get(
    '/contacts/import/:jobId',
    { config, schema: { tags, summary: 'Status of an import', params: JobParam, response: { 200: JobView, 404: PlainError } } },
    (req) => statusOf(db, req, ['import'], ({ row, subject, error }) => ({ row, email: subject, error })),
  )

  app.get(
    '/contacts/import/:jobId/errors',
    {
      config,
      schema: {
        tags,
        summary: 'All failing rows of an import, as CSV',
        params: JobParam,
        response: { 200: { description: 'CSV', content: { 'text/csv': { schema: z.string() } } }, 404: PlainError },
      },
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

  // Its own scope: multipart bodies are read here and nowhere else.
  await app.register(async (scope) => {
    await scope.register(multipart, { limits: { fileSize: MAX_FILE, files: 1, fields: 10, parts: 11, headerPairs: 50 } })
    scope.post(
      '/contacts/import',
      {
        config,
        bodyLimit: MAX_UPLOAD,
        schema: {
          tags,
          summary: 'Import contacts from CSV',
          consumes: ['multipart/form-data'],
          response: { 202: Queued, 400: PlainError },
        },
      },
      async (req, reply) => {
        const content = await readUpload(req)
        const jobId = await queueImport(db, req.project.id, content).catch((err) =>
          err instanceof CsvUnreadable ? failPlainly('BAD_REQUEST', err.message) : Promise.reject(err),
        )
        return reply.status(202).send({ message: 'The import is queued.', jobId })
      },
    )
  })
}

async function readUpload(req: FastifyRequest) {
  if (!req.isMultipart()) fail('UNSUPPORTED_MEDIA_TYPE', { message: 'Send the file as multipart/form-data, in the field "file".' })
  if (Number(req.headers['content-length']) > MAX_UPLOAD) fail('PAYLOAD_TOO_LARGE')
  const files: { field: string; content: Buffer }[] = []
  try {
    // To the end, although one is enough: a second file must not be lost without a word.
    for await (const file of req.files()) files.push({ field: file.fieldname, content: await file.toBuffer() })
  } catch (err) {
    return refuseUpload(err as { code?: string })
  }
  const [file] = files
  if (file?.field !== 'file') return failPlainly('BAD_REQUEST', 'Send one CSV file in the field "file".')
  return file.content
}

const refuseUpload = (err: { code?: string }): never =>
  err.code === 'FST_REQ_FILE_TOO_LARGE'
    ? fail('PAYLOAD_TOO_LARGE')
    : failPlainly('BAD_REQUEST', 'The upload is not valid multipart/form-data.')

const jobNotFound = (): never => fail('RESOURCE_NOT_FOUND', { message: 'No such job.', plain: true })

async function statusOf(db: Pool, req: FastifyRequest, types: string[], showError: (error: RowError) => object) {
  const job = { projectId: req.project.id, jobId: (req.params as { jobId: string }).jobId }
  const found = (isId(job.jobId) && (await findJob(db, job, types))) || jobNotFound()
  if (!found.result) return found
  const errors = await listErrors(db, job, { limit: SHOWN_ERRORS })
  return { ...found, result: { ...found.result, errors: errors.map(showError) } }
}
