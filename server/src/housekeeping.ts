import { dropOldAccountEmails } from './account-emails/account-email.ts'
import { dropExpiredSessions } from './auth/sessions.ts'
import { dropExpiredTokens } from './auth/tokens.ts'
import { dropOldReports } from './billing/reports.ts'
import { dropOldStripeEvents } from './billing/webhook.ts'
import { type Pool, type Tx, transact } from './db/index.ts'
import { dropOldSoftBounces } from './delivery/feedback/reports/soft-bounce.ts'
import { dropOldNotifications } from './delivery/feedback/ses/store.ts'
import { clearVars } from './delivery/outbox/clear-vars.ts'
import { dropOldAttachments, dropOldMessages } from './delivery/outbox/retention.ts'
import { dropOldPauses } from './delivery/sender/limits/stored-pauses.ts'
import { dropOldAuditEntries } from './http/audit.ts'
import { dropExpiredKeys } from './http/idempotency.ts'
import { dropEndedAttempts } from './http/limits/quotas.ts'
import { dropOldRequestSources } from './http/request-sources.ts'
import { dropOldJobs } from './jobs/job.ts'
import { dropOldPieces } from './jobs/pieces.ts'
import { runEach } from './lib/concurrency/run-each.ts'
import type { Log } from './lib/process/log.ts'
import { dropOldKeyHashes } from './projects/api-keys/api-key.ts'
import { dropOldEmailCounts } from './projects/email-counts.ts'
import { dropExpiredInvitations } from './projects/members.ts'
import { dropOldMarks } from './projects/suspension-marks.ts'
import { resumeWipes } from './projects/wipe.ts'
import { resumeComputes } from './segments/tracking/queue-compute.ts'
import { dropOldPreviewPages } from './templates/preview-pages.ts'
import { dropOldWorkflowDays } from './workflows/executions/days.ts'
import { dropOldExecutions, dropOldGraphs, dropOldRefusals, refreshListeners } from './workflows/executions/erase.ts'
import { dropOldFirings, resumeFirings } from './workflows/executions/fire.ts'

/** Rows deleted in one transaction. */
const CHUNK = 5_000
/** Pieces of files deleted in one transaction: each may have a megabyte. */
const PIECES_CHUNK = 200
/** Contents whose attachments are deleted in one transaction: attachments have megabytes, and a statement may take 5 s. */
const ATTACHMENTS_CHUNK = 20
/** Graphs deleted in one transaction: each may have a megabyte. */
const GRAPHS_CHUNK = 100

type Retention = { idempotencyTtlHours: number; executionRetentionMonths: number }

/** Everything that is deleted by its age, in one list. A task that fails does not keep the others from running. */
export const runHousekeeping = (db: Pool, log: Log, { idempotencyTtlHours: ttlHours, executionRetentionMonths: months }: Retention) =>
  runEach(
    {
      sessions: () => transact(db, (tx) => dropExpiredSessions(tx)),
      tokens: () => transact(db, (tx) => dropExpiredTokens(tx)),
      'keys before their rotation': () => transact(db, (tx) => dropOldKeyHashes(tx)),
      invitations: () => transact(db, (tx) => dropExpiredInvitations(tx)),
      'account emails': () => transact(db, (tx) => dropOldAccountEmails(tx)),
      attempts: () => transact(db, (tx) => dropEndedAttempts(tx)),
      'recomputations of segments': () => transact(db, (tx) => resumeComputes(tx)),
      wipes: () => transact(db, (tx) => resumeWipes(tx)),
      'idempotency keys': () => dropExpiredKeys(db, ttlHours),
      'files of jobs': () => untilNone(db, (tx) => dropOldPieces(tx, PIECES_CHUNK)),
      jobs: () => untilNone(db, (tx) => dropOldJobs(tx, CHUNK)),
      attachments: () => untilNone(db, (tx) => dropOldAttachments(tx, ATTACHMENTS_CHUNK)),
      'submitted messages': () => untilNone(db, (tx) => dropOldMessages(tx, ATTACHMENTS_CHUNK)),
      'request data': () => untilNone(db, (tx) => clearVars(tx, CHUNK)),
      'audit entries': () => untilNone(db, (tx) => dropOldAuditEntries(tx, CHUNK)),
      'preview pages': () => untilNone(db, (tx) => dropOldPreviewPages(tx, CHUNK)),
      'email counts': () => untilNone(db, (tx) => dropOldEmailCounts(tx, CHUNK)),
      'marks of suspensions': () => untilNone(db, (tx) => dropOldMarks(tx, CHUNK)),
      'usage reports': () => untilNone(db, (tx) => dropOldReports(tx, CHUNK)),
      'notifications of Stripe': () => untilNone(db, (tx) => dropOldStripeEvents(tx, CHUNK)),
      'sources of requests': () => untilNone(db, (tx) => dropOldRequestSources(tx, CHUNK)),
      pauses: () => transact(db, (tx) => dropOldPauses(tx)),
      'soft bounces': () => untilNone(db, (tx) => dropOldSoftBounces(tx, CHUNK)),
      notifications: () => untilNone(db, (tx) => dropOldNotifications(tx, CHUNK)),
      'workflow executions': () => untilNone(db, (tx) => dropOldExecutions(tx, { months, limit: CHUNK })),
      'workflow graphs': () => untilNone(db, (tx) => dropOldGraphs(tx, { months, limit: GRAPHS_CHUNK })),
      'workflow refusals': () => untilNone(db, (tx) => dropOldRefusals(tx, CHUNK)),
      'workflow days': () => untilNone(db, (tx) => dropOldWorkflowDays(tx, CHUNK)),
      'workflow firings': () => untilNone(db, (tx) => dropOldFirings(tx, CHUNK)),
      'firings that stopped': () => transact(db, (tx) => resumeFirings(tx)),
      'listeners of workflows': () => transact(db, (tx) => refreshListeners(tx)),
    },
    log,
  )

async function untilNone(db: Pool, remove: (tx: Tx) => Promise<number>) {
  while ((await transact(db, remove)) > 0);
}
