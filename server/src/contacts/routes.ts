import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Pool, transact } from '../db/index.ts'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import { refusedPlainly } from '../http/core/bounds.ts'
import { PlainError } from '../http/core/errors.ts'
import { CursorQuery, cursorList } from '../http/core/paging.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Address } from '../http/core/validate.ts'
import { NO_CONTENT, routesOf } from '../http/resource.ts'
import { contactNotFound, failPlainly } from '../lib/errors/errors.ts'
import { isId } from '../lib/id.ts'
import { changeContact, deleteContacts } from './changes/change.ts'
import { createContactBatch } from './changes/create-batch.ts'
import { type ContactUpsert, toUpsert, upsertContacts } from './changes/upsert.ts'
import { Contact, explainOversizedData, findContact, getContact, showContact } from './record/contact.ts'
import { Data, NO_DATA } from './record/data.ts'
import { sourceOf } from './record/source.ts'
import { Consent, listConsents } from './record/subscription.ts'
import { ContactsQuery, listContacts } from './selection/list.ts'
import { lookUpContacts } from './selection/lookup.ts'
import type { SegmentAccess } from './selection/segment-access.ts'

const ContactId = z.object({ id: z.string() })
const MAX_LOOKUP = 500
/** The handler refuses a missing address with a plain error, so it is optional here and required in the OpenAPI document. */
const NewContact = z
  .object({
    email: z.preprocess((given) => given ?? undefined, Address.optional()),
    subscribed: z.boolean().optional(),
    data: Data.nullish(),
  })
  .meta({ required: ['email'] })

const ContactList = cursorList(Contact).extend({
  partial: z.boolean().optional().describe('True if `q` searched for a second and did not look at every contact. The cursor leads on.'),
})

const LOOKUP_SIZE = `Give 1 to ${MAX_LOOKUP} email addresses.`

/** No index covers part of an address, a custom field or a condition, and the matches are counted. */
const isSearch = ({ query }: FastifyRequest) => {
  const { search, q, field, createdFrom, createdTo, segmentId, condition } = query as z.output<typeof ContactsQuery>
  return Boolean(search || q || field || createdFrom || createdTo || segmentId || condition)
}

export function contactRoutes(app: App, { db, secrets }: Deps, segments: SegmentAccess) {
  const route = routesOf(app, { tags: ['Contacts'], caller: 'project', role: 'MEMBER', scope: 'contacts', read: true, ...SENDS_NOTHING })
  const batch = createContactBatch(db)
  app.addHook('onClose', () => batch.drain())

  route.get(
    '/contacts',
    {
      summary: 'List contacts',
      querystring: ContactsQuery,
      response: ContactList,
      slowRead: isSearch,
      refusals: ['RESOURCE_NOT_FOUND'],
    },
    (req) => listContacts({ db, secrets, segments }, req.project.id, req.query),
  )

  route.post(
    '/contacts',
    {
      summary: 'Create or update a contact',
      body: NewContact,
      audit: 'contact.create',
      auditsOnlyPeople: true,
      response: { 200: Upserted, 201: Upserted, 400: PlainError },
      keyCheckedLater: true,
    },
    async (req, reply) => {
      const { subscribed, data } = req.body
      const email = req.body.email ?? failPlainly('BAD_REQUEST', 'The field "email" is required.')
      const projectId = req.project.id
      const upsert = toUpsert({ projectId, email, subscribed, subscribedIfNew: true, patch: data ?? NO_DATA, source: sourceOf(req) })
      // The request of a person is a transaction of its own, with its entry in the audit.
      const upserted = req.person
        ? upsertAlone(req.db, upsert)
        : req.withCheckedKey(() => batch.submit({ project: req.project, upsert, size: req.bodySize }))
      const { isNew, contact } = await upserted.catch(explainOversizedData)
      return reply.status(isNew ? 201 : 200).send({ ...showContact(contact), _meta: { isNew, isUpdate: !isNew } })
    },
  )

  route.post(
    '/contacts/lookup',
    {
      summary: 'Look up contacts by email address',
      body: z.object({ emails: refusedPlainly(z.array(z.string().max(1000)).max(MAX_LOOKUP).meta({ minItems: 1 }), LOOKUP_SIZE) }),
      response: { 200: z.object({ found: z.array(z.string()), notFound: z.array(z.string()) }), 400: PlainError },
      audit: null,
      onlyReads: true,
    },
    (req) => {
      const { emails } = req.body
      if (!emails.length) failPlainly('BAD_REQUEST', LOOKUP_SIZE)
      return lookUpContacts(db, req.project.id, emails)
    },
  )

  route.get('/contacts/:id', { summary: 'Get a contact', params: ContactId, response: Contact }, async (req) =>
    showContact(await getContact(db, req.project.id, req.params.id)),
  )

  route.patch(
    '/contacts/:id',
    {
      summary: 'Update a contact',
      params: ContactId,
      body: z.object({ email: Address.optional(), subscribed: z.boolean().optional(), data: Data.nullable().optional() }),
      audit: 'contact.update',
      auditsOnlyPeople: true,
      response: { 200: Contact, 409: PlainError },
    },
    async (req) => {
      const { id } = req.params
      if (!isId(id)) return contactNotFound(id)
      const changed = await transact(req.db, (tx) =>
        changeContact(tx, { projectId: req.project.id, id, ...req.body, source: sourceOf(req) }),
      ).catch(explainOversizedData)
      return showContact(changed ?? contactNotFound(id))
    },
  )

  route.delete(
    '/contacts/:id',
    { summary: 'Delete a contact', params: ContactId, audit: 'contact.delete', auditsOnlyPeople: true, response: NO_CONTENT },
    async (req, reply) => {
      const { id } = req.params
      if (!isId(id)) return contactNotFound(id)
      const [deleted] = await transact(req.db, (tx) => deleteContacts(tx, { projectId: req.project.id, ids: [id] }))
      return deleted ? reply.status(204).send(null) : contactNotFound(id)
    },
  )

  route.get(
    '/contacts/:id/consent',
    {
      summary: 'List subscription changes of a contact',
      description: 'Newest first, each with its source.',
      params: ContactId,
      querystring: CursorQuery,
      response: cursorList(Consent),
    },
    async (req) => {
      const { id: contactId, projectId } = await getContact(db, req.project.id, req.params.id)
      return listConsents(db, secrets, { projectId, contactId, ...req.query })
    },
  )
}

const Upserted = Contact.extend({ _meta: z.object({ isNew: z.boolean(), isUpdate: z.boolean() }) }).meta({ id: 'UpsertedContact' })

const upsertAlone = (db: Pool, upsert: ContactUpsert) =>
  transact(db, async (tx) => {
    const { id, isNew } = (await upsertContacts(tx, [upsert]))(upsert.projectId, upsert.email)
    // With the id at the top: the audit entry names it.
    return { id, isNew, contact: (await findContact(tx, upsert.projectId, id))! }
  })
