import { rollupSums } from './analytics/recount.ts'
import { campaignSums } from './campaigns/ledger/counters.ts'
import { contactLedger } from './contacts/record/counts.ts'
import { emailCountSums } from './delivery/outbox/count-sums.ts'
import { activityLedger } from './events/activities.ts'
import { eventLedger } from './events/counts.ts'
import type { AnyLedger } from './ledger/checks.ts'
import { reputationSums } from './reputation/figures.ts'
import { workflowLedger } from './workflows/executions/figures.ts'

/** Every ledger with deltas of its own, in one list: all are folded. */
export const FOLDED_LEDGERS = [contactLedger, eventLedger, activityLedger, workflowLedger]

/** Everything that is counted, in one list: all are checked and recounted. The last four are added up from the email ledger. */
export const LEDGERS: AnyLedger[] = [...FOLDED_LEDGERS, rollupSums, emailCountSums, reputationSums, campaignSums]
