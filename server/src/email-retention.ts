import { closeOldCampaigns } from './campaigns/ledger/close.ts'
import { type Pool, scalars, type Tx, transact } from './db/index.ts'
import { removeEmails, removeSandboxMessages } from './delivery/outbox/retention.ts'
import { tryLock } from './ledger/locks.ts'
import { NIL_ID } from './lib/id.ts'
import type { Log } from './lib/process/log.ts'
import { forgetOpensAndClicks } from './opens-clicks/wipe.ts'
import { noteEmailsRemoved } from './projects/email-counts.ts'

/** Emails looked at in one transaction: a tenth of a second. */
const PAGE = 2_000
const PROJECTS = 1_000
/** Time of one run; the next one, an hour later, goes on. */
const RUN_MS = 60_000

type Run = { before: Date; deadline: number }

/**
 * Removes emails older than EMAIL_RETENTION_MONTHS: those of the current month and that many before it stay. In pages of one project after the
 * other, each in a short transaction. Counters of campaigns are closed first; what was counted from emails elsewhere stays.
 */
export async function removeOldEmails(db: Pool, log: Log, { months, now = new Date() }: { months: number; now?: Date }) {
  if (months === 0) return
  const before = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1))
  const run: Run = { before, deadline: performance.now() + RUN_MS }
  await closeOldCampaigns(db, log, before)
  let removed = 0
  for (let after: string | undefined = NIL_ID; after !== undefined; ) {
    const projects: string[] = await scalars<string>(db)`
      select id from projects where id > ${after} and deleted_at is null order by id limit ${PROJECTS}
    `
    for (const projectId of projects) removed += await removeEmailsOf(db, projectId, run)
    after = projects.length === PROJECTS ? projects.at(-1) : undefined
  }
  if (removed) log.info({ removed, before }, 'removed emails older than EMAIL_RETENTION_MONTHS')
}

async function removeEmailsOf(db: Pool, projectId: string, { before, deadline }: Run) {
  let removed = 0
  for (let after: string | null = NIL_ID; after !== null && performance.now() < deadline; ) {
    const from: string = after
    const page = await transact(db, (tx) => removePage(tx, projectId, { after: from, before }))
    removed += page.removed.length
    after = page.last
  }
  await transact(db, (tx) => removeSandboxMessages(tx, projectId, before))
  return removed
}

async function removePage(tx: Tx, projectId: string, { after, before }: { after: string; before: Date }) {
  // Two runs at once could each leave a content to the other.
  if (!(await tryLock(tx, 'email retention', ''))) return { last: null, removed: [] }
  const page = await removeEmails(tx, { projectId, after, before, limit: PAGE })
  if (!page.removed.length) return page
  await forgetOpensAndClicks(tx, projectId, page.removed)
  await noteEmailsRemoved(tx, projectId)
  return page
}
