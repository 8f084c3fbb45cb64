import { z } from 'zod'
import type { ConditionTree } from '../../conditions/schema.ts'
import { columns, type RowOf } from '../../db/columns.ts'
import { type Db, many, maybeOne } from '../../db/index.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { notFound } from '../../lib/errors/errors.ts'
import { isId } from '../../lib/id.ts'

export const SEGMENT_TYPES = ['DYNAMIC', 'STATIC'] as const
/** Segments of a project. */
export const MAX_SEGMENTS = 1_000

/** A stored tree, which is valid. */
const StoredCondition = z.unknown().meta({ $ref: '#/components/schemas/Condition' })

export const Segment = z
  .object({
    id: z.uuid(),
    name: z.string(),
    description: z.string().nullable(),
    type: z.enum(SEGMENT_TYPES),
    condition: StoredCondition.nullable().describe('Null for a static segment.'),
    slug: z.string().describe('Part of the names of its events: `segment.<slug>.entry` and `segment.<slug>.exit`. Never changes.'),
    trackMembership: z.boolean(),
    memberCount: z.int().describe('As last counted.'),
    countedAt: Timestamp.nullable().describe('Time of that count. An old count is refreshed in the background when it is read.'),
    countEstimated: z.boolean().describe('True if the count was estimated from a sample.'),
    projectId: z.uuid(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Segment' })

/** `countMs`: time the count took. */
export const SEGMENT_COLUMNS = columns('segments', 'segments', [
  ...(['id', 'name', 'description', 'type', 'condition', 'slug', 'trackMembership', 'memberCount', 'countedAt', 'countEstimated'] as const),
  ...(['countMs', 'projectId', 'createdAt', 'updatedAt'] as const),
])
/** The condition of a static segment is null. */
export type SegmentRow = RowOf<typeof SEGMENT_COLUMNS> & { type: (typeof SEGMENT_TYPES)[number]; condition: ConditionTree | null }

export const showSegment = ({ countMs: _, ...row }: SegmentRow): z.output<typeof Segment> => row

export const findSegment = (db: Db, projectId: string, id: string) =>
  maybeOne<SegmentRow>(db)`select ${SEGMENT_COLUMNS} from segments where project_id = ${projectId} and id = ${id}`

/** Fails unless the project has this segment. */
export const getSegment = async (db: Db, projectId: string, id: string) =>
  (isId(id) && (await findSegment(db, projectId, id))) || notFound('segment', id)

/** Newest first: ids are ordered by time. */
export const listSegments = (db: Db, projectId: string, ids: string[]) =>
  many<SegmentRow>(db)`
    select ${SEGMENT_COLUMNS} from segments where project_id = ${projectId} and id = any(${ids}::uuid[]) order by id desc limit ${MAX_SEGMENTS}
  `

/** Ids and bytes of all segments, newest first: together their conditions may have 64 MB. */
export const listSegmentSizes = (db: Db, projectId: string) =>
  many<{ id: string; bytes: number }>(db)`
    select id, coalesce(octet_length(condition::text), 0) + ${ROW_BYTES} as bytes
    from segments where project_id = ${projectId} order by id desc limit ${MAX_SEGMENTS}
  `
/** Approximate bytes of a segment without its condition. */
const ROW_BYTES = 1_000

export const entryEventOf = (slug: string) => `segment.${slug}.entry`
export const exitEventOf = (slug: string) => `segment.${slug}.exit`
