import { sql } from 'kysely'
import { readData } from '../../contacts/data.ts'
import { mergeUpserts, toUpsert, upsertContacts } from '../../contacts/upsert.ts'
import { many } from '../../db/index.ts'
import type { StepConfigs } from '../definition/step-config.ts'
import type { StepOutcome, StepRunner } from './step.ts'

/** By the rules of `data` of every other endpoint. Locks the contacts first: an address that changes meanwhile would make a new contact. */
export const runUpdateContact: StepRunner = async (tx, { projectId }, executions) => {
  const rows = await many(
    tx,
    sql<{ id: string; email: string }>`
      select id, email from contacts where project_id = ${projectId} and id = any(${executions.map(({ contactId }) => contactId)}::uuid[])
      order by email collate "C" for no key update
    `,
  )
  const emails = new Map(rows.map(({ id, email }) => [id, email]))
  const upserts = executions.flatMap(({ contactId, step, workflowId, id }) => {
    const email = emails.get(contactId)
    const { updates, subscriptionAction } = step.config as StepConfigs['UPDATE_CONTACT']
    const subscribed = subscriptionAction === 'none' ? undefined : subscriptionAction === 'subscribe'
    const source = { by: 'workflow' as const, details: { workflowId, executionId: id } }
    return email ? [toUpsert({ projectId, email, subscribed, subscribedIfNew: false, patch: readData(updates), source })] : []
  })
  await upsertContacts(tx, mergeUpserts(upserts))
  return executions.map(({ contactId, step }): StepOutcome => {
    if (!emails.has(contactId)) return { is: 'cancelled', reason: 'contact_deleted' }
    const { updates, subscriptionAction } = step.config as StepConfigs['UPDATE_CONTACT']
    return { is: 'done', output: { updated: Object.keys(updates), subscriptionAction } }
  })
}
