import { z } from 'zod'
import { getContact } from '../contacts/record/contact.ts'
import { Data } from '../contacts/record/data.ts'
import { transact } from '../db/index.ts'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Address, GivenTime } from '../http/core/validate.ts'
import { invalid } from '../lib/errors/errors.ts'
import { NIL_ID, newId } from '../lib/id.ts'
import { preferenceLinks } from '../preferences/link.ts'
import { previewTemplate } from '../templates/preview.ts'
import { savePreviewPage } from '../templates/preview-pages.ts'
import { findTemplate } from '../templates/template.ts'
import { seesWebhooks } from './definition/masked-steps.ts'
import { EVENT_HAPPENS, Simulation, simulateWorkflow } from './insight/simulate.ts'
import { personOf } from './steps/execution-variables.ts'
import type { SimulatedContact } from './steps/step.ts'
import { ListenedEvent } from './steps/wait-for-event.ts'
import { maskWebhook } from './steps/webhook-mask.ts'
import { workflowResource } from './workflow-resource.ts'

/** A simulation of 100 delays of a year ends in a year of four digits. */
const LAST_YEAR = 9_000
const MAX_PATH = 100
/** As many as a workflow has steps. */
const MAX_ANSWERS = 200

const Simulated = z.object({
  contactId: z.uuid().optional(),
  contact: z.object({ email: Address.optional(), subscribed: z.boolean().optional(), data: Data.optional() }).optional(),
  event: z.object({ name: ListenedEvent, data: Data.optional() }).optional(),
  at: GivenTime.optional().describe('When the execution starts; now by default.'),
  answers: z
    .record(z.string(), z.string().max(100))
    .meta({ maxProperties: MAX_ANSWERS })
    .optional()
    .describe(
      `Branches to take instead of those that the steps would, by the id of the step. Of a WAIT_FOR_EVENT also \`${EVENT_HAPPENS}\`: it happens at once.`,
    ),
  inspect: z
    .int()
    .min(0)
    .max(MAX_PATH - 1)
    .optional()
    .describe('Position in the path of a step to look into: what it sees, and the email that it sends.'),
})

export function workflowSimulateRoutes(app: App, { db, secrets, config: { publicUrl } }: Deps) {
  const route = workflowResource(app, db)

  route.post(
    '/workflows/:id/simulate',
    {
      summary: 'Simulate a workflow for a contact',
      description:
        'Shows the path with times, rendered subjects and webhook requests. Sends and stores nothing. Waits end by their timeout, unless `answers` say otherwise.',
      body: Simulated,
      response: Simulation,
      ...SENDS_NOTHING,
      audit: null,
      onlyReads: true,
      slowRead: true,
      refusals: ['CONTACT_NOT_FOUND'],
      bodyOptional: true,
    },
    async (req, workflow) => {
      const { contactId, contact: given, event, at, answers, inspect } = req.body
      const start = at === undefined ? new Date() : new Date(at)
      if (start.getUTCFullYear() > LAST_YEAR) invalid('at', `Must be at most in the year ${LAST_YEAR}.`, 'too_big')
      const contact = contactId === undefined ? sampleContact(given, start) : await storedContact(workflow.projectId, contactId)
      const data = { ...event?.data?.set, ...event?.data?.transient }
      const shown = await simulateWorkflow(db, workflow, {
        contact,
        isStored: contactId !== undefined,
        event: event ? { id: newId(), name: event.name, data, createdAt: start.toISOString() } : null,
        at: start,
        answers,
        inspect,
        renderAt: ({ decided, world }) => renderEmailOf(workflow.projectId, decided, world),
      })
      return seesWebhooks(req.project)
        ? shown
        : { ...shown, path: shown.path.map((step) => ({ ...step, result: maskWebhook(step.result) })) }
    },
  )

  type RenderAt = Parameters<typeof simulateWorkflow>[2]['renderAt']
  type Inspected = Parameters<RenderAt>[0]

  /** The email that a step sends, with a page for the frame that shows it. Null: the step sends none. */
  async function renderEmailOf(projectId: string, { execution, outcome }: Inspected['decided'], world: Inspected['world']) {
    const { templateId } = execution.step.config
    if (typeof templateId !== 'string' || outcome.is !== 'done') return null
    const template = await findTemplate(db, projectId, templateId)
    if (!template) return null
    // No contact has the nil id: links for preferences lead to a page that says "not found".
    const links = preferenceLinks(secrets, publicUrl, { projectId, contactId: NIL_ID })
    const shown = await previewTemplate(db, projectId, template, { ...personOf(world.contact, execution), ...links })
    return { ...shown, frameUrl: await transact(db, (tx) => savePreviewPage(tx, secrets, { projectId, html: shown.html })) }
  }

  async function storedContact(projectId: string, contactId: string): Promise<SimulatedContact> {
    const { id, email, subscribed, data, createdAt } = await getContact(db, projectId, contactId)
    return { id, email, subscribed, data: data ?? {}, createdAt: new Date(createdAt) }
  }
}

type GivenContact = { email?: string | undefined; subscribed?: boolean | undefined; data?: { set: object; transient: object } | undefined }

const sampleContact = ({ email = 'ada@example.com', subscribed = true, data }: GivenContact = {}, createdAt: Date): SimulatedContact => ({
  id: newId(),
  email,
  subscribed,
  createdAt,
  data: { ...data?.set, ...data?.transient },
})
