import { sql } from 'kysely'
import { type AccountEmailDeps, enqueueAccountEmail } from '../account-emails/account-email.ts'
import { type Db, many, maybeOne, type Tx } from '../db/index.ts'
import { type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { newId } from '../lib/id.ts'

/** The reason of a project that was disabled because of its bounces or complaints. */
export const BY_REPUTATION = 'EMAIL_REPUTATION'

type Suspension = { at: Date; reason: string; until: Date | null; liftedBy: string | null }

/** The latest first. */
export const listSuspensions = (db: Db, projectId: string) =>
  many(
    db,
    sql<Suspension>`
      select at, reason, until, lifted_by as "liftedBy" from suspensions where project_id = ${projectId} order by at desc, id desc limit 10
    `,
  )

/** From this commit on the project can be read, not changed, and its emails wait. False if it is disabled already, or does not exist. */
export async function disableProject(tx: Tx, projectId: string, reason: string): Promise<boolean> {
  const disabled = await maybeOne(
    tx,
    sql`
      update projects set disabled = true, disabled_reason = ${reason}, updated_at = now()
      where id = ${projectId} and not disabled and deleted_at is null returning id
    `,
  )
  if (!disabled) return false
  await sql`insert into suspensions (project_id, id, reason) values (${projectId}, ${newId()}, ${reason})`.execute(tx)
  return true
}

/** Also continues what waits. With `reason`, only a project that was disabled for it. False if there is nothing to enable. */
export async function enableProject(tx: Tx, projectId: string, { by, reason }: { by: string; reason?: string }): Promise<boolean> {
  const enabled = await maybeOne(
    tx,
    sql`
      update projects set disabled = false, disabled_reason = null, updated_at = now()
      where id = ${projectId} and disabled and deleted_at is null ${reason === undefined ? sql`` : sql`and disabled_reason = ${reason}`}
      returning id
    `,
  )
  if (!enabled) return false
  await sql`update suspensions set until = now(), lifted_by = ${by} where project_id = ${projectId} and until is null`.execute(tx)
  return true
}

/** Sends an account email to each owner of a project. */
export async function tellOwners(
  tx: Tx,
  deps: AccountEmailDeps,
  projectId: string,
  write: (project: string) => { subject: string; lines: string[] },
) {
  const owners = await many(
    tx,
    sql<{ email: string; project: string }>`
      select u.email, p.name as project from memberships m join users u on u.id = m.user_id join projects p on p.id = m.project_id
      where m.project_id = ${projectId} and m.role = 'OWNER' order by u.id limit 100
    `,
  )
  // Kept for a month if it cannot be sent: it has no link that expires.
  for (const { email, project } of owners) await enqueueAccountEmail(tx, deps, { to: email, linkHours: 30 * 24, ...write(project) })
}

/** A reset keeps them. */
export const wipeSuspensions = (tx: Tx, scope: WipeScope) =>
  wipeRows(tx, 'suspensions', scope, {
    which: sql`exists (select from projects p where p.id = t.project_id and p.deleted_at is not null)`,
  })
