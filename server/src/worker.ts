import { dropOldAccountMails } from './account-emails/account-email.ts'
import { dropExpiredSessions } from './auth/sessions.ts'
import { dropExpiredTokens } from './auth/tokens.ts'
import { continueBulk } from './contacts/bulk.ts'
import { compactCounts } from './contacts/counts.ts'
import { continueDeleteField } from './contacts/delete-field.ts'
import { countFields } from './contacts/fields.ts'
import { continueImport } from './contacts/import.ts'
import { wipeContactFacts, wipeContacts } from './contacts/wipe.ts'
import { connect, type Pool, transact } from './db/index.ts'
import type { Presence } from './db/presence.ts'
import {
  wipeContents,
  wipeEmails,
  wipeNotifications,
  wipePauses,
  wipeSandbox,
  wipeSoftBounces,
  wipeSuppressions,
} from './delivery/emails/wipe.ts'
import { startNotifications } from './delivery/feedback/ses/apply.ts'
import { dropOldNotifications } from './delivery/feedback/ses/store.ts'
import { dropOldSoftBounces } from './delivery/feedback/soft-bounce.ts'
import { clearVars } from './delivery/outbox/clear-vars.ts'
import { dropOldAttachments } from './delivery/outbox/retention.ts'
import { startAccountEmails } from './delivery/sender/account-emails.ts'
import { startSender } from './delivery/sender/loop.ts'
import { dropOldPauses } from './delivery/sender/pauses.ts'
import { createSandboxTransport } from './delivery/transport/sandbox.ts'
import { createSesTransport } from './delivery/transport/ses.ts'
import { createSmtpTransport } from './delivery/transport/smtp.ts'
import type { Transport } from './delivery/transport/transport.ts'
import { checkDueDomains } from './domains/check-due.ts'
import { forgetIdentity } from './domains/forget-identity.ts'
import { wipeDomains } from './domains/wipe.ts'
import { mergeDeltas } from './events/counts.ts'
import { continueDeleteName } from './events/delete-name.ts'
import { createPartitions, dropOldEvents } from './events/partitions.ts'
import { removeContactEvents, sweepEvents, wipeEventCounts, wipeEvents, wipeListeners, wipeReactions } from './events/remove.ts'
import { dropExpiredKeys, wipeKeys } from './http/idempotency.ts'
import { dropEndedAttempts } from './http/quotas.ts'
import type { Deps } from './http/server.ts'
import { startListener } from './inbound/listener.ts'
import { type Cron, type Handlers, startEngine } from './jobs/engine.ts'
import { dropOldJobs, wipeJobs } from './jobs/job.ts'
import { accountMailsLeave, type Config, lacksSender, WITHOUT_SENDER } from './lib/config.ts'
import type { Log } from './lib/log.ts'
import { runEach } from './lib/run-each.ts'
import { wipeOpensAndClicks } from './opens-clicks/wipe.ts'
import { dropExpiredInvitations } from './projects/members.ts'
import { resumeWipes, type Wiper, wipeProject } from './projects/wipe.ts'
import { wipeTemplates } from './templates/template.ts'
import { openStorage, type Storage } from './uploads/storage.ts'
import { wipeUploads } from './uploads/wipe.ts'

const CHUNK = 5_000
/** Two batches of marks and two of settlements at once. */
const SENDER_CONNECTIONS = 4

/** What a project reset or deletion removes, in one list. */
const WIPERS: Wiper[] = [
  wipeKeys,
  wipeJobs,
  wipeContacts,
  wipeContactFacts,
  wipeEvents,
  wipeReactions,
  wipeEventCounts,
  wipeListeners,
  wipeTemplates,
  wipeUploads,
  wipeEmails,
  wipeOpensAndClicks,
  wipeContents,
  wipeSandbox,
  wipePauses,
  wipeSuppressions,
  wipeSoftBounces,
  wipeNotifications,
  wipeDomains,
]

/** Every background job, in one list. */
const handlersFor = ({ db, config, log }: Deps, storage: Storage): Handlers => ({
  'contacts.bulk': (job) => continueBulk(db, job),
  'contacts.import': (job) => continueImport(db, job),
  'contacts.delete-field': (job) => continueDeleteField(db, job),
  'contacts.count-fields': ({ projectId }) => countFields(db, projectId),
  'domains.check-due': () => checkDueDomains({ db, config, log }),
  'domains.remove-identity': ({ domain }) => forgetIdentity({ db, config }, domain),
  'events.delete-name': (job) => continueDeleteName(db, job),
  'events.forget-contacts': (what) => removeContactEvents(db, what),
  'projects.wipe': (wipe) => wipeProject(db, wipe, { wipers: WIPERS, sweep: sweepEvents }),
  'uploads.remove': ({ keys }) => storage.remove(keys),
})

