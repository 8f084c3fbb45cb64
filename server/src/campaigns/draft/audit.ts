import type { FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import { countRows, type Db, type Tx } from '../../db/index.ts'
import { type CursorQuery, readKeysetPage } from '../../http/core/paging.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { newId } from '../../lib/id.ts'
import type { Secrets } from '../../lib/secrets.ts'
import type { CampaignKey } from './campaign.ts'

const ACTIONS = ['started', 'scheduled', 'unscheduled', 'paused', 'resumed', 'cancelled', 'resent', 'rate_changed', 'sent'] as const
const ACTORS = ['user', 'key', 'system'] as const

/** The user, API key or part of Sterna that does something to a campaign. */
export type Actor = { by: (typeof ACTORS)[number]; userId: string | null }
export const SYSTEM: Actor = { by: 'system', userId: null }

export const actorOf = (req: FastifyRequest): Actor =>
  req.person ? { by: 'user', userId: req.person.userId } : { by: 'key', userId: null }

export const AuditEntry = z
  .object({
    id: z.uuid(),
    action: z.enum(ACTIONS),
    by: z.enum(ACTORS),
    userId: z.uuid().nullable(),
    details: z.record(z.string(), z.unknown()),
    createdAt: Timestamp,
  })
  .meta({ id: 'CampaignAuditEntry' })

type Entry = { action: (typeof ACTIONS)[number]; actor: Actor; details?: object }

/** In the transaction of the action. Rows are never changed. */
export const recordAction = (tx: Tx, { projectId, id }: CampaignKey, { action, actor, details = {} }: Entry) =>
  sql`
    insert into campaign_audit (project_id, campaign_id, id, action, actor, user_id, details, created_at)
    values (${projectId}, ${id}, ${newId()}, ${action}, ${actor.by}, ${actor.userId}, ${JSON.stringify(details)}::jsonb, clock_timestamp())
  `.execute(tx)

/** Totals are exact up to this number, and stop there. */
const COUNT_UP_TO = 10_000

/** Newest first. */
export function listActions(db: Db, secrets: Secrets, { projectId, id }: CampaignKey, query: z.output<typeof CursorQuery>) {
  const where = sql`project_id = ${projectId} and campaign_id = ${id}`
  return readKeysetPage(db, secrets, {
    scope: JSON.stringify(['campaign audit', projectId, id]),
    query,
    select: ({ after, limit }) => sql<z.output<typeof AuditEntry>>`
      select id, action, actor as "by", user_id as "userId", details, created_at as "createdAt" from campaign_audit
      where ${where} ${after ? sql`and id < ${after[0]}` : sql``} order by id desc limit ${limit}
    `,
    positionOf: (row) => [row.id],
    count: () => countRows(db, sql`select 1 from campaign_audit where ${where} limit ${COUNT_UP_TO}`),
  })
}
