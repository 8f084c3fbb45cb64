import { sql } from 'kysely'
import type { Tx } from '../../db/index.ts'
import type { TransportKind } from '../../lib/config.ts'
import { proofOf } from './proof.ts'

/**
 * Updates the status of all domains after a change of the transport. In the sandbox every domain counts as verified; with a real transport
 * a domain that is not proven for it is pending again. Sending does not depend on the status: `isProven` is checked for each email. The sandbox
 * proves nothing about names, so link hosts of its domains are pending, too.
 */
export const syncWithTransport = (tx: Tx, transport: TransportKind) =>
  transport === 'sandbox'
    ? sql`
        update domains set status = 'verified', verified_by = 'sandbox', verified_at = now(), last_error = null, failures = 0,
          check_number = check_number + 1, updated_at = now()
        where status <> 'verified'
      `.execute(tx)
    : sql`
        update domains set status = 'pending', verified_by = null, verified_at = null, pending_since = now(), failures = 0,
          next_check_at = now(), check_number = check_number + 1, updated_at = now(),
          link_host_verified = case when verified_by <> 'sandbox' then link_host_verified end,
          link_host_status = case when verified_by = 'sandbox' and link_host is not null then 'pending' else link_host_status end
        where verified_by <> ${proofOf(transport)}
      `.execute(tx)
