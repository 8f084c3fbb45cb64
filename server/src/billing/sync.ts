import type Stripe from 'stripe'
import { type Pool, type Tx, transact } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'
import type { StripeConfig } from '../lib/config.ts'
import { type BillingState, beginBillingCheck, saveBillingState, saveSettledTo } from '../projects/billing-state.ts'
import { endMeters, startMeters } from './meters.ts'
import { hasUnsentReports, type ReportDeps, sendReports } from './reports.ts'
import { isRefusal, openStripe } from './stripe.ts'

/** States in which a subscription is in force, or waits for a payment. */
const IN_FORCE = new Set<string>(['active', 'trialing', 'past_due', 'unpaid', 'paused'])
const MAX_SUBSCRIPTIONS = 20

/**
 * Reads the subscriptions of a customer from Stripe, stores the current one, and writes the last reports of those that ended. Notifications
 * only say that something changed: repeated, late or out of order, they lead to the same state.
 */
export async function syncCustomer(db: Pool, config: StripeConfig, customer: string) {
  const check = await transact(db, (tx) => beginBillingCheck(tx, customer))
  if (!check) return
  const stripe = await openStripe(config)
  const { data } = await stripe.subscriptions.list({ customer, status: 'all', limit: MAX_SUBSCRIPTIONS })
  const current = data.filter(({ status }) => IN_FORCE.has(status)).sort((a, b) => b.created - a.created)[0]
  await transact(db, async (tx) => {
    if (!(await saveBillingState(tx, check, stateOf(current)))) return
    await settleUsage(tx, check, { ended: endedOf(data), current: current && dateOf(current.start_date) })
  })
}

type Ended = { start: Date; end: Date }
type Usage = { ended: Ended[]; current: Date | undefined }

/** In the order in which they ended. */
const endedOf = (subscriptions: Stripe.Subscription[]): Ended[] =>
  subscriptions
    .flatMap(({ status, start_date, ended_at }) =>
      status === 'canceled' && ended_at ? [{ start: dateOf(start_date), end: dateOf(ended_at) }] : [],
    )
    .sort((a, b) => a.end.getTime() - b.end.getTime())

/**
 * Each subscription that has ended since the last look-up gets its last reports, also one that began after it. One that ended while the
 * current one was in force is continued by that one.
 */
async function settleUsage(tx: Tx, { projectId, settledTo }: { projectId: string; settledTo: Date | null }, { ended, current }: Usage) {
  let settled = settledTo ?? new Date(0)
  for (const { start, end } of ended.filter(({ end }) => end > settled && (!current || current >= end))) {
    await startMeters(tx, projectId, laterOf(start, settled))
    await endMeters(tx, projectId, end)
    settled = end
  }
  if (current) await startMeters(tx, projectId, laterOf(current, settled))
  // Stripe does not know when it ended.
  else await endMeters(tx, projectId)
  await saveSettledTo(tx, projectId, ended.at(-1)?.end)
}

const laterOf = (a: Date, b: Date) => (a > b ? a : b)

/** Time between two looks whether the last reports were sent. */
const RETRY_SECONDS = 60

type Cancellation = { subscription: string; projectId: string }

/** For a deleted project, whose last reports are written. An invoice contains what was reported before it, so the reports go first. */
export async function endSubscription(deps: ReportDeps, config: StripeConfig, cancellation: Cancellation) {
  const { db, mayLeave } = deps
  const { subscription, projectId } = cancellation
  await sendReports(deps, config, projectId)
  if (!mayLeave() || (await hasUnsentReports(db, config, projectId)))
    return transact(db, (tx) => enqueue(tx, 'billing.cancel', cancellation, { delaySeconds: RETRY_SECONDS }))
  return cancelSubscription(config, subscription)
}

/** Invoices at once what was reported until now. A subscription that Stripe does not know any more has ended. */
async function cancelSubscription(config: StripeConfig, subscription: string) {
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
