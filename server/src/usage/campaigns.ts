import { type RawBuilder, sql } from 'kysely'
import type { FieldName } from '../contacts/fields/fields.ts'
import { type Db, many } from '../db/index.ts'
import { usesFieldSql } from './segments.ts'

type Named = { id: string; name: string }

/** Campaigns whose audience mentions a field, or a path into it. */
export const listCampaignsWithField = (db: Db, projectId: string, field: FieldName) => listCampaignsThat(db, projectId, usesFieldSql(field))

/** Campaigns whose audience asks for events of that name. */
export const listCampaignsWithEvent = (db: Db, projectId: string, name: string) =>
  listCampaignsThat(db, projectId, sql`uses -> 'events' ? ${name}`)

/** Campaigns whose content came from a template. */
export const listCampaignsWithTemplate = (db: Db, projectId: string, templateId: string) =>
  listCampaignsThat(db, projectId, sql`template_id = ${templateId}`)

/** Campaigns whose audience is a segment, or refers to it. */
export const listCampaignsWithSegment = (db: Db, projectId: string, segmentId: string) =>
  listCampaignsThat(db, projectId, sql`uses -> 'segments' ? ${segmentId}`)

const listCampaignsThat = (db: Db, projectId: string, use: RawBuilder<unknown>): Promise<Named[]> =>
  many<Named>(db)`
    select id, name from campaigns where project_id = ${projectId} and deleted_at is null and ${use} order by id desc limit 1000
  `
