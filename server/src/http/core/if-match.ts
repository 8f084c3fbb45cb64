import type { FastifyRequest } from 'fastify'
import { type RawBuilder, sql } from 'kysely'
import { fail } from '../../lib/errors/errors.ts'

/** The revision of a resource: its `updatedAt`, in quotes. */
export const etagOf = ({ updatedAt }: { updatedAt: Date | string }) => `"${new Date(updatedAt).toISOString()}"`

/** The revisions that an edit may start from, as times. Undefined: any. */
export function readIfMatch(req: FastifyRequest): string[] | undefined {
  const given = req.headers['if-match']?.trim()
  if (given === undefined || given === '*') return undefined
  return given
    .slice(0, MAX_LENGTH)
    .split(',')
    .map((tag) =>
      tag
        .trim()
        .replace(/^W\//, '')
        .replace(/^"(.*)"$/, '$1'),
    )
    .filter((time) => !Number.isNaN(Date.parse(time)))
    .map((time) => new Date(time).toISOString())
}

const MAX_LENGTH = 1_000

/** Condition of an edit on a revision. In milliseconds, the precision of responses. */
export const isRevision = (column: RawBuilder<unknown>, revisions: string[] | undefined) =>
  revisions ? sql`date_trunc('milliseconds', ${column}) = any(${revisions}::timestamptz[])` : sql`true`

/** Time of an edit: at least a millisecond after the edit before, so that each has its own revision. */
export const nextRevision = (column: RawBuilder<unknown>) =>
  sql`greatest(now(), date_trunc('milliseconds', ${column}) + interval '1 millisecond')`

/** Refuses an edit that started from another revision of a row, which is locked. */
export function refuseStale({ updatedAt }: { updatedAt: Date }, revisions: string[] | undefined) {
  if (revisions && !revisions.includes(updatedAt.toISOString())) failStale(updatedAt)
}

export const failStale = (updatedAt: Date | string): never =>
  fail('CONFLICT', { message: 'It was changed since you read it.', details: { updatedAt } })
