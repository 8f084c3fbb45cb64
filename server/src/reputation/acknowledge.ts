import { type Db, maybeOne, scalar, type Tx } from '../db/index.ts'
import { fail } from '../lib/errors/errors.ts'
import { isOperator } from '../projects/operators.ts'
import { BY_REPUTATION, enableProject, findInherited, liftMarks } from '../projects/suspensions.ts'
import { lockAcknowledgement, startAnew } from './figures.ts'
import { ACKNOWLEDGE_DAYS } from './security.ts'

type Person = { userId: string; email: string }

/** The figures count from now on, and a project that was disabled because of them is enabled. An owner may do this once in 30 days. */
export async function acknowledge(tx: Tx, projectId: string, { userId, email }: Person) {
  const { at, isRecent } = await lockAcknowledgement(tx, projectId)
  const inherited = await findInherited(tx, projectId)
  if (inherited && !(await isOperator(tx, userId)))
    fail('FORBIDDEN', {
      message: 'This project is disabled because another project of its owner was suspended. Only an operator may lift this earlier.',
      details: { until: inherited.endsAt.toISOString() },
    })
  if (isRecent && !(await isOperator(tx, userId)))
    fail('FORBIDDEN', {
      message: `This was acknowledged less than ${ACKNOWLEDGE_DAYS} days ago. Until then only an operator may do it again.`,
      details: { acknowledgedAt: at!.toISOString() },
    })
  await startAnew(tx, projectId, email)
  await enableProject(tx, projectId, { by: email, reason: BY_REPUTATION })
}

/** Whether there is something to lift: a disabled project, or what one has left behind. */
export const isSuspended = (db: Db, projectId: string) =>
  scalar<boolean>(db)`
    select exists (select from projects where id = ${projectId} and deleted_at is null and disabled)
      or exists (select from suspended_owners where suspended = ${projectId})
      or exists (select from suspended_domains where suspended = ${projectId})
  `

/**
 * An operator lifts a suspension: its project, if it still exists, sends again, and the marks on domains and owner are removed. False if
 * there is nothing to lift.
 */
export async function liftSuspension(tx: Tx, projectId: string, by: string): Promise<boolean> {
  const exists = await maybeOne(tx)`select 1 from projects where id = ${projectId} and deleted_at is null and disabled`
  if (!exists) return liftMarks(tx, [projectId], by)
  // Otherwise it would be disabled again within a minute.
  await startAnew(tx, projectId, by)
  return enableProject(tx, projectId, { by })
}
