import { sql } from 'kysely'
import { countAffected, many, one, type Tx } from '../../db/index.ts'
import { lowestId } from '../../lib/id.ts'

/** Deletes the attachments of emails that ended long ago: files are large and no longer needed. The emails stay. */
export const dropOldAttachments = (tx: Tx, limit: number) =>
  countAffected(tx)`
    delete from attachments where (project_id, content_id) in (
      -- Starts at attachments, which are few: most contents have none, and contents are kept for ever.
      select a.project_id, a.content_id from attachments a join contents c on c.project_id = a.project_id and c.id = a.content_id
      where c.created_at < now() - interval '7 days'
        and not exists (
          select from emails e where e.project_id = a.project_id and e.content_id = a.content_id
            and (e.state in ('queued', 'deferred', 'sending', 'unknown') or e.updated_at > now() - interval '7 days'))
      limit ${limit})
  `

/** The same for messages of SMTP submission, which have their attachments in them. */
export const dropOldMessages = (tx: Tx, limit: number) =>
  countAffected(tx)`
    update contents set raw = null where (project_id, id) in (
      select c.project_id, c.id from contents c
      where c.raw is not null and c.created_at < now() - interval '7 days'
        and not exists (
          select from emails e where e.project_id = c.project_id and e.content_id = c.id
            and (e.state in ('queued', 'deferred', 'sending', 'unknown') or e.updated_at > now() - interval '7 days'))
      order by c.created_at limit ${limit})
  `

/** The emails of a project between two ids, without them. */
type EmailRange = { projectId: string; after: string; before: Date; limit: number }
type RemovedPage = {
  /** The last email looked at; null at the end. */
  last: string | null
  removed: string[]
}

/**
 * Removes the emails of a page that have ended, with contents that no email has any more. An email of a campaign stays until the counters of
 * the campaign are closed. Emails that a transaction has locked are left to the next run.
 */
export async function removeEmails(tx: Tx, { projectId, after, before, limit }: EmailRange): Promise<RemovedPage> {
  const { last, removed, contents } = await one<RemovedPage & { contents: string[] }>(tx)`
    with page as materialized (
      select id from emails where project_id = ${projectId} and id > ${after} and id < ${lowestId(before)} order by id limit ${limit}
    ), removable as materialized (
      select e.id from emails e
      where e.project_id = ${projectId} and e.id in (select id from page) and e.state in ('sent', 'failed', 'skipped', 'cancelled')
        and (e.campaign_id is null or e.test or not exists (
          select from campaigns c where c.project_id = e.project_id and c.id = e.campaign_id and c.counters_closed_at is null))
      order by e.id for update skip locked
    ), removed as (
      delete from emails where project_id = ${projectId} and id in (select id from removable) returning id, content_id
    )
    select (select max(id::text) from page) as last, coalesce(array_agg(id), '{}') as removed,
      coalesce(array_agg(distinct content_id), '{}') as contents
    from removed
  `
  await removeUnusedContents(tx, projectId, contents)
  return { last, removed }
}

/** A statement of its own, so that it sees which emails are gone. */
async function removeUnusedContents(tx: Tx, projectId: string, ids: string[]) {
  const unused = await many<{ id: string }>(tx)`
    delete from contents c where c.project_id = ${projectId} and c.id = any(${ids}::uuid[])
      and not exists (select from emails e where e.project_id = c.project_id and e.content_id = c.id)
    returning c.id
  `
  const removed = unused.map(({ id }) => id)
  await sql`delete from attachments where project_id = ${projectId} and content_id = any(${removed}::uuid[])`.execute(tx)
}

export const removeSandboxMessages = (tx: Tx, projectId: string, before: Date) =>
  sql`delete from sandbox_messages where project_id = ${projectId} and created_at < ${before}`.execute(tx)