/** Everything that happens by the clock, once per time over all nodes, in one list. */
const cronsFor = ({ db, config, log }: Deps): Cron[] => [
  { name: 'cron.housekeeping', match: '7 * * * *', run: () => runHousekeeping(db, log, config.idempotencyTtlHours) },
  { name: 'cron.compact-counts', match: '* * * * *', run: () => transact(db, (tx) => compactCounts(tx)) },
  { name: 'cron.add-up-events', match: '* * * * *', run: () => transact(db, (tx) => mergeDeltas(tx)) },
  { name: 'cron.check-domains', match: '* * * * *', run: () => checkDueDomains({ db, config, log }) },
  { name: 'cron.event-partitions', match: '3 * * * *', run: () => keepPartitions(db, log, config.eventRetentionMonths) },
]

export async function startWorker(deps: Deps, { url, presence }: { url: string; presence: Presence }) {
  const { key: livenessKey, isHeld } = presence
  if (lacksSender(deps.config)) deps.log.warn({}, WITHOUT_SENDER)
  await createPartitions(deps.db, deps.log)
  // First, because its port may be taken: then nothing else has begun.
  const listener = await listenForMail(deps)
  const handlers = handlersFor(deps, openStorage(deps.config))
  const engine = await startEngine({ url, livenessKey, isHeld, db: deps.db, log: deps.log, handlers, crons: cronsFor(deps) })
  const way = outgoingEmail(deps)
  const ownDb = connect({ url, max: SENDER_CONNECTIONS, log: deps.log })
  const sender = await startSender({ ...deps, ownDb, url, worker: livenessKey, isHeld, ...way })
  const accountMails = sendAccountMails(deps, way.transport, presence)
  const notifications = startNotifications(deps)
  return {
    async stop() {
      await Promise.all([engine.stop(), notifications.stop(), listener?.stop(), accountMails?.stop(), sender.stop()])
      await Promise.all([way.transport.close(), ownDb.destroy()])
    },
  }
}

/** In the workers: what comes in is as bursty as what goes out, and those who call the API should not notice. */
const listenForMail = ({ config: { inbound, bounceDomain, publicUrl }, db, secrets, log }: Deps) =>
  inbound && startListener({ db, secrets, log, inbound, bounceDomain, name: bounceDomain ?? new URL(publicUrl).hostname })

/** How mail leaves this installation. */
export const outgoingEmail = ({ config, db }: Deps) => ({
  transport: transportFor(config, db),
  publicUrl: config.publicUrl,
  signs: config.mailMode !== 'ses',
  // Amazon SES has return paths of its own.
  bounceDomain: config.mailMode === 'smtp' ? config.bounceDomain : undefined,
  ratePerSecond: config.sendRatePerSecond,
})

function transportFor({ ses, smtpUrl, publicUrl }: Config, db: Pool): Transport {
  if (ses) return createSesTransport(ses)
  return smtpUrl ? createSmtpTransport({ url: smtpUrl, name: new URL(publicUrl).hostname }) : createSandboxTransport(db)
}

const sendAccountMails = ({ config, ...deps }: Deps, transport: Transport, { key: worker, isHeld }: Presence) =>
  config.mailFrom && accountMailsLeave(config)
    ? startAccountEmails({ ...deps, worker, isHeld, transport, from: config.mailFrom })
    : undefined

type Removal = Parameters<typeof transact<number>>[1]

async function untilNone(db: Pool, remove: Removal) {
  while ((await transact(db, remove)) > 0);
}

async function keepPartitions(db: Pool, log: Log, months: number) {
  await createPartitions(db, log)
  await dropOldEvents(db, log, { months })
}

/** Contents whose files are deleted together. Files have megabytes, and a statement has five seconds. */
const FILES_CHUNK = 20

const runHousekeeping = (db: Pool, log: Log, ttlHours: number) =>
  runEach(
    {
      sessions: () => transact(db, (tx) => dropExpiredSessions(tx)),
      tokens: () => transact(db, (tx) => dropExpiredTokens(tx)),
      invitations: () => transact(db, (tx) => dropExpiredInvitations(tx)),
      'account emails': () => transact(db, (tx) => dropOldAccountMails(tx)),
      attempts: () => transact(db, (tx) => dropEndedAttempts(tx)),
      wipes: () => transact(db, (tx) => resumeWipes(tx)),
      'idempotency keys': () => dropExpiredKeys(db, ttlHours),
      jobs: () => untilNone(db, (tx) => dropOldJobs(tx, CHUNK)),
      attachments: () => untilNone(db, (tx) => dropOldAttachments(tx, FILES_CHUNK)),
      'request data': () => untilNone(db, (tx) => clearVars(tx, CHUNK)),
      pauses: () => transact(db, (tx) => dropOldPauses(tx)),
      'soft bounces': () => untilNone(db, (tx) => dropOldSoftBounces(tx, CHUNK)),
      notifications: () => untilNone(db, (tx) => dropOldNotifications(tx, CHUNK)),
    },
    log,
  )
