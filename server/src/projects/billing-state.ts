import { sql } from 'kysely'
import { countAffected, maybeOne, scalar, type Tx } from '../db/index.ts'

/** Stores the customer of a project unless it has one. Returns the stored one. */
export const saveCustomer = (tx: Tx, projectId: string, customer: string) =>
  scalar<string>(tx)`
    update projects set customer = coalesce(customer, ${customer}), updated_at = now() where id = ${projectId} returning customer
  `

/** Numbers a look-up of the subscription. Undefined for an unknown customer. */
export const beginBillingCheck = (tx: Tx, customer: string) =>
  maybeOne<{ projectId: string; number: number; settledTo: Date | null }>(tx)`
    update projects set billing_check = billing_check + 1 where customer = ${customer} and deleted_at is null
    returning id as "projectId", billing_check as number, settled_to as "settledTo"
  `

export type BillingState = { subscription: string | null; currency: string | null; periodStart: Date | null; periodEnd: Date | null }

/** Stores what a look-up found, unless a later one has begun: that one sees at least as much. */
export const saveBillingState = async (
  tx: Tx,
  { projectId, number }: { projectId: string; number: number },
  { subscription, currency, periodStart, periodEnd }: BillingState,
) =>
  (await countAffected(tx)`
    update projects set subscription = ${subscription}, currency = ${currency}, period_start = ${periodStart}, period_end = ${periodEnd},
      updated_at = case when subscription is distinct from ${subscription} then now() else updated_at end
    where id = ${projectId} and billing_check = ${number} and deleted_at is null
  `) > 0

/** Subscriptions that ended until then are settled. */
export const saveSettledTo = async (tx: Tx, projectId: string, to: Date | undefined) =>
  to && sql`update projects set settled_to = greatest(settled_to, ${to}) where id = ${projectId}`.execute(tx)
