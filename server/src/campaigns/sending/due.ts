import { type RawBuilder, sql } from 'kysely'
import { many, type Pool } from '../../db/index.ts'
import { inTurnSql } from '../../ledger/owner-sql.ts'
import { skipScanCte } from '../../ledger/skip-scan.ts'
import type { WaitingWork } from '../../lib/fair/work-slots.ts'
import type { CampaignKey } from '../draft/campaign.ts'

/** Candidates of a project in one look: more than the slots of a worker. */
const MAX_OF_PROJECT = 4

/** `which`: the condition of an index by project and `dueAt`. */
type Due = { which: RawBuilder<unknown>; dueAt: RawBuilder<unknown>; except: string[] }

/** Campaigns that are due by the clock of the database: `now()`, which an index can look up. By the first ones of each project, however many it has. */
export const findDue = (db: Pool, { which, dueAt, except }: Due) =>
  many<CampaignKey & WaitingWork>(db)`
    with recursive ${skipScanCte('waiting', { table: 'campaigns', by: ['project_id'], where: which })}, due as (
      select due.* from waiting cross join lateral (
        select c.project_id, c.id, ${dueAt} as due_at from campaigns c
        where c.project_id = waiting.project_id and ${which} and ${dueAt} <= now() and c.id <> all(${except}::uuid[])
        order by ${dueAt} limit ${MAX_OF_PROJECT}
      ) as due
    )
    select project_id as "projectId", id, id as key, owner from (${inTurnSql(sql`select * from due`)}) as found
  `
