import type { Tx } from '../db/index.ts'
import { fail } from '../lib/errors.ts'
import { isOperator } from '../projects/operators.ts'
import { BY_REPUTATION, enableProject } from '../projects/suspensions.ts'
import { lockAcknowledgement, startAnew } from './figures.ts'
import { ACKNOWLEDGE_DAYS } from './security.ts'

type Person = { userId: string; email: string }

/** The figures count from now on, and a project that was disabled because of them is enabled. An owner may do this once in 30 days. */
export async function acknowledge(tx: Tx, projectId: string, { userId, email }: Person) {
  const { at, isRecent } = await lockAcknowledgement(tx, projectId)
  if (isRecent && !(await isOperator(tx, userId)))
    fail('FORBIDDEN', {
      message: `This was acknowledged less than ${ACKNOWLEDGE_DAYS} days ago. Until then only an operator may do it again.`,
      details: { acknowledgedAt: at!.toISOString() },
    })
  await startAnew(tx, projectId, email)
  await enableProject(tx, projectId, { by: email, reason: BY_REPUTATION })
}
