import { z } from 'zod'
import { maybeOne } from '../db/index.ts'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import { PlainError } from '../http/core/errors.ts'
import { CursorQuery, PageQuery, pageList } from '../http/core/paging.ts'
import type { App, Deps } from '../http/core/types.ts'
import { routesOf } from '../http/resource.ts'
import { contactNotFound, failPlainly } from '../lib/errors/errors.ts'
import { isId } from '../lib/id.ts'
import { countByName, listNames, MAX_EVENT_NAMES } from './counts.ts'
import { readDays } from './day.ts'
import { deleteByName } from './delete-name.ts'
import { EventList, EventsQuery, listEvents, printEventList } from './list.ts'
import { seesOneTimeValues } from './masked-event.ts'
import { isReserved } from './name.ts'
import { EventNameDetails, listNameDetails } from './name-details.ts'

export function eventRoutes(app: App, { db, secrets }: Deps) {
  const route = routesOf(app, { tags: ['Events'], caller: 'project', role: 'MEMBER', scope: 'events', read: true, ...SENDS_NOTHING })
  const serializerCompiler = () => printEventList

  route.get('/events', { summary: 'List events, newest first', querystring: EventsQuery, response: EventList, serializerCompiler }, (req) =>
    listEvents(db, secrets, req.project.id, { ...req.query, isMasked: !seesOneTimeValues(req.project) }),
  )

  route.get(
    '/events/contact/:contactId',
    {
      summary: 'List events of a contact, newest first',
      params: z.object({ contactId: z.string() }),
      querystring: CursorQuery,
      response: EventList,
      slowRead: true,
      serializerCompiler,
    },
    async (req) => {
      const { contactId } = req.params
      const isKnown =
        isId(contactId) && (await maybeOne(db)`select 1 from contacts where project_id = ${req.project.id} and id = ${contactId}`)
      if (!isKnown) return contactNotFound(contactId)
      return listEvents(db, secrets, req.project.id, { ...req.query, contactId, isMasked: !seesOneTimeValues(req.project) })
    },
  )

  route.get(
    '/events/names',
    {
      summary: 'List event names, most frequent first',
      response: z.object({
        eventNames: z.array(z.string()).max(MAX_EVENT_NAMES),
        truncated: z.boolean().describe(`True if there are more than ${MAX_EVENT_NAMES.toLocaleString('en')} names.`),
      }),
      slowRead: true,
    },
    (req) => listNames(db, req.project.id),
  )

  route.get(
    '/events/names/details',
    {
      summary: 'List event names with their figures, most frequent first',
      querystring: PageQuery,
      response: pageList(EventNameDetails),
      slowRead: true,
    },
    (req) => listNameDetails(db, req.project.id, req.query),
  )

  route.get(
    '/events/stats',
    {
      summary: 'Count events by name',
      description: 'Counts whole UTC days, including those of `startDate` and `endDate`.',
      querystring: z.object({ startDate: z.string().optional(), endDate: z.string().optional() }),
      response: z.array(z.object({ name: z.string(), count: z.int() })),
      slowRead: true,
    },
    (req) => countByName(db, req.project.id, readDays(req.query)),
  )

  route.delete(
    '/events/:eventName',
    {
      summary: 'Delete all events with a name',
      description: 'Responds when all are deleted, or after 12 seconds with the number so far; a job deletes the rest.',
      params: z.object({ eventName: z.string() }),
      audit: 'event.delete_all',
      scope: 'full',
      response: { 200: z.object({ deletedCount: z.int() }), 400: PlainError },
    },
    async (req) => {
      const { eventName } = req.params
      if (isReserved(eventName)) return failPlainly('BAD_REQUEST', `"${eventName}" is recorded by the service itself.`)
      return { deletedCount: await deleteByName(req.db, { projectId: req.project.id, name: eventName }) }
    },
  )
}
