import { type RawBuilder, sql } from 'kysely'
import type { FieldName } from '../contacts/fields/fields.ts'
import { type Db, many } from '../db/index.ts'

type Named = { id: string; name: string }

/** True for a row whose condition mentions a field, or a path into it: one of `segments` or `campaigns`. */
export const usesFieldSql = (field: FieldName) =>
  'standard' in field
    ? sql`uses -> 'standard' ? ${field.standard}`
    : sql`exists (
        select from jsonb_array_elements_text(uses -> 'fields') as path
        where path = ${field.custom} or starts_with(path, ${`${field.custom}.`}))`

export const listSegmentsWithField = (db: Db, projectId: string, field: FieldName) => listSegmentsThat(db, projectId, usesFieldSql(field))

/** Segments whose condition asks for events of that name. */
export const listSegmentsWithEvent = (db: Db, projectId: string, name: string) =>
  listSegmentsThat(db, projectId, sql`uses -> 'events' ? ${name}`)

/** Segments whose condition refers to another one. */
export const listSegmentsWithSegment = (db: Db, projectId: string, segmentId: string) =>
  listSegmentsThat(db, projectId, sql`uses -> 'segments' ? ${segmentId}`)

const listSegmentsThat = (db: Db, projectId: string, use: RawBuilder<unknown>): Promise<Named[]> =>
  many<Named>(db)`select id, name from segments where project_id = ${projectId} and ${use} order by id desc limit 1000`
