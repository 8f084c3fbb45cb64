import { z } from 'zod'
import { auditWithoutChange } from '../http/audit.ts'
import { NO_KEYS } from '../http/auth/declaration.ts'
import { PlainError } from '../http/core/errors.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Id } from '../http/core/validate.ts'
import { routesOf } from '../http/resource.ts'
import { fail, failPlainly } from '../lib/errors/errors.ts'
import { findOrCreateCustomer, readBilled, requestKey } from './customer.ts'
import { Invoices, listInvoices } from './invoices.ts'
import { askStripe, openStripe, requireStripe } from './stripe.ts'

const ProjectId = z.object({ id: Id('project') })
const Url = z.object({ url: z.string() })

export function billingRoutes(app: App, { db, config, log }: Deps) {
  const route = routesOf(app, { tags: ['Billing'], caller: 'session', role: 'ADMIN', ...NO_KEYS })
  const pageOf = (projectId: string) => `${config.publicUrl}/app/p/${projectId}/settings/billing`

  route.post(
    '/users/@me/projects/:id/checkout',
    {
      summary: 'Start a subscription',
      description: 'Responds with the page of the billing provider to go to.',
      params: ProjectId,
      audit: 'billing.checkout',
      response: { 200: Url, 404: PlainError },
      refusals: ['CONFLICT'],
    },
    async (req) => {
      const settings = requireStripe(config.stripe)
      const project = await readBilled(db, req.project.id)
      if (project.subscription) fail('CONFLICT', { message: 'This project has a subscription. Change it in the billing portal.' })
      return askStripe(log, async () => {
        const stripe = await openStripe(settings)
        const customer = await findOrCreateCustomer(db, stripe, project)
        const prices = await Promise.all(settings.prices.map((price) => stripe.prices.retrieve(price)))
        const session = await stripe.checkout.sessions.create(
          {
            mode: 'subscription',
            customer,
            client_reference_id: project.id,
            // A metered price has no quantity: usage is reported.
            line_items: prices.map(({ id, recurring }) => ({ price: id, ...(recurring?.usage_type === 'metered' ? {} : { quantity: 1 }) })),
            subscription_data: { metadata: { projectId: project.id } },
            success_url: `${pageOf(project.id)}?checkout=done`,
            cancel_url: pageOf(project.id),
          },
          { idempotencyKey: requestKey() },
        )
        await auditWithoutChange(req)
        return { url: session.url ?? fail('SERVICE_UNAVAILABLE') }
      })
    },
  )

  route.post(
    '/users/@me/projects/:id/billing-portal',
    {
      summary: 'Open the billing portal',
      description: 'Responds with its page at the billing provider. 404 while the project has no customer there.',
      params: ProjectId,
      audit: 'billing.portal',
      response: { 200: Url, 404: PlainError },
    },
    async (req) => {
      const settings = requireStripe(config.stripe)
      const { id, customer } = await readBilled(db, req.project.id)
      const known = customer ?? failPlainly('RESOURCE_NOT_FOUND', 'This project has no subscription yet.')
      return askStripe(log, async () => {
        const stripe = await openStripe(settings)
        const { url } = await stripe.billingPortal.sessions.create({ customer: known, return_url: pageOf(id) })
        await auditWithoutChange(req)
        return { url }
      })
    },
  )

  route.get(
    '/users/@me/projects/:id/billing-invoices',
    { summary: 'List invoices', params: ProjectId, response: { 200: Invoices, 404: PlainError } },
    async (req) => {
      const settings = requireStripe(config.stripe)
      const { customer } = await readBilled(db, req.project.id)
      return askStripe(log, async () => listInvoices(await openStripe(settings), customer))
    },
  )
}
