import { Readable } from 'node:stream'
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Db, type Tx, transact } from '../../db/index.ts'
import { SENDS_NOTHING } from '../../http/auth/declaration.ts'
import { PlainError } from '../../http/core/errors.ts'
import type { App, Deps } from '../../http/core/types.ts'
import { routesOf } from '../../http/resource.ts'
import { findJob, type JobId, JobView, Queued } from '../../jobs/job.ts'
import { readPiece } from '../../jobs/pieces.ts'
import { type ErrorCode, fail, failPlainly, notFound } from '../../lib/errors/errors.ts'
import { isId } from '../../lib/id.ts'

type ExportedList = {
  /** `/emails`; the status of an export is at `/emails/export/:jobId`. */
  path: string
  tags: string[]
  /** Type of its rows in `jobs`. */
  type: string
  /** `emails`, `a campaign`: in summaries. */
  noun?: string
  /** Beginning of the name of the file. */
  file: string
  /** Refuses with a bare `{ error }`, where the specification defines nothing else. */
  isPlain?: boolean
}

export const CSV_FILE = { description: 'CSV', content: { 'text/csv': { schema: z.string() } } }

/** Sends a file of this name. */
export const sendCsv = (reply: FastifyReply, name: string, content: Readable) =>
  reply.type('text/csv; charset=utf-8').header('content-disposition', `attachment; filename="${name}.csv"`).send(content)

const ExportParam = z.object({ jobId: z.string() })

type QueuedList<Filter> = Pick<ExportedList, 'path' | 'tags'> & {
  body: z.ZodType<{ filter?: Filter | undefined }>
  audit: NonNullable<FastifyContextConfig['audit']>
  refusals?: ErrorCode[]
  queue: (tx: Tx, projectId: string, filter: Filter | undefined) => Promise<string>
}

/** Queues an export of a list by its filters. */
export const queueExportRoute = <Filter>(app: App, { path, tags, queue, ...declared }: QueuedList<Filter>) =>
  routesOf(app, { tags, caller: 'project', role: 'MEMBER', scope: 'full', ...SENDS_NOTHING }).post(
    `${path}/export`,
    {
      summary: `Export ${path.slice(1)} as CSV`,
      description: 'Queues a job. Its file can be downloaded for 7 days; the newest five of a project are kept.',
      ...declared,
      response: { 202: Queued },
      bodyOptional: true,
    },
    async (req, reply) => {
      const jobId = await transact(req.db, (tx) => queue(tx, req.project.id, req.body.filter))
      return reply.status(202).send({ message: 'The export is queued.', jobId })
    },
  )

/** The status and the file of an export that `queueCsvExport` has queued. */
export function csvExportRoutes(app: App, { db }: Pick<Deps, 'db'>, { path, tags, type, noun, file, isPlain }: ExportedList) {
  const route = routesOf(app, { tags, caller: 'project', role: 'MEMBER', scope: 'full', read: false })
  const ofNoun = noun ? ` of ${noun}` : ''
  const refusal = isPlain ? { 404: PlainError } : {}
  route.get(
    `${path}/export/:jobId`,
    { summary: `Get the status of an export${ofNoun}`, params: ExportParam, response: { 200: JobView, ...refusal } },
    (req) => find(req),
  )

  route.get(
    `${path}/export/:jobId/file`,
    {
      summary: `Download the file of an export${ofNoun}`,
      params: ExportParam,
      response: { 200: CSV_FILE, ...refusal },
      refusals: ['CONFLICT'],
    },
    async (req, reply) => {
      const found = await find(req)
      if (found.state !== 'completed') fail('CONFLICT', { message: 'The export has not been completed.', details: { state: found.state } })
      const job = { projectId: req.project.id, jobId: found.id }
      const first =
        (await readPiece(db, job, 0)) ?? (isPlain ? failPlainly('RESOURCE_NOT_FOUND', 'The file was deleted.') : notFound('file', found.id))
      return sendCsv(reply, `${file}-${found.createdAt.slice(0, 10)}`, streamPieces(db, job, first))
    },
  )

  const find = async (req: FastifyRequest) => {
    const { jobId } = req.params as { jobId: string }
    const job = isId(jobId) ? await findJob(db, { projectId: req.project.id, jobId }, [type]) : undefined
    return job ?? (isPlain ? jobNotFound() : notFound('job', jobId))
  }
}

export const jobNotFound = () => failPlainly('RESOURCE_NOT_FOUND', 'No such job.')

/** Piece by piece, as fast as the client reads, without holding a database connection in between. */
const streamPieces = (db: Db, job: JobId, first: string) =>
  Readable.from(
    (async function* () {
      for (let piece = 0, content: string | undefined = first; content !== undefined; content = await readPiece(db, job, ++piece))
        yield content
    })(),
    { objectMode: false },
  )
