import { z } from 'zod'
import { countContacts } from '../contacts/counts.ts'
import { countWithField, readFieldName } from '../contacts/fields.ts'
import type { App, Deps } from '../http/server.ts'
import { isId } from '../lib/id.ts'
import { templateNotFound } from '../templates/routes.ts'
import { findTemplate } from '../templates/template.ts'
import { describeEvent } from './event.ts'
import { countSentWith } from './template.ts'

const Named = z.object({ id: z.uuid(), name: z.string() })
const Places = { usedInSegments: z.array(Named), usedInCampaigns: z.array(Named), usedInWorkflows: z.array(Named) }
/** Segments, campaigns and workflows add their query here when they exist. */
const NOWHERE = { usedInSegments: [], usedInCampaigns: [], usedInWorkflows: [] }

const EventUsage = z.object({ ...Places, totalCount: z.int(), uniqueContacts: z.int(), canDelete: z.boolean() })

/** Where something is used: the question spans features, so it lives above them. */
export function usageRoutes(app: App, { db }: Deps) {
  const tags = ['Usage']
  const config = { caller: 'project' as const, slowRead: true }
  const usageOf = async (projectId: string, eventName: string) => ({ ...NOWHERE, ...(await describeEvent(db, projectId, eventName)) })

  app.get(
    '/contacts/fields/:field/usage',
    {
      config,
      schema: {
        tags,
        summary: 'Where a contact field is used',
        params: z.object({ field: z.string() }),
        response: { 200: z.object({ ...Places, contactCount: z.int(), canDelete: z.boolean() }) },
      },
    },
    async (req) => {
      const field = readFieldName(req.params.field)
      if ('standard' in field) return { ...NOWHERE, contactCount: (await countContacts(db, req.project.id)).total, canDelete: false }
      return { ...NOWHERE, contactCount: await countWithField(db, req.project.id, field.custom), canDelete: true }
    },
  )

  app.get(
    '/events/:eventName/usage',
    {
      config,
      schema: {
        tags,
        summary: 'Where an event name is used',
        params: z.object({ eventName: z.string() }),
        response: { 200: EventUsage },
      },
    },
    (req) => usageOf(req.project.id, req.params.eventName),
  )
  // Else the router would take it for the events of a contact called "usage".
  app.get('/events/contact/usage', { config, schema: { hide: true, response: { 200: EventUsage } } }, (req) =>
    usageOf(req.project.id, 'contact'),
  )

  app.get(
    '/templates/:id/usage',
    {
      config,
      schema: {
        tags,
        summary: 'Where a template is used',
        params: z.object({ id: z.string() }),
        response: {
          200: z.object({
            campaigns: z.array(Named),
            workflowSteps: z.array(Named.extend({ workflowId: z.uuid(), workflowName: z.string() })),
            emailsSent: z.int(),
          }),
        },
      },
    },
    async (req) => {
      const { id } = req.params
      if (!isId(id) || !(await findTemplate(db, req.project.id, id))) templateNotFound(id)
      // Campaigns and workflow steps add their queries here when they exist.
      return { campaigns: [], workflowSteps: [], emailsSent: await countSentWith(db, req.project.id, id) }
    },
  )
}
