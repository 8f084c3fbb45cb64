import { addToRollups } from '../../../src/analytics/fold.ts'
import { addToMeters } from '../../../src/billing/meters.ts'
import { addToCampaigns, lockCampaigns } from '../../../src/campaigns/ledger/counters.ts'
import type { Pool } from '../../../src/db/index.ts'
import { createEmailFold } from '../../../src/delivery/outbox/outcomes/email-ledger.ts'
import { createLog } from '../../../src/lib/process/log.ts'
import { createCountsFold } from '../../../src/projects/email-counts.ts'
import { addToReputations } from '../../../src/reputation/figures.ts'

const counts = createCountsFold([addToReputations, addToMeters])

/** Adds up what happened to emails, as workers do, but tells nobody about limits. A worker may do the same at the moment. */
export const foldEmails = (db: Pool) =>
  createEmailFold(db, createLog('silent'), { rollups: addToRollups, counts, counters: addToCampaigns, lockCampaigns })()
