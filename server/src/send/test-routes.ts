import { z } from 'zod'
import { findContact } from '../contacts/record/contact.ts'
import { sendTestEmail, TestEmailAnswer } from '../delivery/emails/test-email.ts'
import { contentFrom } from '../delivery/outbox/contents/content.ts'
import { requireSenderDomain } from '../http/auth/scopes.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Address } from '../http/core/validate.ts'
import { createQuotaCounter } from '../http/limits/quotas.ts'
import { fail, invalid } from '../lib/errors/errors.ts'
import { isId } from '../lib/id.ts'
import { templateNotFound } from '../templates/preview-routes.ts'
import { findTemplate } from '../templates/template.ts'

/** In this layer, above templates and delivery: it needs both. */
export function templateTestRoutes(app: App, { db, secrets }: Deps) {
  const quotas = createQuotaCounter(db, secrets)

  app.post(
    '/templates/:id/test',
    {
      config: {
        caller: 'project',
        role: 'MEMBER',
        scope: 'send',
        senders: ['stored'],
        stops: 'never',
        audit: 'template.test',
        refusals: ['CONTACT_NOT_FOUND'],
      },
      schema: {
        tags: ['Templates'],
        summary: 'Send a test email of a template',
        description:
          'Sends the template to one address, with `[TEST]` in its subject. Rendered for the contact with this address, if there is one; with ' +
          '`contactId`, with the data of that contact. Ignores subscriptions, not suppressions. The email has `test: true`, is not tracked, and ' +
          'is in no counts. At most 60 an hour and project.',
        params: z.object({ id: z.string() }),
        body: z.object({ email: Address, contactId: z.uuid().optional() }),
        response: { 200: TestEmailAnswer },
      },
    },
    async (req) => {
      const { email, contactId } = req.body
      const { id: projectId } = req.project
      const found = isId(req.params.id) ? await findTemplate(db, projectId, req.params.id) : undefined
      const template = found ?? templateNotFound(req.params.id)
      const fromAddress = template.from ?? invalid('from', 'The template has no "from" address.', 'required')
      requireSenderDomain(req.project, fromAddress)
      const content = contentFrom(template, { fromAddress })
      const vars = contactId === undefined ? {} : await dataOf(projectId, contactId)
      return sendTestEmail({ db: req.db, quotas }, { projectId, to: email, content, vars, sourceType: 'TRANSACTIONAL', requestId: req.id })
    },
  )

  async function dataOf(projectId: string, contactId: string) {
    const contact = await findContact(db, projectId, contactId)
    return contact ? (contact.data ?? {}) : fail('CONTACT_NOT_FOUND', { details: { resource: 'contact', id: contactId } })
  }
}
