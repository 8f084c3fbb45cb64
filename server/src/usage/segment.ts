import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { type Db, many } from '../db/index.ts'
import { allCounts } from '../events/counts.ts'
import { entryEventOf, exitEventOf } from '../segments/definition/segment.ts'

export const SegmentUses = z
  .object({
    id: z.uuid(),
    segmentCount: z.int(),
    campaignCount: z.int(),
    workflowCount: z.int(),
    entered: z.int().nullable().describe('Entries of the last seven days. Null if the segment is not tracked.'),
    left: z.int().nullable(),
  })
  .meta({ id: 'SegmentUses' })

type Uses = z.output<typeof SegmentUses>
type Segment = { id: string; slug: string; trackMembership: boolean }
type Counted = { id: string; kind: 'segmentCount' | 'campaignCount' | 'workflowCount'; count: number }

/** Days whose entries and exits are counted, today included. */
const DAYS = 7

/** How often each segment of a project is used, and how its members changed. A project has at most 1,000 segments. */
export async function countSegmentUses(db: Db, projectId: string): Promise<Uses[]> {
  const segments = await many<Segment>(db)`
    select id, slug, track_membership as "trackMembership" from segments where project_id = ${projectId} order by id desc limit 1000
  `
  const uses = await many(db, usesSql(projectId))
  const tracked = segments.filter(({ trackMembership }) => trackMembership).map(({ slug }) => slug)
  const changes = await countRecent(db, projectId, [...tracked.map(entryEventOf), ...tracked.map(exitEventOf)])
  const countOf = (id: string, kind: Counted['kind']) => uses.find((use) => use.id === id && use.kind === kind)?.count ?? 0
  return segments.map(({ id, slug, trackMembership }) => ({
    id,
    segmentCount: countOf(id, 'segmentCount'),
    campaignCount: countOf(id, 'campaignCount'),
    workflowCount: countOf(id, 'workflowCount'),
    entered: trackMembership ? (changes.get(entryEventOf(slug)) ?? 0) : null,
    left: trackMembership ? (changes.get(exitEventOf(slug)) ?? 0) : null,
  }))
}

/** `uses` of a row lists the ids of segments that it mentions. */
const usesSql = (projectId: string): RawBuilder<Counted> => sql<Counted>`
  select used.id, 'segmentCount' as kind, count(*)::int as count
  from segments s cross join lateral jsonb_array_elements_text(s.uses -> 'segments') as used(id)
  where s.project_id = ${projectId} group by 1
  union all
  select used.id, 'campaignCount', count(*)::int
  from campaigns c cross join lateral jsonb_array_elements_text(c.uses -> 'segments') as used(id)
  where c.project_id = ${projectId} and c.deleted_at is null group by 1
  union all
  select used.id, 'workflowCount', count(distinct w.id)::int
  from workflows w
  join workflow_graphs g on g.project_id = w.project_id and g.workflow_id = w.id and g.version = w.version
  cross join lateral (
    select jsonb_array_elements_text(g.uses -> 'segments')
    union select w.trigger_config ->> 'segmentId' where w.trigger_type = 'SCHEDULE'
  ) as used(id)
  where w.project_id = ${projectId} and used.id is not null group by 1`

async function countRecent(db: Db, projectId: string, names: string[]): Promise<Map<string, number>> {
  if (!names.length) return new Map()
  const which = sql`and name = any(${names}::text[]) and day > (now() at time zone 'utc')::date - ${DAYS}::int`
  const rows = await many<{ name: string; count: number }>(db)`
    select name, sum(count)::int as count from ${allCounts(projectId, which)} group by name
  `
  return new Map(rows.map(({ name, count }) => [name, count]))
}
