import { type RawBuilder, sql } from 'kysely'
import { countAffected, type Db, maybeScalar, type Tx } from '../db/index.ts'
import type { JobId } from './job.ts'

/** Days that the file of a job can be downloaded. */
const PIECES_KEPT_DAYS = 7

export const savePiece = (tx: Tx, { projectId, jobId }: JobId, { piece, content }: { piece: number; content: string }) =>
  sql`insert into job_pieces (project_id, job_id, piece, content) values (${projectId}, ${jobId}, ${piece}, ${content})`.execute(tx)

/** Undefined after the last piece. */
export const readPiece = (db: Db, { projectId, jobId }: JobId, piece: number) =>
  maybeScalar<string>(db)`select content from job_pieces where project_id = ${projectId} and job_id = ${jobId} and piece = ${piece}`

/** Deletes the files of all but the newest jobs of a type. */
export const dropPiecesBeyond = (tx: Tx, { projectId, type, keep }: { projectId: string; type: string; keep: number }) =>
  sql`
    delete from job_pieces where project_id = ${projectId} and job_id in (
      select id from jobs where project_id = ${projectId} and type = ${type} and finished_at is not null order by id desc offset ${keep})
  `.execute(tx)

export const dropOldPieces = (tx: Tx, limit: number) =>
  deletePieces(tx, sql`finished_at < now() - make_interval(days => ${PIECES_KEPT_DAYS})`, limit)

/** Deletes pieces of the jobs that match. Returns how many. */
export const deletePieces = (tx: Tx, which: RawBuilder<unknown>, limit: number) =>
  countAffected(tx)`
    delete from job_pieces where (project_id, job_id, piece) in (
      select p.project_id, p.job_id, p.piece from job_pieces p
      where (p.project_id, p.job_id) in (select project_id, id from jobs where (${which})) limit ${limit})
  `
