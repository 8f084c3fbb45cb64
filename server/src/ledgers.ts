import { contactLedger } from './contacts/counts.ts'
import { activityLedger } from './events/activities.ts'
import { eventLedger } from './events/counts.ts'
import type { AnyLedger } from './ledger/checks.ts'
import { workflowLedger } from './workflows/executions/figures.ts'

/** Every ledger, in one list: all are folded, checked and recounted. */
export const LEDGERS: AnyLedger[] = [contactLedger, eventLedger, activityLedger, workflowLedger]
