import type Stripe from 'stripe'
import { z } from 'zod'
import { Timestamp } from '../http/core/validate.ts'

const Invoice = z
  .object({
    id: z.string(),
    number: z.string().nullable(),
    status: z.string().nullable().describe('draft, open, paid, uncollectible or void'),
    currency: z.string(),
    total: z.int().describe('In the smallest unit of the currency.'),
    amountDue: z.int(),
    amountPaid: z.int(),
    periodStart: Timestamp,
    periodEnd: Timestamp,
    dueAt: Timestamp.nullable(),
    createdAt: Timestamp,
    url: z.string().nullable().describe('Page of the invoice, with its payment.'),
    pdf: z.string().nullable(),
  })
  .meta({ id: 'Invoice' })

export const Invoices = z.object({
  invoices: z.array(Invoice).describe('The latest 100, the latest first.'),
  hasUnpaidInvoices: z.boolean(),
  unpaidInvoices: z.array(Invoice),
})

export const UpcomingInvoice = z
  .object({
    currency: z.string(),
    total: z.int().describe('In the smallest unit of the currency.'),
    amountDue: z.int(),
    periodEnd: Timestamp,
  })
  .nullable()

const MAX_INVOICES = 100
const UNPAID = new Set<string | null>(['open', 'uncollectible'])
const time = (seconds: number) => new Date(seconds * 1000).toISOString()

const show = (invoice: Stripe.Invoice): z.output<typeof Invoice> => ({
  id: invoice.id,
  number: invoice.number,
  status: invoice.status,
  currency: invoice.currency,
  total: invoice.total,
  amountDue: invoice.amount_due,
  amountPaid: invoice.amount_paid,
  periodStart: time(invoice.period_start),
  periodEnd: time(invoice.period_end),
  dueAt: invoice.due_date ? time(invoice.due_date) : null,
  createdAt: time(invoice.created),
  url: invoice.hosted_invoice_url ?? null,
  pdf: invoice.invoice_pdf ?? null,
})

export async function listInvoices(stripe: Stripe, customer: string | null): Promise<z.output<typeof Invoices>> {
  const invoices = customer ? (await stripe.invoices.list({ customer, limit: MAX_INVOICES })).data.map(show) : []
  const unpaidInvoices = invoices.filter(({ status }) => UNPAID.has(status))
  return { invoices, hasUnpaidInvoices: unpaidInvoices.length > 0, unpaidInvoices }
}

/** The next invoice as it would be now, and what the customer has paid in advance. */
export async function previewInvoice(stripe: Stripe, { customer, subscription }: { customer: string; subscription: string }) {
  const invoice = await stripe.invoices.createPreview({ customer, subscription })
  return {
    currency: invoice.currency,
    total: invoice.total,
    amountDue: invoice.amount_due,
    periodEnd: time(invoice.period_end),
  }
}

/** A credit is a negative balance. */
export async function readCredits(stripe: Stripe, customer: string): Promise<number> {
  const found = await stripe.customers.retrieve(customer)
  return found.deleted ? 0 : Math.max(0, -found.balance)
}
