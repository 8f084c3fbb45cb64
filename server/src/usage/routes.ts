import { z } from 'zod'
import { countWithField, readFieldName } from '../contacts/fields/fields.ts'
import { countContacts } from '../contacts/record/counts.ts'
import type { App, Deps } from '../http/core/types.ts'
import { routesOf } from '../http/resource.ts'
import { isId } from '../lib/id.ts'
import { getSegment } from '../segments/definition/segment.ts'
import { templateNotFound } from '../templates/preview-routes.ts'
import { findTemplate } from '../templates/template.ts'
import { readEventUsage } from './event.ts'
import { countSegmentUses, SegmentUses } from './segment.ts'
import { countSentWith, countUsesOfEach, listCampaignsWithTemplate, listStepsWithTemplate, SENT_COUNTED_UP_TO } from './template.ts'
import { listUsers } from './used-in.ts'

const Named = z.object({ id: z.uuid(), name: z.string() })
const UsedIn = { usedInSegments: z.array(Named), usedInCampaigns: z.array(Named), usedInWorkflows: z.array(Named) }
/** A page of templates. */
const MAX_TEMPLATES = 100
const TemplateIds = z.object({
  ids: z
    .string()
    .max(MAX_TEMPLATES * 37)
    .optional()
    .transform((ids = '') => [...new Set(ids.split(',').filter(isId))].slice(0, MAX_TEMPLATES))
    .describe(`Ids of templates, separated by commas; at most ${MAX_TEMPLATES}.`),
})

const EventUsage = z.object({ ...UsedIn, totalCount: z.int(), uniqueContacts: z.int(), canDelete: z.boolean() })

/** Shows where a field, event or template is used. Spans features, so it is in a layer above them. */
export function usageRoutes(app: App, { db }: Deps) {
  const route = routesOf(app, { tags: ['Usage'], caller: 'project', role: 'MEMBER', scope: 'read', read: true, slowRead: true })
  const usageOf = async (projectId: string, eventName: string) => ({
    ...(await listUsers(db, projectId, { event: eventName })),
    ...(await readEventUsage(db, projectId, eventName)),
  })

  route.get(
    '/contacts/fields/:field/usage',
    {
      summary: 'Get the usage of a contact field',
      params: z.object({ field: z.string() }),
      scope: 'contacts',
      response: z.object({ ...UsedIn, contactCount: z.int(), canDelete: z.boolean() }),
    },
    async (req) => {
      const field = readFieldName(req.params.field)
      const used = await listUsers(db, req.project.id, { field })
      if ('standard' in field) return { ...used, contactCount: (await countContacts(db, req.project.id)).total, canDelete: false }
      return { ...used, contactCount: await countWithField(db, req.project.id, field.custom), canDelete: true }
    },
  )

  route.get(
    '/events/:eventName/usage',
    { summary: 'Get the usage of an event name', params: z.object({ eventName: z.string() }), scope: 'events', response: EventUsage },
    (req) => usageOf(req.project.id, req.params.eventName),
  )
  // Otherwise the router would match the events of a contact with the id "usage".
  route.get('/events/contact/usage', { hide: true, scope: 'events', response: EventUsage }, (req) => usageOf(req.project.id, 'contact'))

  route.get(
    '/segments/usage',
    {
      summary: 'Count the uses of all segments',
      description:
        'For lists: in how many segments, campaigns and workflows each is used, and its entries and exits of the last seven days.',
      scope: 'contacts',
      response: z.object({ data: z.array(SegmentUses) }),
    },
    async (req) => ({ data: await countSegmentUses(db, req.project.id) }),
  )

  route.get(
    '/segments/:id/usage',
    { summary: 'Get the usage of a segment', params: z.object({ id: z.string() }), scope: 'contacts', response: z.object(UsedIn) },
    async (req) => {
      const { id } = await getSegment(db, req.project.id, req.params.id)
      return listUsers(db, req.project.id, { segment: id })
    },
  )

  route.get(
    '/templates/usage',
    {
      summary: 'Count the uses of several templates',
      description: 'For lists. Ids that the project does not have are left out.',
      querystring: TemplateIds,
      scope: 'templates',
      response: z.object({
        data: z.array(
          z.object({
            id: z.uuid(),
            campaignCount: z.int(),
            workflowCount: z.int(),
            emailsSent: z.int().describe(`Exact up to ${SENT_COUNTED_UP_TO.toLocaleString('en')}, and stops there.`),
          }),
        ),
      }),
    },
    async (req) => ({ data: await countUsesOfEach(db, req.project.id, req.query.ids) }),
  )

  route.get(
    '/templates/:id/usage',
    {
      summary: 'Get the usage of a template',
      params: z.object({ id: z.string() }),
      scope: 'templates',
      response: z.object({
        campaigns: z.array(Named),
        workflowSteps: z.array(Named.extend({ workflowId: z.uuid(), workflowName: z.string() })),
        emailsSent: z.int(),
      }),
    },
    async (req) => {
      const { id } = req.params
      if (!isId(id) || !(await findTemplate(db, req.project.id, id))) templateNotFound(id)
      return {
        campaigns: await listCampaignsWithTemplate(db, req.project.id, id),
        workflowSteps: await listStepsWithTemplate(db, req.project.id, id.toLowerCase()),
        emailsSent: await countSentWith(db, req.project.id, id),
      }
    },
  )
}
