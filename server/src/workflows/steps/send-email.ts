import { sql } from 'kysely'
import { NO_DATA } from '../../contacts/data.ts'
import { mergeUpserts, toUpsert, upsertContacts } from '../../contacts/upsert.ts'
import { many, type Tx } from '../../db/index.ts'
import { contentFrom } from '../../delivery/outbox/content.ts'
import { enqueueEmails, insertContents, type NewEmail } from '../../delivery/outbox/enqueue.ts'
import type { OwnVariables } from '../../delivery/outbox/own-variables.ts'
import { notifyQueued } from '../../delivery/outbox/queue-notifications.ts'
import { PRIORITIES } from '../../delivery/outbox/streams/stream-of.ts'
import { readAddressFacts, verdict } from '../../delivery/rules/may-send.ts'
import { findVerified } from '../../domains/verified.ts'
import { newId } from '../../lib/id.ts'
import { DAY, MINUTE } from '../../lib/text/units.ts'
import { checkLockedCaps, lockCaps } from '../../projects/caps.ts'
import { findTemplate } from '../../templates/template.ts'
import type { StepConfigs } from '../definition/step-config.ts'
import { later, type Running, type StepBatch, type StepOutcome, type StepRunner } from './step.ts'

/** An unverified domain may be back soon: the step waits for it this long. */
const DOMAIN_DEADLINE_MS = DAY
const DOMAIN_RETRY_MS = 2 * MINUTE
/** Emails of one execution to one contact in an hour: ends loops whose waits are for what the loop itself causes. */
export const MAX_EMAILS_PER_HOUR = 20

type Template = NonNullable<Awaited<ReturnType<typeof findTemplate>>>
type Recipient = { contactId: string; email: string; subscribed: boolean; isCustom: boolean }

/**
 * Enqueues one email for each execution, in the transaction that moves the execution on. The key of the step's row makes a second email of
 * the same visit impossible. The template is read now.
 */
export const runSendEmail: StepRunner = async (tx, batch, executions) => {
  // Before the contacts of custom addresses.
  const capped = await lockCaps(tx, [batch.projectId], 'workflows')
  const templates = await readTemplates(tx, batch.projectId, executions)
  const recipients = await readRecipients(tx, batch, executions)
  const addresses = [...recipients.values()].map(({ email }) => email)
  const factsOf = await readAddressFacts(tx, batch.projectId, addresses)
  const outcomes = executions.map((execution): StepOutcome | undefined => {
    const template = templates.get(templateIdOf(execution))
    const recipient = recipients.get(execution.id)
    if (!recipient) return { is: 'cancelled', reason: 'contact_deleted' }
    // Before what is wrong with the template or its sender.
    const reason = verdict({ ...factsOf(recipient.email), subscribed: recipient.subscribed }, template?.content.type)
    if (reason) return { is: 'skipped', reason }
    if (!template) return { is: 'failed', error: 'template_deleted' }
    if (!template.content.from) return { is: 'failed', error: 'no_sender' }
    return template.isVerified ? undefined : waitForDomain(execution, batch.now)
  })
  await failRunaways(tx, batch.projectId, { executions, recipients, outcomes })
  if (capped.length) await failOverCap(tx, batch.projectId, outcomes)
  const sending = executions.filter((_, index) => outcomes[index] === undefined)
  const emailIds = await send(tx, batch.projectId, sending, { templates, recipients })
  return executions.map(
    ({ id }, index) => outcomes[index] ?? { is: 'done', output: { emailId: emailIds.get(id)! }, emailId: emailIds.get(id)! },
  )
}

const templateIdOf = ({ step }: Running) => (step.config as StepConfigs['SEND_EMAIL']).templateId

function waitForDomain({ deadlineAt }: Running, now: Date): StepOutcome {
  const deadline = deadlineAt ?? later(now, DOMAIN_DEADLINE_MS)
  if (deadline <= now) return { is: 'failed', error: 'domain_not_verified' }
  return { is: 'wait', as: 'WAITING', until: later(now, DOMAIN_RETRY_MS), deadlineAt: deadline, output: { reason: 'domain_not_verified' } }
}

