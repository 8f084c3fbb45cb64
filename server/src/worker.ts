import { accountEmailDeps } from './account-emails/account-email.ts'
import { EVERYTHING_DUE, type WorkerAgenda, type WorkerTask } from './agenda.ts'
import { addToRollups } from './analytics/fold.ts'
import { trimDomains } from './analytics/trim-domains.ts'
import { addToMeters } from './billing/meters.ts'
import { type ReportDeps, reportUsage, sendReports } from './billing/reports.ts'
import { endSubscription, syncCustomer } from './billing/sync.ts'
import { createUsageWarner } from './billing/warn.ts'
import { continueApplyBrand } from './campaigns/draft/apply-brand.ts'
import { continueCopyToSegment } from './campaigns/ledger/copy-to-segment.ts'
import { addToCampaigns, lockCampaigns } from './campaigns/ledger/counters.ts'
import { campaignExport } from './campaigns/ledger/export.ts'
import { type CampaignIntervals, startCampaignWork } from './campaigns/sending/work.ts'
import { continueBulk } from './contacts/bulk.ts'
import { contactExport } from './contacts/csv/export.ts'
import { continueImport } from './contacts/csv/import.ts'
import { continueDeleteField } from './contacts/fields/delete-field.ts'
import { countFields } from './contacts/fields/fields.ts'
import type { Outages } from './db/connections/outages.ts'
import { connect, type Pool, transact } from './db/index.ts'
import { type WhenReachable, withoutWaiting } from './db/when-reachable.ts'
import { emailExport } from './delivery/emails/export.ts'
import { suppressionExport } from './delivery/emails/export-suppressions.ts'
import { startNotifications } from './delivery/feedback/ses/apply.ts'
import { countUnsubscription } from './delivery/feedback/unsubscription.ts'
import { KEYED_PLANS } from './delivery/outbox/keyed-plans.ts'
import { createEmailFold, type EmailFolds } from './delivery/outbox/outcomes/email-ledger.ts'
import { startAccountEmails } from './delivery/sender/account-emails.ts'
import { startSender } from './delivery/sender/loop.ts'
import type { SenderTiming } from './delivery/sender/timing.ts'
import { createSandboxTransport } from './delivery/transport/sandbox.ts'
import { createSesTransport } from './delivery/transport/ses.ts'
import { createSmtpTransport } from './delivery/transport/smtp.ts'
import type { Transport } from './delivery/transport/transport.ts'
import { checkDueLinkHosts } from './domains/link-hosts/check-link-host.ts'
import { checkDueDomains } from './domains/sender-domains/check-due.ts'
import { removeIdentity } from './domains/sender-domains/remove.ts'
import { removeOldEmails } from './email-retention.ts'
import { dropOldActivities } from './events/activities.ts'
import { continueDeleteName } from './events/delete-name.ts'
import { type ReactionHandler, startDispatcher } from './events/dispatch.ts'
import { createPartitions, dropOldEvents } from './events/partitions.ts'
import { removeContactEvents, sweepEvents } from './events/remove.ts'
import { runHousekeeping } from './housekeeping.ts'
import type { Deps } from './http/core/types.ts'
import { startListener } from './inbound/listener.ts'
import { type Cron, type Handlers, startEngine } from './jobs/engine.ts'
import { checkLedgers } from './ledger/checks.ts'
import { FOLDED_LEDGERS, LEDGERS } from './ledgers.ts'
import { every } from './lib/concurrency/every.ts'
import { runEach } from './lib/concurrency/run-each.ts'
import { type Config, lacksMailFrom, type StripeConfig, sendsAccountEmails, WITHOUT_MAIL_FROM } from './lib/config.ts'
import { createDns } from './lib/network/dns.ts'
import { createSafeFetch } from './lib/network/safe-fetch.ts'
import type { Log } from './lib/process/log.ts'
import type { Presence } from './nodes/presence.ts'
import { watchSendingHold } from './nodes/sending-hold.ts'
import { continueCsvExport } from './projects/csv/csv-export.ts'
import { createCountsFold } from './projects/email-counts.ts'
import { wipeProject } from './projects/wipe.ts'
import { addToReputations } from './reputation/figures.ts'
import { judgeDueProjects } from './reputation/judge-due.ts'
import { countStaleSegments } from './segments/evaluation/counts.ts'
import { continueCopyingMembers } from './segments/members/copy-members.ts'
import { segmentAccess } from './segments/members/selection.ts'
import { continueCompute, forgetMembers } from './segments/tracking/compute.ts'
import { recheckSegments } from './segments/tracking/recheck.ts'
import { startSweep } from './segments/tracking/sweep.ts'
import { openStorage, type Storage } from './uploads/storage.ts'
import { startDeliveries } from './webhook-endpoints/deliver.ts'
import { startFanOut } from './webhook-endpoints/fan-out.ts'
import { continueReplay } from './webhook-endpoints/replay.ts'
import { abandonDeliveries, createWebhookPartitions, dropOldWebhooks, forgetEndpoint } from './webhook-endpoints/retention.ts'
import { checkBacklogs } from './webhook-endpoints/switch-off.ts'
import { countCalls } from './webhooks/calls.ts'
import { webhookTargetOf } from './webhooks/target-of.ts'
import { WIPERS } from './wipers.ts'
import { startWorkflowEngine } from './workflows/executions/engine.ts'
import { continueErasing } from './workflows/executions/erase.ts'
import { continueFiring, startFirings } from './workflows/executions/fire.ts'
import { reactForWorkflows } from './workflows/executions/react.ts'
import { startWebhooks } from './workflows/webhooks/webhooks.ts'

