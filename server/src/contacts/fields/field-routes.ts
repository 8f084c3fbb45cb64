import { z } from 'zod'
import { SENDS_NOTHING } from '../../http/auth/declaration.ts'
import { PlainError } from '../../http/core/errors.ts'
import { integerParam } from '../../http/core/paging.ts'
import type { App, Deps } from '../../http/core/types.ts'
import { routesOf } from '../../http/resource.ts'
import { failPlainly } from '../../lib/errors/errors.ts'
import { deleteField } from './delete-field.ts'
import { Field, listFields, listValues, readFieldName } from './fields.ts'

const FieldParam = z.object({ field: z.string() })
const Values = z.object({
  field: z.string(),
  values: z.array(z.unknown()),
  count: z.int(),
  limit: z.int(),
  sampled: z.literal(true).describe('Always true: a large project may have values that are not listed.'),
})

export function fieldRoutes(app: App, { db }: Deps) {
  const route = routesOf(app, {
    tags: ['Contact fields'],
    caller: 'project',
    role: 'MEMBER',
    scope: 'contacts',
    read: true,
    ...SENDS_NOTHING,
  })

  route.get(
    '/contacts/fields',
    { summary: 'List fields', response: z.object({ fields: z.array(Field), count: z.int() }), slowRead: true },
    async (req) => {
      const fields = await listFields(db, req.project.id)
      return { fields, count: fields.length }
    },
  )

  route.get(
    '/contacts/fields/:field/values',
    {
      summary: 'Sample the distinct values of a field',
      description:
        'Reads up to 100,000 contacts, the newest first, until 10,000 of them have no further value. Values have up to 1,024 characters.',
      params: FieldParam,
      querystring: z.object({ limit: integerParam(100, 200) }),
      response: Values,
      slowRead: true,
    },
    async (req) => {
      const { limit } = req.query
      const values = await listValues(db, { projectId: req.project.id, field: readFieldName(req.params.field), limit })
      return { field: req.params.field, values, count: values.length, limit, sampled: true as const }
    },
  )

  route.delete(
    '/contacts/fields/:field',
    {
      summary: 'Delete a field from all contacts',
      params: FieldParam,
      audit: 'contact_field.delete',
      response: { 200: z.object({ deletedFrom: z.int() }), 400: PlainError },
    },
    async (req) => {
      const field = readFieldName(req.params.field)
      if ('standard' in field) return failPlainly('BAD_REQUEST', `"${field.standard}" is a standard field and cannot be deleted.`)
      return { deletedFrom: await deleteField(req.db, { projectId: req.project.id, key: field.custom }) }
    },
  )
}