type KnownTemplate = { content: Template; isVerified: boolean }

async function readTemplates(tx: Tx, projectId: string, executions: Running[]): Promise<Map<string, KnownTemplate>> {
  const found: Template[] = []
  for (const id of new Set(executions.map(templateIdOf))) {
    const template = await findTemplate(tx, projectId, id)
    if (template) found.push(template)
  }
  const senderOf = ({ from }: Template) => ({ projectId, address: from ?? '' })
  const isVerified = await findVerified(tx, found.filter(({ from }) => from).map(senderOf))
  return new Map(
    found.map((content) => [content.id, { content, isVerified: content.from !== null && Boolean(isVerified(senderOf(content))) }]),
  )
}

/** The contact of the execution, or that of a custom address, which is created unsubscribed. */
async function readRecipients(tx: Tx, { projectId, contacts }: StepBatch, executions: Running[]): Promise<Map<string, Recipient>> {
  const customOf = ({ step }: Running) => {
    const { recipient } = step.config as StepConfigs['SEND_EMAIL']
    return recipient.type === 'CUSTOM' ? recipient.customEmail : undefined
  }
  const custom = [...new Set(executions.flatMap((execution) => customOf(execution) ?? []))]
  const source = { by: 'workflow' as const }
  const upserts = custom.map((email) => toUpsert({ projectId, email, subscribedIfNew: false, patch: NO_DATA, source }))
  const find = await upsertContacts(tx, mergeUpserts(upserts))
  const recipients = executions.flatMap((execution): [string, Recipient][] => {
    const own = contacts.get(execution.contactId)
    if (!own) return []
    const email = customOf(execution)
    if (email === undefined) return [[execution.id, { contactId: execution.contactId, ...own, isCustom: false }]]
    const { id, subscribed } = find(projectId, email)
    return [[execution.id, { contactId: id, email, subscribed, isCustom: true }]]
  })
  return new Map(recipients)
}

type Prepared = { templates: Map<string, KnownTemplate>; recipients: Map<string, Recipient> }

async function send(tx: Tx, projectId: string, executions: Running[], { templates, recipients }: Prepared): Promise<Map<string, string>> {
  if (!executions.length) return new Map()
  const used = [...new Set(executions.map(templateIdOf))].map((id) => ({ contentId: newId(), template: templates.get(id)!.content }))
  await insertContents(
    tx,
    used.map(({ contentId, template }) => ({ projectId, id: contentId, ...contentFrom(template, { fromAddress: template.from! }) })),
  )
  const contents = new Map(used.map(({ contentId, template }) => [template.id, { contentId, fromDomain: template.from!.split('@')[1]! }]))
  const own = await readOwnContacts(tx, projectId, executions, recipients)
  const emails = executions.map((execution): NewEmail => {
    const recipient = recipients.get(execution.id)!
    const contact = own.get(execution.id)!
    return {
      sourceType: 'WORKFLOW',
      workflowExecutionId: execution.id,
      workflowId: execution.workflowId,
      projectId,
      id: newId(),
      ...contents.get(templateIdOf(execution))!,
      contactId: recipient.contactId,
      toAddress: recipient.email,
      toName: null,
      vars: recipient.isCustom ? ownVariables(execution, contact) : executionVariables(execution, contact.data),
      onlyVars: recipient.isCustom,
      followsContact: !recipient.isCustom,
    }
  })
  await enqueueEmails(tx, emails)
  await notifyQueued(tx, PRIORITIES.bulk)
  return new Map(emails.map(({ id }, index) => [executions[index]!.id, id]))
}

type Decided = { executions: Running[]; recipients: Map<string, Recipient>; outcomes: (StepOutcome | undefined)[] }