/** Enough for three batches of marks and three of settlements at once, one of each for bulk. */
const SENDER_CONNECTIONS = 6

/** Every background job, in one list. */
const handlersFor = ({ db, config, log }: Deps, storage: Storage, mayLeave: () => boolean): Handlers => ({
  // Without settings of Stripe, what it has notified of can wait until they are back: its state is read from Stripe.
  'billing.cancel': async (cancellation) => config.stripe && endSubscription({ db, log, mayLeave }, config.stripe, cancellation),
  'billing.sync': async ({ customer }) => config.stripe && syncAndReport({ db, log, mayLeave }, config.stripe, customer),
  'campaigns.apply-brand': (job) => continueApplyBrand(db, job),
  'campaigns.copy-to-segment': (job) => continueCopyToSegment(db, job),
  'campaigns.export': (job) => continueCsvExport(db, campaignExport, job),
  'contacts.bulk': (job) => continueBulk(db, segmentAccess, job),
  'contacts.import': (job) => continueImport({ db, segments: segmentAccess }, job),
  'contacts.export': (job) => continueCsvExport(db, contactExport(segmentAccess), job),
  'contacts.delete-field': (job) => continueDeleteField(db, job),
  'contacts.count-fields': ({ projectId }) => countFields(db, projectId),
  'delivery.count-unsubscription': (unsubscription) => transact(db, (tx) => countUnsubscription(tx, unsubscription)),
  'delivery.export-emails': (job) => continueCsvExport(db, emailExport, job),
  'delivery.export-suppressions': (job) => continueCsvExport(db, suppressionExport, job),
  'domains.check-due': () => checkDueDomains({ db, config, log }),
  'domains.remove-identity': ({ domain }) => removeIdentity({ db, config }, domain),
  'events.delete-name': (job) => continueDeleteName(db, job),
  'events.forget-contacts': (what) => removeContactEvents(db, what),
  'projects.wipe': (wipe) => wipeProject(db, wipe, { wipers: WIPERS, sweep: sweepEvents }),
  'segments.compute': (job) => continueCompute(db, job),
  'segments.copy-members': (copy) => continueCopyingMembers(db, copy),
  'segments.count': (what) => countStaleSegments(db, what),
  'segments.forget-members': (segment) => forgetMembers(db, segment),
  'uploads.remove': ({ keys }) => storage.remove(keys),
  'webhooks.abandon': (endpoint) => abandonDeliveries(db, endpoint),
  'webhooks.forget': (endpoint) => forgetEndpoint(db, endpoint),
  'webhooks.replay': (job) => continueReplay(db, job),
  'workflows.erase': (workflow) => continueErasing(db, workflow),
  'workflows.fire': (firing) => continueFiring(db, firing),
})

/** At once, since Stripe finalises the last invoice of a subscription an hour after its end. */
async function syncAndReport(deps: ReportDeps, stripe: StripeConfig, customer: string) {
  await syncCustomer(deps.db, stripe, customer)
  await sendReports(deps, stripe)
}

/** The handler of reactions for each kind of listener, in one list. */
const reactionHandlers: Record<string, ReactionHandler> = { segment: recheckSegments, workflow: reactForWorkflows }

const foldAll = (db: Pool, log: Log) => runEach(Object.fromEntries(FOLDED_LEDGERS.map(({ name, fold }) => [name, () => fold(db)])), log)

