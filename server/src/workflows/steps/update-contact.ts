import { z } from 'zod'
import { mergeUpserts, toUpsert, upsertContacts } from '../../contacts/changes/upsert.ts'
import { Data, readData } from '../../contacts/record/data.ts'
import { many } from '../../db/index.ts'
import { parseAt } from '../../http/core/validate.ts'
import { invalid } from '../../lib/errors/errors.ts'
import { CONTACT_GONE, type StepKind } from './step.ts'

const UpdateConfig = z.object({
  updates: z.record(z.string(), z.unknown()).nullish(),
  data: z.record(z.string(), z.unknown()).nullish(),
  subscriptionAction: z.enum(['none', 'subscribe', 'unsubscribe']).nullish(),
})
type Update = { updates: Record<string, unknown>; subscriptionAction: 'none' | 'subscribe' | 'unsubscribe' }

/** Undefined: stays as it is. */
const subscribedBy = ({ subscriptionAction }: Update) => (subscriptionAction === 'none' ? undefined : subscriptionAction === 'subscribe')

export const updateContactKind: StepKind<Update> = {
  name: 'Update contact',
  causes: ['contact.', 'segment.'],
  writesContacts: true,
  /** Stored as given: the rules of `data` are applied when the step runs. */
  read(given, { at }) {
    const { updates, data, subscriptionAction } = parseAt(UpdateConfig, given, at)
    const fields = updates ?? data ?? {}
    parseAt(Data, fields, `${at}.${updates ? 'updates' : 'data'}`)
    const action = subscriptionAction ?? 'none'
    if (!Object.keys(fields).length && action === 'none') invalid(`${at}.updates`, 'Nothing to update.', 'required')
    return { updates: fields, subscriptionAction: action }
  },
  uses: ({ updates }) => ({ fields: Object.keys(updates) }),
  decide({ step: { config } }) {
    return { is: 'done', output: { updated: Object.keys(config.updates), subscriptionAction: config.subscriptionAction } }
  },
  /** By the rules of `data` of every other endpoint. Locks the contacts first: an address that changes meanwhile would make a new contact. */
  async run(tx, { projectId }, decided) {
    const ids = decided.map(({ execution }) => execution.contactId)
    const rows = await many<{ id: string; email: string }>(tx)`
      select id, email from contacts where project_id = ${projectId} and id = any(${ids}::uuid[])
      order by email collate "C" for no key update
    `
    const emails = new Map(rows.map(({ id, email }) => [id, email]))
    const upserts = decided.flatMap(({ execution: { contactId, step, workflowId, id } }) => {
      const email = emails.get(contactId)
      const source = { by: 'workflow' as const, details: { workflowId, executionId: id } }
      const patch = readData(step.config.updates)
      return email ? [toUpsert({ projectId, email, subscribed: subscribedBy(step.config), subscribedIfNew: false, patch, source })] : []
    })
    await upsertContacts(tx, mergeUpserts(upserts))
    return decided.map(({ execution, outcome }) => (emails.has(execution.contactId) ? outcome : CONTACT_GONE))
  },
  pretend(world, { execution: { step } }) {
    const { contact } = world
    const { set, unset } = readData(step.config.updates)
    const data = Object.fromEntries(Object.entries({ ...contact.data, ...set }).filter(([key]) => !unset.includes(key)))
    return { ...world, contact: { ...contact, data, subscribed: subscribedBy(step.config) ?? contact.subscribed } }
  },
  describe: ({ execution }) => execution.step.config,
}
