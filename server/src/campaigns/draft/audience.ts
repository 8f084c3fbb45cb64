import { type RawBuilder, sql } from 'kysely'
import { type Expression, type ReferencedSegment, type SegmentLookup, toExpression } from '../../conditions/expression.ts'
import { referencesOf } from '../../conditions/references.ts'
import { type ConditionTree, readCondition } from '../../conditions/schema.ts'
import { expressionSql, type ScanSql, type SqlContext, scanSql } from '../../conditions/sql.ts'
import type { Db } from '../../db/index.ts'
import { invalid, notFound } from '../../lib/errors/errors.ts'
import { usesOf } from '../../segments/definition/check-condition.ts'
import { loadReachable } from '../../segments/definition/expressions.ts'
import { readSqlContext } from '../../segments/evaluation/evaluate.ts'
import type { AUDIENCE_TYPES, CampaignRow } from './campaign.ts'

const FIELD = 'audienceCondition'

/** The contacts a campaign selects. */
export type Audience = { type: 'ALL' } | { type: 'SEGMENT'; segmentId: string } | { type: 'FILTERED'; condition: ConditionTree }

type Given = { audienceType: (typeof AUDIENCE_TYPES)[number]; segmentId?: string | null | undefined; audienceCondition?: unknown }

/** The audience of a request. Fields that do not belong to its type are checked and ignored. */
export function readAudience({ audienceType: type, segmentId, audienceCondition }: Given): Audience {
  const condition = audienceCondition === undefined || audienceCondition === null ? undefined : readCondition(audienceCondition, FIELD)
  if (type === 'ALL') return { type }
  if (type === 'SEGMENT')
    return { type, segmentId: (segmentId ?? invalid('segmentId', 'Required for this audience.', 'required')).toLowerCase() }
  return { type, condition: condition ?? invalid(FIELD, 'Required for this audience.', 'required') }
}

export function audienceOf({ audienceType: type, segmentId, audienceCondition }: CampaignRow): Audience {
  if (type === 'SEGMENT' && segmentId) return { type, segmentId }
  return type === 'FILTERED' && audienceCondition ? { type, condition: audienceCondition } : { type: 'ALL' }
}

/** References stored beside the audience, so that a query finds usage. */
export function usesOfAudience(audience: Audience) {
  if (audience.type === 'FILTERED') return usesOf(audience.condition)
  return { fields: [], standard: [], events: [], segments: audience.type === 'SEGMENT' ? [audience.segmentId] : [] }
}

/**
 * An audience with the condition of every segment that it refers to: from here on, changes of those segments change nothing. Null stands
 * for all contacts.
 */
export type ResolvedAudience = { tree: ConditionTree; segments: Record<string, ReferencedSegment> } | null

/** Fails unless every segment of the audience exists, and it has not too many filters. */
export async function resolveAudience(db: Db, projectId: string, audience: Audience): Promise<ResolvedAudience> {
  if (audience.type === 'ALL') return null
  const tree = audience.type === 'FILTERED' ? audience.condition : memberOf(audience.segmentId)
  const segments = await loadReachable(db, projectId, referencesOf(tree).segments)
  if (audience.type === 'SEGMENT' && !segments[audience.segmentId]) notFound('segment', audience.segmentId)
  expressionOf({ tree, segments })
  return { tree, segments }
}

const memberOf = (segmentId: string): ConditionTree => ({
  logic: 'AND',
  groups: [{ filters: [{ field: `segment.${segmentId}`, operator: 'memberOfSegment' }] }],
})

const lookupIn =
  (segments: Record<string, ReferencedSegment>): SegmentLookup =>
  (id) =>
    Object.hasOwn(segments, id) ? segments[id] : undefined

const expressionOf = ({ tree, segments }: NonNullable<ResolvedAudience>) => toExpression(tree, lookupIn(segments), { path: FIELD })

/** `at`: the start of the campaign; without it, the present. */
type Moment = { projectId: string; at?: Date }

async function contextOf(db: Db, expression: Expression, { projectId, at }: Moment): Promise<SqlContext> {
  const context = await readSqlContext(db, projectId, expression)
  return at ? { ...context, now: at, until: at } : context
}

/** True for the rows of `contacts` that are in the audience, looked up row by row: for pages of contacts. */
export async function audienceSql(db: Db, audience: ResolvedAudience, moment: Moment): Promise<RawBuilder<unknown>> {
  if (!audience) return sql`true`
  const expression = expressionOf(audience)
  return expressionSql(expression, await contextOf(db, expression, moment))
}

/** The same for scans of the whole project. */
export async function audienceScanSql(db: Db, audience: ResolvedAudience, moment: Moment): Promise<Pick<ScanSql, 'joins' | 'matches'>> {
  if (!audience) return { joins: sql``, matches: sql<boolean>`true` }
  const expression = expressionOf(audience)
  return scanSql(expression, await contextOf(db, expression, moment))
}
