import { sql } from 'kysely'
import type { TransportKind } from '../../lib/config.ts'

/** How a domain is proven. A DKIM key found in DNS proves nothing about Amazon's keys, and vice versa. */
export const proofOf = (transport: 'smtp' | 'ses') => (transport === 'ses' ? ('ses' as const) : ('dns' as const))

type Proof = 'sandbox' | ReturnType<typeof proofOf>

/** The sandbox sends nothing, so it accepts any proof. */
const ACCEPTED: Record<TransportKind, Proof[]> = { sandbox: ['sandbox', 'dns', 'ses'], smtp: [proofOf('smtp')], ses: [proofOf('ses')] }
/** While the transport is unknown nothing is sent, and a sandbox proof does not count. */
const ACCEPTED_BY_DEFAULT: Proof[] = ['dns', 'ses']

const listed = (proofs: Proof[]) => sql.lit(`{${proofs.join(',')}}`)
const cases = Object.entries(ACCEPTED).map(([transport, proofs]) => sql`when ${sql.lit(transport)} then ${listed(proofs)}`)

/**
 * True for a domain that is proven for the transport of this installation. Part of the statement, because this node may have no transport
 * settings, and reading the one row of `instance` costs less than another round trip.
 */
export const isProven = sql<boolean>`verified_by = any((
  select case transport ${sql.join(cases, sql` `)} else ${listed(ACCEPTED_BY_DEFAULT)} end from instance)::text[])`