/** Every scheduled task, in one list. Each runs once per time over all nodes. */
const cronsFor = ({ db, config, log, secrets }: Deps, mayLeave: () => boolean): Cron[] => [
  { name: 'cron.housekeeping', match: '7 * * * *', run: () => runHousekeeping(db, log, config) },
  { name: 'cron.fold-ledgers', match: '* * * * *', run: () => foldAll(db, log) },
  { name: 'cron.check-ledgers', match: '41 * * * *', run: () => checkLedgers(db, log, LEDGERS) },
  { name: 'cron.trim-domains', match: '11 * * * *', run: () => trimDomains(db) },
  { name: 'cron.check-domains', match: '* * * * *', run: () => checkDueDomains({ db, config, log }) },
  { name: 'cron.check-link-hosts', match: '* * * * *', run: () => checkDueLinkHosts(linkHostDeps({ db, config, log, secrets })) },
  { name: 'cron.email-retention', match: '23 * * * *', run: () => removeOldEmails(db, log, { months: config.emailRetentionMonths }) },
  { name: 'cron.event-partitions', match: '3 * * * *', run: () => keepPartitions(db, log, config.eventRetentionMonths) },
  {
    name: 'cron.judge-reputations',
    match: '* * * * *',
    run: () => judgeDueProjects(db, { ...accountEmailDeps({ config, log, secrets }), autoDisable: config.autoDisable }),
  },
  { name: 'cron.webhook-retention', match: '17 * * * *', run: () => keepWebhooks(db, log) },
  {
    name: 'cron.webhook-backlogs',
    match: '* * * * *',
    run: async () => mayLeave() && checkBacklogs(db, accountEmailDeps({ config, log, secrets })),
  },
  { name: 'cron.report-usage', match: '*/5 * * * *', run: async () => config.stripe && reportUsage({ db, log, mayLeave }, config.stripe) },
]

/** `timing`, `intervals` and `withSchedule` are for tests: no setting changes them. */
type Options = {
  url: string
  presence: Presence
  timing?: Partial<SenderTiming>
  intervals?: WorkerIntervals
  withSchedule?: boolean
  agenda?: WorkerAgenda
  reach?: WhenReachable
  outages?: Outages
}
export type WorkerIntervals = { campaigns?: CampaignIntervals; notificationsMs?: number; timeoutAfterMs?: number }

export async function startWorker(
  deps: Deps,
  { url, presence, timing = {}, intervals = {}, withSchedule = true, agenda = EVERYTHING_DUE, reach = withoutWaiting, outages }: Options,
) {
  const { key: livenessKey, isHeld } = presence
  const dueIf =
    (...tasks: WorkerTask[]) =>
    () =>
      tasks.some((task) => agenda.isDue(task))
  const heldAndDue =
    (...tasks: WorkerTask[]) =>
    () =>
      isHeld() && dueIf(...tasks)()
  if (lacksMailFrom(deps.config)) deps.log.warn({}, WITHOUT_MAIL_FROM)
  await reach('create partitions', async () => {
    await createPartitions(deps.db, deps.log)
    await createWebhookPartitions(deps.db, deps.log)
  })
  // First, because its port may be taken: then nothing else was started.
  const listener = await listenForEmail(deps)
  // Everything that leaves the installation asks `mayLeave`, and what decides what is going to leave: steps, schedules, campaigns.
  const hold = await watchSendingHold(deps.db, deps.log)
  const mayLeave = () => isHeld() && hold.mayLeave()
  const engine = await startEngine({
    ...deps,
    url,
    livenessKey,
    isHeld,
    handlers: handlersFor(deps, openStorage(deps.config), hold.mayLeave),
    crons: cronsFor(deps, hold.mayLeave),
    withSchedule,
    isDue: dueIf('jobs'),
    reach,
  })
  const dispatcher = await startDispatcher({ ...deps, url, isHeld, handlers: reactionHandlers, isDue: dueIf('reactions') })
  const outgoing = outgoingEmail(deps)
  const ownDb = connect({ url, max: SENDER_CONNECTIONS, log: deps.log, name: 'sender', settings: KEYED_PLANS, outages })
  const sender = await startSender({
    ...deps,
    ownDb,
    url,
    worker: livenessKey,
    isHeld: mayLeave,
    isSendingHeld: () => !hold.mayLeave(),
    failover: deps.config.failover,
    isDue: agenda.isDue,
    timing,
    reach,
    ...outgoing,
  })
  const safeFetch = countCalls(createSafeFetch(createDns({ servers: deps.config.dnsServers }), webhookTargetOf(deps.config)))
  const deliveries = startDeliveries({
    ...deps,
    isHeld: mayLeave,
    safeFetch,
    accountEmails: accountEmailDeps(deps),
    isDue: dueIf('webhookBatches', 'webhookDeliveries'),
  })
  const { campaigns, notificationsMs, timeoutAfterMs } = intervals
  const running = [
    listener,
    engine,
    dispatcher,
    hold,
    sender,
    deliveries,
    sendAccountEmails(deps, outgoing.transport, {
      key: livenessKey,
      isHeld: () => mayLeave() && dueIf('queuedAccountEmails', 'keptAccountEmails', 'accountEmailsInHand')(),
    }),
    startNotifications(deps, notificationsMs, dueIf('notifications')),
    startSweep(deps.db, deps.log, heldAndDue('dueContactsOfSegments', 'windowsOfSegments')),
    startCampaignWork({ ...deps, isHeld: heldAndDue('scheduledCampaigns', 'campaignsAtWork'), mayStart: mayLeave, intervals: campaigns }),
    startWorkflowEngine({ ...deps, url, isHeld: mayLeave, timeoutAfterMs, isDue: dueIf('executions') }),
    startWebhooks({ ...deps, isHeld: mayLeave, safeFetch, isDue: dueIf('webhookSteps') }),
    startFanOut({ ...deps, isHeld, onFannedOut: deliveries.wake, isDue: dueIf('webhookFacts') }),
    startFirings(deps.db, deps.log, () => mayLeave() && dueIf('firings')()),
    addUpEmailsEvery(campaigns?.countMs ?? ADD_UP_MS, deps, heldAndDue('emailLedger')),
  ]
  return {
    async stop() {
      await Promise.all(running.map((part) => part?.stop()))
      await sender.leave()
      await Promise.all([outgoing.transport.close(), ownDb.destroy()])
    },
  }
}

