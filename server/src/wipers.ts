import { wipeRollups } from './analytics/wipe.ts'
import { wipeBilling } from './billing/meters.ts'
import { CAMPAIGN_WIPERS } from './campaigns/ledger/erase.ts'
import { wipeContactCounts } from './contacts/record/counts.ts'
import { wipeContactFields, wipeContacts } from './contacts/wipe.ts'
import { EMAIL_REST_WIPERS, EMAIL_WIPERS } from './delivery/emails/wipe.ts'
import { wipeDomains } from './domains/wipe.ts'
import { activityLedger, wipeActivities } from './events/activities.ts'
import { eventLedger } from './events/counts.ts'
import { wipeEvents, wipeListeners, wipeReactions } from './events/remove.ts'
import { wipeAudit } from './http/audit.ts'
import { wipeKeyUsage } from './http/auth/key-usage.ts'
import { wipeKeys } from './http/idempotency.ts'
import { wipeJobs } from './jobs/job.ts'
import { wipeLedgerChecks } from './ledger/checks.ts'
import { wipeOpensAndClicks } from './opens-clicks/wipe.ts'
import { PROJECT_WIPERS, type Wiper, wipeApiKeys } from './projects/wipe.ts'
import { wipeReputations } from './reputation/figures.ts'
import { wipeSegmentMembers, wipeSegments } from './segments/wipe.ts'
import { TEMPLATE_WIPERS } from './templates/template.ts'
import { wipeUploads } from './uploads/wipe.ts'
import { WEBHOOK_DELIVERY_WIPERS } from './webhook-endpoints/deliveries.ts'
import { wipeEndpoints } from './webhook-endpoints/endpoint.ts'
import { wipeWebhookMessages, wipeWebhookOutbox } from './webhooks/facts.ts'
import { WORKFLOW_WIPERS } from './workflows/executions/erase.ts'

/** Everything that a project reset or deletion removes, in this order: rows that refer to others come after them. */
export const WIPERS: Wiper[] = [
  wipeKeys,
  wipeKeyUsage,
  wipeAudit,
  wipeApiKeys,
  wipeJobs,
  ...CAMPAIGN_WIPERS,
  ...WORKFLOW_WIPERS,
  wipeSegmentMembers,
  wipeSegments,
  wipeContacts,
  wipeContactFields,
  wipeContactCounts,
  wipeEvents,
  wipeReactions,
  eventLedger.wipe,
  wipeListeners,
  ...TEMPLATE_WIPERS,
  wipeUploads,
  ...EMAIL_WIPERS,
  wipeRollups,
  wipeActivities,
  activityLedger.wipe,
  wipeOpensAndClicks,
  ...EMAIL_REST_WIPERS,
  wipeDomains,
  ...PROJECT_WIPERS,
  wipeReputations,
  wipeBilling,
  wipeWebhookOutbox,
  ...WEBHOOK_DELIVERY_WIPERS,
  wipeWebhookMessages,
  wipeEndpoints,
  wipeLedgerChecks,
]
