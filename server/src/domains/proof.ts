import { sql } from 'kysely'
import type { TransportKind } from '../lib/config.ts'

/** How a domain is proven. A DKIM key that our DNS look-ups found says nothing about Amazon's keys, and the other way round. */
export const proofOf = (transport: 'smtp' | 'ses') => (transport === 'ses' ? ('ses' as const) : ('dns' as const))

type Proof = 'sandbox' | ReturnType<typeof proofOf>

/** In the sandbox no email leaves, so any proof will do. */
const ACCEPTED: Record<TransportKind, Proof[]> = { sandbox: ['sandbox', 'dns', 'ses'], smtp: [proofOf('smtp')], ses: [proofOf('ses')] }
/** While the transport is unknown nothing is sent, and the word of a sandbox does not count. */
const ACCEPTED_ANYWAY: Proof[] = ['dns', 'ses']

const listed = (proofs: Proof[]) => sql.lit(`{${proofs.join(',')}}`)
const cases = Object.entries(ACCEPTED).map(([transport, proofs]) => sql`when ${sql.lit(transport)} then ${listed(proofs)}`)

/**
 * True for a domain that is proven to the transport of this installation. Asked within the statement: the settings of this node may
 * not say how email leaves, and reading the one row of `instance` costs less than another round trip.
 */
export const isProven = sql<boolean>`verified_by = any((
  select case transport ${sql.join(cases, sql` `)} else ${listed(ACCEPTED_ANYWAY)} end from instance)::text[])`