/** Counters of campaigns and roll-ups are this far behind. Checks of caps read what is not added up yet, so this must not be much. */
const ADD_UP_MS = 1_000

/** Consumers of the email ledger, in one list. */
const emailFoldsFor = (deps: Deps): EmailFolds => ({
  rollups: addToRollups,
  counts: createCountsFold([addToReputations, addToMeters, createUsageWarner(accountEmailDeps(deps))]),
  counters: addToCampaigns,
  lockCampaigns,
})

export function addUpEmailsEvery(ms: number, deps: Deps, isHeld: () => boolean) {
  const fold = createEmailFold(deps.db, deps.log, emailFoldsFor(deps))
  return every(
    ms,
    'add up emails',
    async () => {
      if (isHeld()) await fold()
    },
    deps.log,
  )
}

/** In workers, not in API nodes: inbound email arrives in bursts, which must not slow down API requests. */
const listenForEmail = ({ config: { inbound, bounceDomain, publicUrl }, db, secrets, log }: Deps) =>
  inbound && startListener({ db, secrets, log, inbound, bounceDomain, name: bounceDomain ?? new URL(publicUrl).hostname })

/** How this installation sends email. */
export const outgoingEmail = ({ config, db }: Deps) => ({
  transport: transportFor(config, db),
  publicUrl: config.publicUrl,
  signs: config.signsMessages,
  // Amazon SES has return paths of its own.
  bounceDomain: config.transportKind === 'smtp' ? config.bounceDomain : undefined,
  ratePerSecond: config.sendRatePerSecond,
  connections: config.smtpConnections,
})

function transportFor({ ses, smtpUrl, publicUrl, sandboxDelivers }: Config, db: Pool): Transport {
  if (ses) return createSesTransport(ses)
  return smtpUrl
    ? createSmtpTransport({ url: smtpUrl, name: new URL(publicUrl).hostname })
    : createSandboxTransport(db, { delivers: sandboxDelivers })
}

const sendAccountEmails = ({ config, ...deps }: Deps, transport: Transport, { key: worker, isHeld }: Pick<Presence, 'key' | 'isHeld'>) =>
  config.mailFrom && sendsAccountEmails(config)
    ? startAccountEmails({ ...deps, worker, isHeld, transport, from: config.mailFrom })
    : undefined

const linkHostDeps = ({ db, config, log, secrets }: Deps) => ({
  db,
  log,
  secrets,
  dns: createDns({ servers: config.dnsServers }),
  publicUrl: config.publicUrl,
})

async function keepWebhooks(db: Pool, log: Log) {
  await createWebhookPartitions(db, log)
  await dropOldWebhooks(db)
}

async function keepPartitions(db: Pool, log: Log, months: number) {
  await createPartitions(db, log)
  await dropOldEvents(db, log, { months })
  while ((await transact(db, (tx) => dropOldActivities(tx, { months, limit: 5_000 }))) > 0);
}