/** Sets the outcome of those that are to be sent to a contact that has had too many emails of the same execution. */
async function failRunaways(tx: Tx, projectId: string, { executions, recipients, outcomes }: Decided) {
  const suspects = executions.flatMap(({ id, visits }, index) =>
    outcomes[index] === undefined && visits >= MAX_EMAILS_PER_HOUR ? [{ index, id, contactId: recipients.get(id)!.contactId }] : [],
  )
  if (!suspects.length) return
  const over = await many(
    tx,
    sql<{ index: number }>`
      with suspects as materialized (
        -- The project is a column: see writeRecords.
        select ${projectId}::uuid as project_id, s.* from jsonb_to_recordset(${JSON.stringify(suspects)}::jsonb) as s(index int, id uuid, "contactId" uuid)
      )
      select s.index from suspects s
      where (
        select count(*) from (
          select from emails m
          where m.project_id = s.project_id and m.workflow_execution_id = s.id and m.contact_id = s."contactId" and m.created_at > now() - interval '1 hour'
          limit ${MAX_EMAILS_PER_HOUR}
        ) as sent) >= ${MAX_EMAILS_PER_HOUR}
    `,
  )
  for (const { index } of over) outcomes[index] = { is: 'failed', error: 'too_many_emails' }
}

/** Sets the outcome of those that are to be sent and exceed the cap of the project. */
async function failOverCap(tx: Tx, projectId: string, outcomes: (StepOutcome | undefined)[]) {
  const open = outcomes.flatMap((outcome, index) => (outcome === undefined ? index : []))
  const refusals = await checkLockedCaps(
    tx,
    'workflows',
    open.map(() => ({ projectId, emails: 1 })),
    [projectId],
  )
  for (const [position, index] of open.entries()) if (refusals[position]) outcomes[index] = { is: 'failed', error: 'billing_limit' }
}

type OwnContact = { email: string; subscribed: boolean; createdAt: string; data: Record<string, unknown> }

/** The contacts of the executions. With all data for emails to custom addresses, else only with keys of the event: a contact has up to 256 KB. */
async function readOwnContacts(
  tx: Tx,
  projectId: string,
  executions: Running[],
  recipients: Map<string, Recipient>,
): Promise<Map<string, OwnContact>> {
  const asked = executions.map(({ id, contactId, event }) => ({
    executionId: id,
    contactId,
    isWhole: recipients.get(id)!.isCustom,
    keys: Object.keys(event?.data ?? {}),
  }))
  const rows = await many(
    tx,
    sql<OwnContact & { executionId: string }>`
      select a."executionId", c.email, c.subscribed, to_char(c.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
        case when a."isWhole" then c.data
          else (select coalesce(jsonb_object_agg(key, true), '{}') from jsonb_array_elements_text(a.keys) as key where c.data ? key) end as data
      from jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) as a("executionId" uuid, "contactId" uuid, "isWhole" boolean, keys jsonb)
      join contacts c on c.project_id = ${projectId} and c.id = a."contactId"
    `,
  )
  return new Map(rows.map(({ executionId, ...own }) => [executionId, own]))
}

/**
 * Variables besides the fields of the contact: `event`, the context of the execution, and keys of the event that the contact does not have.
 * A field of the contact may have changed since the event, so it takes precedence over the event.
 */
export function executionVariables(
  { event, context }: Pick<Running, 'event' | 'context'>,
  stored: Record<string, unknown>,
): Record<string, unknown> {
  const ofEvent = Object.fromEntries(Object.entries(event?.data ?? {}).filter(([key]) => !Object.hasOwn(stored, key)))
  return { ...ofEvent, ...context, context, ...(event ? { event: { name: event.name, ...event.data } } : {}) }
}

/** Nothing of a custom address's contact is shown to the reader. */
function ownVariables(execution: Running, { data, ...as }: OwnContact): OwnVariables {
  return { as: { id: execution.contactId, ...as }, data: { ...data, ...executionVariables(execution, data) } }
}
