import { z } from 'zod'
import { readCondition } from '../conditions/schema.ts'
import { GivenCondition } from '../contacts/selection/segment-access.ts'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { routesOf } from '../http/resource.ts'
import { contactNotFound } from '../lib/errors/errors.ts'
import { ConditionMatch, explainCondition } from './explain.ts'

/** Questions about a condition that is not stored. */
export function conditionRoutes(app: App, { db }: Deps) {
  const route = routesOf(app, {
    tags: ['Segments'],
    caller: 'project',
    role: 'MEMBER',
    scope: 'contacts',
    read: true,
    ...SENDS_NOTHING,
    audit: null,
  })

  route.post(
    '/segments/explain',
    {
      summary: 'Explain whether a contact matches a condition',
      description: 'Evaluates each filter of the condition for one contact, with the actual values. Stores nothing.',
      body: z.object({ condition: GivenCondition, contactId: z.uuid() }),
      response: ConditionMatch,
      refusals: ['CONTACT_NOT_FOUND'],
      slowRead: true,
      onlyReads: true,
    },
    async (req) => {
      const { condition, contactId } = req.body
      const asked = { projectId: req.project.id, tree: readCondition(condition, 'condition'), contactId }
      return (await explainCondition(db, asked)) ?? contactNotFound(contactId)
    },
  )
}
