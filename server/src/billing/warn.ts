import type { AccountEmailDeps } from '../account-emails/account-email.ts'
import type { Tx } from '../db/index.ts'
import { takeUsageWarnings } from '../projects/caps.ts'
import { type EmailCount, isUsage } from '../projects/email-counts.ts'
import { tellOwners } from '../projects/suspensions.ts'

/** Tells owners that the usage of a category has reached 80 or 100 % of its limit. */
export const createUsageWarner = (deps: AccountEmailDeps) =>
  async function warnOwners(tx: Tx, changes: EmailCount[]) {
    const projectIds = [...new Set(changes.filter(({ kind, n }) => isUsage(kind) && n > 0).map(({ projectId }) => projectId))]
    if (!projectIds.length) return
    for (const { projectId, category, percent, limit, used } of await takeUsageWarnings(tx, projectIds))
      await tellOwners(tx, deps, projectId, (project) => ({
        subject: percent === 100 ? `${project} has reached a limit` : `${project} has used ${percent}% of a limit`,
        lines: [
          `Category: ${category}. Used in this period: ${used} of ${limit} emails.`,
          '',
          percent === 100
            ? 'Further emails of this category are refused until the limit is raised or the next period begins.'
            : 'Emails beyond the limit will be refused until it is raised or the next period begins.',
          '',
          `See ${deps.publicUrl}/app/p/${projectId}/settings/billing`,
        ],
      }))
  }
