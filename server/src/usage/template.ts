import { type Db, many, scalar } from '../db/index.ts'

/** Number of emails sent with a template, without test emails. */
export const countSentWith = (db: Db, projectId: string, templateId: string) =>
  scalar<number>(db)`
    select count(*)::int
    from contents c join emails e on e.project_id = c.project_id and e.content_id = c.id
    where c.project_id = ${projectId} and c.template_id = ${templateId} and e.sent_at is not null and not e.test
  `

/** Each template is counted up to this number: a list of templates must not read all emails of a project. */
export const SENT_COUNTED_UP_TO = 10_000
/** Campaigns and workflows of a template that are counted, and listed. */
const USERS_COUNTED_UP_TO = 1_000

/** Sent emails, campaigns and workflows of several templates. Those that the project does not have are left out. */
export const countUsesOfEach = (db: Db, projectId: string, templateIds: string[]) =>
  many<{ id: string; emailsSent: number; campaignCount: number; workflowCount: number }>(db)`
    select t.id, (
      select count(*)::int from (
        select 1 from contents c join emails e on e.project_id = c.project_id and e.content_id = c.id
        where c.project_id = t.project_id and c.template_id = t.id and e.sent_at is not null and not e.test
        limit ${SENT_COUNTED_UP_TO}
      ) as sent
    ) as "emailsSent", (
      select count(*)::int from (
        select 1 from campaigns c where c.project_id = t.project_id and c.template_id = t.id and c.deleted_at is null
        limit ${USERS_COUNTED_UP_TO}
      ) as used
    ) as "campaignCount", (
      select count(*)::int from (
        select 1 from workflows w
        join workflow_graphs g on g.project_id = w.project_id and g.workflow_id = w.id and g.version = w.version
        where w.project_id = t.project_id and g.uses -> 'templates' ? t.id::text
        limit ${USERS_COUNTED_UP_TO}
      ) as used
    ) as "workflowCount"
    from templates t where t.project_id = ${projectId} and t.id = any(${templateIds}::uuid[])
  `

/** Campaigns whose content came from a template. */
export const listCampaignsWithTemplate = (db: Db, projectId: string, templateId: string) =>
  many<{ id: string; name: string }>(db)`
    select id, name from campaigns where project_id = ${projectId} and deleted_at is null and template_id = ${templateId}
    order by id desc limit ${USERS_COUNTED_UP_TO}
  `

/** Steps of current graphs that send a template. */
export const listStepsWithTemplate = (db: Db, projectId: string, templateId: string) =>
  many<{ id: string; name: string; workflowId: string; workflowName: string }>(db)`
    select step ->> 'id' as id, step ->> 'name' as name, w.id as "workflowId", w.name as "workflowName" from workflows w
    join workflow_graphs g on g.project_id = w.project_id and g.workflow_id = w.id and g.version = w.version
    cross join lateral jsonb_array_elements(g.graph -> 'steps') as step
    where w.project_id = ${projectId} and g.uses -> 'templates' ? ${templateId} and step ->> 'templateId' = ${templateId}
    order by w.id desc limit ${USERS_COUNTED_UP_TO}
  `
