import { sql } from 'kysely'
import type { Tx } from '../db/index.ts'
import type { Config } from '../lib/config.ts'

/** How a domain is proven. What was proven to our DNS look-ups says nothing of Amazon's keys, and the other way round. */
const proofOf = (mode: Config['mailMode']) => (mode === 'ses' ? ('ses' as const) : ('dns' as const))

/**
 * Without a mail transport every domain counts as verified; with one, none does that has not been proven to it. Only workers send,
 * and a worker does this before it starts, so no mail leaves on the word of a sandbox.
 */
export const followMode = (tx: Tx, mode: Config['mailMode']) =>
  mode === 'sandbox'
    ? sql`
        update domains set status = 'verified', verified_by = 'sandbox', verified_at = now(), last_error = null, failures = 0,
          check_number = check_number + 1, updated_at = now()
        where status <> 'verified'
      `.execute(tx)
    : sql`
        update domains set status = 'pending', verified_by = null, verified_at = null, pending_since = now(), failures = 0,
          next_check_at = now(), check_number = check_number + 1, updated_at = now()
        where verified_by <> ${proofOf(mode)}
      `.execute(tx)
