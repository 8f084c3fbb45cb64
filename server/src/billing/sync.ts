import type Stripe from 'stripe'
import { type Pool, transact } from '../db/index.ts'
import type { StripeConfig } from '../lib/config.ts'
import { type BillingState, beginBillingCheck, saveBillingState } from '../projects/billing-state.ts'
import { startMeters, stopMeters } from './meters.ts'
import { isRefusal, openStripe } from './stripe.ts'

/** States in which a subscription is in force, or waits for a payment. */
const IN_FORCE = new Set<string>(['active', 'trialing', 'past_due', 'unpaid', 'paused'])
const MAX_SUBSCRIPTIONS = 20

/**
 * Reads the subscription of a customer from Stripe and stores it. Notifications only say that something changed: repeated, late or out of
 * order, they lead to the same state.
 */
export async function syncCustomer(db: Pool, config: StripeConfig, customer: string) {
  const check = await transact(db, (tx) => beginBillingCheck(tx, customer))
  if (!check) return
  const stripe = await openStripe(config)
  const { data } = await stripe.subscriptions.list({ customer, status: 'all', limit: MAX_SUBSCRIPTIONS })
  const current = data.filter(({ status }) => IN_FORCE.has(status)).sort((a, b) => b.created - a.created)[0]
  await transact(db, async (tx) => {
    if (!(await saveBillingState(tx, check, stateOf(current)))) return
    if (current) await startMeters(tx, check.projectId, dateOf(current.start_date))
    else await stopMeters(tx, check.projectId)
  })
}

/** For a deleted project. What was used until now is invoiced at once. A subscription that Stripe does not know any more has ended. */
export async function cancelSubscription(config: StripeConfig, subscription: string) {
  const stripe = await openStripe(config)
  await stripe.subscriptions.cancel(subscription, { invoice_now: true, prorate: true }).catch((err) => {
    if (!isRefusal(err)) throw err
  })
}

const dateOf = (seconds: number) => new Date(seconds * 1000)

/** The items of a subscription have the same period, unless somebody has changed that by hand. */
function stateOf(subscription: Stripe.Subscription | undefined): BillingState {
  const item = subscription?.items.data[0]
  return {
    subscription: subscription?.id ?? null,
    currency: subscription?.currency ?? null,
    periodStart: item ? dateOf(item.current_period_start) : null,
    periodEnd: item ? dateOf(item.current_period_end) : null,
  }
}
