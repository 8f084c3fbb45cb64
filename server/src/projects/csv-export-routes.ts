import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Db } from '../db/index.ts'
import { routesOf } from '../http/resource.ts'
import type { App, Deps } from '../http/server.ts'
import { findJob, type JobId, JobView } from '../jobs/job.ts'
import { readPiece } from '../jobs/pieces.ts'
import { fail, notFound } from '../lib/errors.ts'
import { isId } from '../lib/id.ts'

type ExportedList = {
  /** `/emails`; the status of an export is at `/emails/export/:jobId`. */
  path: string
  tags: string[]
  /** Type of its rows in `jobs`. */
  type: string
  /** `emails`, `a campaign`. */
  noun: string
  /** Beginning of the name of the file. */
  file: string
}

const ExportParam = z.object({ jobId: z.string() })

/** The status and the file of an export that `queueCsvExport` has queued. */
export function csvExportRoutes(app: App, { db }: Pick<Deps, 'db'>, { path, tags, type, noun, file }: ExportedList) {
  const route = routesOf(app, { tags, caller: 'project' })
  route.get(`${path}/export/:jobId`, { summary: `Get the status of an export of ${noun}`, params: ExportParam, response: JobView }, (req) =>
    find(req),
  )

  route.get(
    `${path}/export/:jobId/file`,
    {
      summary: `Download the file of an export of ${noun}`,
      params: ExportParam,
      response: { 200: { description: 'CSV', content: { 'text/csv': { schema: z.string() } } } },
      refusals: ['CONFLICT'],
    },
    async (req, reply) => {
      const found = await find(req)
      if (found.state !== 'completed') fail('CONFLICT', { message: 'The export has not been completed.', details: { state: found.state } })
      const job = { projectId: req.project.id, jobId: found.id }
      const first = (await readPiece(db, job, 0)) ?? notFound('file', found.id)
      return reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="${file}-${found.createdAt.slice(0, 10)}.csv"`)
        .send(streamPieces(db, job, first) as never) // a stream is not JSON
    },
  )

  const find = async (req: FastifyRequest) => {
    const { jobId } = req.params as { jobId: string }
    const job = isId(jobId) ? await findJob(db, { projectId: req.project.id, jobId }, [type]) : undefined
    return job ?? notFound('job', jobId)
  }
}

/** Piece by piece, as fast as the client reads, without holding a database connection in between. */
export const streamPieces = (db: Db, job: JobId, first: string) =>
  Readable.from(
    (async function* () {
      for (let piece = 0, content: string | undefined = first; content !== undefined; content = await readPiece(db, job, ++piece))
        yield content
    })(),
    { objectMode: false },
  )
