import type { AccountEmailDeps } from '../account-emails/account-email.ts'
import { type Pool, type Tx, transact } from '../db/index.ts'
import { BY_REPUTATION, disableProject, endInheritedSuspensions, tellOwners } from '../projects/suspensions.ts'
import { readReputation, takeDueReputations } from './figures.ts'
import { judgeRates } from './levels.ts'

/** Projects judged in one transaction. */
const PAGE = 50
/** Transactions of one run; the next run, a minute later, takes the rest. */
const MAX_PAGES = 40

type Options = { autoDisable: boolean } & AccountEmailDeps

/**
 * Judges every project whose emails were counted since it was judged, and disables those with a critical rate. Enables projects that were
 * disabled because of another one, when that is over.
 */
export async function judgeDueProjects(db: Pool, options: Options) {
  await transact(db, (tx) => endInheritedSuspensions(tx))
  for (let page = 0; page < MAX_PAGES; page++) if ((await transact(db, (tx) => judgeSome(tx, options))) < PAGE) return
}

async function judgeSome(tx: Tx, options: Options) {
  const due = await takeDueReputations(tx, PAGE)
  for (const { projectId } of due) await judgeProject(tx, projectId, options)
  return due.length
}

async function judgeProject(tx: Tx, projectId: string, { autoDisable, ...deps }: Options) {
  const { shouldDisable, violations } = judgeRates(await readReputation(tx, projectId))
  if (!shouldDisable || !autoDisable || !(await disableProject(tx, projectId, BY_REPUTATION))) return
  deps.log.warn({ projectId, violations }, 'a project was disabled because of its reputation')
  await tellOwners(tx, deps, projectId, (project) => ({
    subject: `Sending of ${project} is stopped`,
    lines: [
      `Too many emails of the project "${project}" bounced or were marked as spam, so it was disabled:`,
      '',
      ...violations.map((violation) => `- ${violation}`),
      '',
      'Nothing is lost: emails that wait are sent when the project is enabled again. Before that, remove the addresses that bounced, and',
      'write only to people who asked for it. Then acknowledge the figures:',
      '',
      `${deps.publicUrl}/app/p/${projectId}/settings/security`,
    ],
  }))
}
