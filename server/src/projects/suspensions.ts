import { sql } from 'kysely'
import { type AccountEmailDeps, enqueueAccountEmail } from '../account-emails/account-email.ts'
import { type Db, many, maybeOne, type Tx } from '../db/index.ts'
import { newId } from '../lib/id.ts'
import { recordFacts } from '../webhooks/facts.ts'
import { findOwnerMark, listHeirs, listMarksOfOwner, markSuspension, removeMarks } from './suspension-marks.ts'

/** The reason of a project that was disabled because of its bounces or complaints. */
export const BY_REPUTATION = 'EMAIL_REPUTATION'

type Suspension = { at: Date; reason: string; until: Date | null; liftedBy: string | null; endsAt: Date | null; isInherited: boolean }

/** The latest first. */
export const listSuspensions = (db: Db, projectId: string) =>
  many<Suspension>(db)`
    select at, reason, until, lifted_by as "liftedBy", ends_at as "endsAt", inherited as "isInherited"
    from suspensions where project_id = ${projectId} order by at desc, id desc limit 10
  `

/**
 * From this commit on the project can be read, not changed, and its emails wait. Its domains and its owner are marked. False if it is
 * disabled already, or does not exist.
 */
export async function disableProject(tx: Tx, projectId: string, reason: string): Promise<boolean> {
  const disabled = await maybeOne(tx)`
    update projects set disabled = true, disabled_reason = ${reason}, updated_at = now()
    where id = ${projectId} and not disabled and deleted_at is null returning id
  `
  if (!disabled) return false
  await sql`insert into suspensions (project_id, id, reason) values (${projectId}, ${newId()}, ${reason})`.execute(tx)
  await markSuspension(tx, projectId, reason)
  await recordFacts(tx, [{ projectId, type: 'project.disabled', data: { reason } }])
  return true
}

/** A new project of a person with a suspended project is disabled for the same reason, as long as that is marked. */
export async function inheritSuspension(tx: Tx, projectId: string, ownerId: string): Promise<{ disabled_reason: string } | undefined> {
  const mark = await findOwnerMark(tx, ownerId)
  if (!mark) return undefined
  await sql`
    insert into suspensions (project_id, id, reason, ends_at, inherited) values (${projectId}, ${newId()}, ${mark.reason}, ${mark.until}, true)
  `.execute(tx)
  await sql`update projects set disabled = true, disabled_reason = ${mark.reason} where id = ${projectId}`.execute(tx)
  return { disabled_reason: mark.reason }
}

/** The end of a suspension that the project has because of another project of its owner. */
export const findInherited = (db: Db, projectId: string) =>
  maybeOne<{ endsAt: Date }>(db)`
    select ends_at as "endsAt" from suspensions where project_id = ${projectId} and until is null and inherited limit 1
  `

type Lift = { by: string; reason?: string }

/**
 * Also continues what waits, and removes the marks of the suspension; of an inherited one, those it was inherited from. With `reason`, only
 * a project that was disabled for it. False if there is nothing to enable.
 */
export async function enableProject(tx: Tx, projectId: string, lift: Lift): Promise<boolean> {
  const isInherited = (await findInherited(tx, projectId)) !== undefined
  if (!(await endSuspension(tx, projectId, lift))) return false
  await liftMarks(tx, isInherited ? [projectId, ...(await listMarksOfOwner(tx, projectId))] : [projectId], lift.by)
  return true
}

/** Removes the marks of suspended projects, which may be deleted, and enables what was disabled because of them. False if there are none. */
export async function liftMarks(tx: Tx, suspended: string[], by: string): Promise<boolean> {
  const heirs = await listHeirs(tx, suspended)
  const removed = await removeMarks(tx, suspended)
  for (const { id, owner } of heirs) {
    const other = await findOwnerMark(tx, owner)
    if (other)
      await sql`update suspensions set ends_at = ${other.until} where project_id = ${id} and until is null and inherited`.execute(tx)
    else await endSuspension(tx, id, { by })
  }
  return removed > 0
}

/** Projects enabled in one run; the next run, a minute later, takes the rest. */
const MAX_ENDED = 1_000

/** Enables projects whose inherited suspension is over. */
export async function endInheritedSuspensions(tx: Tx) {
  const over = await many<{ id: string }>(tx)`
    select project_id as id from suspensions where until is null and ends_at <= now() order by ends_at limit ${MAX_ENDED}
  `
  for (const { id } of over) if (!(await endSuspension(tx, id, { by: 'time' }))) await closeSuspensions(tx, id, 'time')
}

async function endSuspension(tx: Tx, projectId: string, { by, reason }: Lift): Promise<boolean> {
  const enabled = await maybeOne(tx)`
    update projects set disabled = false, disabled_reason = null, updated_at = now()
    where id = ${projectId} and disabled and deleted_at is null ${reason === undefined ? sql`` : sql`and disabled_reason = ${reason}`}
    returning id
  `
  if (!enabled) return false
  await closeSuspensions(tx, projectId, by)
  await recordFacts(tx, [{ projectId, type: 'project.enabled' }])
  return true
}

const closeSuspensions = (tx: Tx, projectId: string, by: string) =>
  sql`update suspensions set until = now(), lifted_by = ${by} where project_id = ${projectId} and until is null`.execute(tx)

/** Sends an account email to each owner of a project. */
export async function tellOwners(
  tx: Tx,
  deps: AccountEmailDeps,
  projectId: string,
  write: (project: string) => { subject: string; lines: string[] },
) {
  const owners = await many<{ email: string; project: string }>(tx)`
    select u.email, p.name as project from memberships m join users u on u.id = m.user_id join projects p on p.id = m.project_id
    where m.project_id = ${projectId} and m.role = 'OWNER' order by u.id limit 100
  `
  // Kept for a month if it cannot be sent: it has no link that expires.
  for (const { email, project } of owners) await enqueueAccountEmail(tx, deps, { to: email, linkHours: 30 * 24, ...write(project) })
}
