import type { AccountEmailDeps } from '../account-emails/account-email.ts'
import { type Pool, type Tx, transact } from '../db/index.ts'
import { auditSystem } from '../http/audit.ts'
import { runEach } from '../lib/concurrency/run-each.ts'
import { BY_REPUTATION, disableProject, endInheritedSuspensions, tellOwners } from '../projects/suspensions.ts'
import { readReputation, setReputationsDue, takeDueReputations } from './figures.ts'
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
  const critical = new Set<string>()
  const { log } = options
  await runEach({ 'judge reputations': () => findCritical(db, critical) }, log)
  // One transaction each: to disable a project may take long, and must not undo what was done for others.
  const disable = (projectId: string) => () => transact(db, (tx) => judgeProject(tx, projectId, options))
  await runEach(Object.fromEntries([...critical].map((projectId) => [`judge project ${projectId}`, disable(projectId)])), log)
  await runEach({ 'end inherited suspensions': () => transact(db, (tx) => endInheritedSuspensions(tx)) }, log)
}

/** Adds projects with a critical rate to `critical`. They stay due until they have been judged by themselves. */
async function findCritical(db: Pool, critical: Set<string>) {
  for (let page = 0; page < MAX_PAGES; page++) {
    const due = await transact(db, (tx) => judgeSome(tx, [...critical]))
    for (const { projectId, isCritical } of due) if (isCritical) critical.add(projectId)
    if (due.length < PAGE) return
  }
}

async function judgeSome(tx: Tx, except: string[]) {
  const due = await takeDueReputations(tx, { limit: PAGE, except })
  const judged: { projectId: string; isCritical: boolean }[] = []
  for (const { projectId } of due) judged.push({ projectId, isCritical: judgeRates(await readReputation(tx, projectId)).shouldDisable })
  const critical = judged.flatMap(({ projectId, isCritical }) => (isCritical ? projectId : []))
  await setReputationsDue(tx, critical, true)
  return judged
}

async function judgeProject(tx: Tx, projectId: string, { autoDisable, ...deps }: Options) {
  await setReputationsDue(tx, [projectId], false)
  const { shouldDisable, violations } = judgeRates(await readReputation(tx, projectId))
  if (!shouldDisable || !autoDisable || !(await disableProject(tx, projectId, BY_REPUTATION))) return
  await auditSystem(tx, { projectId, action: 'project.disable', targetId: projectId, changes: [{ field: 'disabled', value: true }] })
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
