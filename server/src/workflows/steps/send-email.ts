import { z } from 'zod'
import { mergeUpserts, toUpsert, upsertContacts } from '../../contacts/changes/upsert.ts'
import { NO_DATA } from '../../contacts/record/data.ts'
import { type Db, many, scalars, type Tx } from '../../db/index.ts'
import { recordset } from '../../db/rows.ts'
import { contentFrom } from '../../delivery/outbox/contents/content.ts'
import { enqueueEmails, insertContents, type NewEmail } from '../../delivery/outbox/enqueue.ts'
import type { OwnVariables } from '../../delivery/outbox/own-variables.ts'
import { notifyQueued } from '../../delivery/outbox/streams/queue-notifications.ts'
import { PRIORITIES } from '../../delivery/outbox/streams/stream-of.ts'
import { type RecipientFacts, readAddressFacts, verdict } from '../../delivery/rules/may-send.ts'
import { findVerified } from '../../domains/verified.ts'
import { Address, parseAt } from '../../http/core/validate.ts'
import { invalid } from '../../lib/errors/errors.ts'
import { newId } from '../../lib/id.ts'
import { DAY, HOUR, MINUTE } from '../../lib/text/units.ts'
import { checkLockedCaps, lockCaps } from '../../projects/caps.ts'
import { renderEmail } from '../../templates/rendering/render.ts'
import { findTemplate } from '../../templates/template.ts'
import { executionVariables, personOf } from './execution-variables.ts'
import { CONTACT_GONE, type Decided, later, type Running, type StepBatch, type StepKind, type StepOutcome } from './step.ts'

/** An unverified domain may be back soon: the step waits for it this long. */
const DOMAIN_DEADLINE_MS = DAY
const DOMAIN_RETRY_MS = 2 * MINUTE
/** Emails of one execution to one contact in an hour: ends loops whose waits are for what the loop itself causes. */
const MAX_EMAILS_PER_HOUR = 20

const SendEmailConfig = z.object({
  templateId: z.uuid().nullish(),
  recipient: z.object({ type: z.enum(['CONTACT', 'CUSTOM']), customEmail: Address.nullish() }).nullish(),
})
type SendEmail = { templateId: string; recipient: { type: 'CONTACT' } | { type: 'CUSTOM'; customEmail: string } }

type Template = NonNullable<Awaited<ReturnType<typeof findTemplate>>>
/** `contactId` undefined: a custom address that is no contact yet. */
type EmailRecipient = { contactId: string | undefined; email: string; subscribed: boolean; isCustom: boolean }
type KnownTemplate = { content: Template; isVerified: boolean }
/** Without `recipient` the contact is gone, without `template` the template. `isRunaway`: has had too many emails of the execution. */
type EmailFacts = {
  recipient: EmailRecipient | undefined
  template: KnownTemplate | undefined
  /** About its address. */
  address: RecipientFacts
  isRunaway: boolean
}
type EmailStep = Running<SendEmail>

/** The template is read when the step runs. */
export const sendEmailKind: StepKind<SendEmail, EmailFacts> = {
  name: 'Send email',
  causes: ['email.', 'segment.'],
  writesContacts: true,
  read(given, { at, templateId: own, storedTemplateId }) {
    const { templateId, recipient } = parseAt(SendEmailConfig, given, at)
    const id = own ?? templateId ?? storedTemplateId ?? invalid(`${at}.templateId`, 'Required.', 'required')
    if (recipient?.type !== 'CUSTOM') return { templateId: id.toLowerCase(), recipient: { type: 'CONTACT' } }
    const customEmail = recipient.customEmail ?? invalid(`${at}.recipient.customEmail`, 'Required.', 'required')
    return { templateId: id.toLowerCase(), recipient: { type: 'CUSTOM', customEmail } }
  },
  template: ({ templateId }) => templateId,
  async facts(db, batch, executions) {
    const templates = await readTemplates(db, batch.projectId, executions)
    const recipients = await readRecipients(db, batch, executions)
    const addresses = recipients.flatMap((recipient) => recipient?.email ?? [])
    const factsOf = await readAddressFacts(db, batch.projectId, addresses)
    const runaways = await findRunaways(db, batch, executions, recipients)
    return executions.map(({ id, step }, index) => ({
      recipient: recipients[index],
      template: templates.get(step.config.templateId),
      address: recipients[index] ? factsOf(recipients[index].email) : {},
      isRunaway: runaways.has(id),
    }))
  },
  decide(execution, { recipient, template, address, isRunaway }, { now }) {
    if (!recipient) return CONTACT_GONE
    // Before what is wrong with the template or its sender.
    const reason = verdict({ ...address, subscribed: recipient.subscribed }, template?.content.type)
    if (reason) return { is: 'skipped', reason }
    if (!template) return { is: 'failed', error: 'template_deleted' }
    if (!template.content.from) return { is: 'failed', error: 'no_sender' }
    if (!template.isVerified) return waitForDomain(execution, now)
    return isRunaway ? { is: 'failed', error: 'too_many_emails' } : { is: 'done' }
  },
  /**
   * Enqueues one email for each execution, in the transaction that moves the execution on. The key of the step's row makes a second email of
   * the same visit impossible.
   */
  async run(tx, { projectId }, decided) {
    // Before the contacts of custom addresses.
    const capped = await lockCaps(tx, [projectId], 'workflows')
    const contactIdOf = await upsertRecipients(tx, projectId, decided)
    const outcomes = decided.map(({ outcome }) => outcome)
    if (capped.length) await failOverCap(tx, projectId, outcomes)
    const sending = decided.filter((_, index) => outcomes[index]!.is === 'done').map((each) => toSending(each, contactIdOf))
    const emailIds = await send(tx, projectId, sending)
    return decided.map(({ execution: { id } }, index) => {
      const emailId = emailIds.get(id)
      return emailId === undefined ? outcomes[index]! : { is: 'done', output: { emailId }, emailId }
    })
  },
  pretend: (world, { facts, outcome }, now) =>
    outcome.is === 'done' ? { ...world, emails: [...world.emails, { to: facts.recipient!.email, at: now }] } : world,
  async describe({ execution, facts: { recipient, template }, outcome }, { world, projectId }) {
    const to = recipient!.email
    if (outcome.is === 'skipped') return { to, skipped: outcome.reason }
    if (outcome.is === 'failed') return { reason: outcome.error }
    if (outcome.is === 'wait') return { to }
    const { id: templateId, from, subject } = template!.content
    const rendered = await renderEmail({ subject, body: '' }, personOf(world.contact, execution), { projectId })
    return { to, from, templateId, ...(rendered.ok ? { subject: rendered.subject } : { subject: null, problem: rendered.reason }) }
  },
}

function waitForDomain({ deadlineAt }: EmailStep, now: Date): StepOutcome {
  const deadline = deadlineAt ?? later(now, DOMAIN_DEADLINE_MS)
  if (deadline <= now) return { is: 'failed', error: 'domain_not_verified' }
  return { is: 'wait', as: 'WAITING', until: later(now, DOMAIN_RETRY_MS), deadlineAt: deadline, output: { reason: 'domain_not_verified' } }
}

async function readTemplates(db: Db, projectId: string, executions: EmailStep[]): Promise<Map<string, KnownTemplate>> {
  const found: Template[] = []
  for (const id of new Set(executions.map(({ step }) => step.config.templateId))) {
    const template = await findTemplate(db, projectId, id)
    if (template) found.push(template)
  }
  const senderOf = ({ from }: Template) => ({ projectId, address: from ?? '' })
  const isVerified = await findVerified(db, found.filter(({ from }) => from).map(senderOf))
  return new Map(
    found.map((content) => [content.id, { content, isVerified: content.from !== null && Boolean(isVerified(senderOf(content))) }]),
  )
}

const customOf = ({ step: { config } }: EmailStep) => (config.recipient.type === 'CUSTOM' ? config.recipient.customEmail : undefined)

/** The contact of each execution, or that of its custom address. Undefined: the contact of the execution is gone. */
async function readRecipients(db: Db, { projectId, contacts }: StepBatch, executions: EmailStep[]) {
  const custom = [...new Set(executions.flatMap((execution) => customOf(execution) ?? []))]
  const rows = custom.length
    ? await many<{ id: string; email: string; subscribed: boolean }>(db)`
      select id, email, subscribed from contacts where project_id = ${projectId} and email = any(${custom}::text[])
    `
    : []
  const known = new Map(rows.map((row) => [row.email, row]))
  return executions.map((execution): EmailRecipient | undefined => {
    const own = contacts.get(execution.contactId)
    const email = customOf(execution)
    if (!own || email === undefined) return own && { contactId: execution.contactId, ...own, isCustom: false }
    return { contactId: known.get(email)?.id, email, subscribed: known.get(email)?.subscribed ?? false, isCustom: true }
  })
}

/** Executions that have sent too many emails to their recipient in the last hour. In a simulation those of the path count. */
async function findRunaways(db: Db, batch: StepBatch, executions: EmailStep[], recipients: (EmailRecipient | undefined)[]) {
  const { projectId, world, now } = batch
  if (world) {
    const recent = world.emails.filter(({ to, at }) => to === recipients[0]?.email && at.getTime() > now.getTime() - HOUR)
    return new Set(recent.length >= MAX_EMAILS_PER_HOUR ? [executions[0]!.id] : [])
  }
  const suspects = executions.flatMap(({ id, visits }, index) => {
    const contactId = recipients[index]?.contactId
    return contactId && visits >= MAX_EMAILS_PER_HOUR ? [{ id, contactId }] : []
  })
  if (!suspects.length) return new Set<string>()
  const over = await scalars<string>(db)`
    with suspects as materialized (
      -- The project is a column: see writeRecords.
      select ${projectId}::uuid as project_id, s.* from ${recordset('workflow_executions', suspects, ['id', 'contactId'])} as s
    )
    select s.id from suspects s
    where (
      select count(*) from (
        select from emails m
        where m.project_id = s.project_id and m.workflow_execution_id = s.id and m.contact_id = s."contactId" and m.created_at > now() - interval '1 hour'
        limit ${MAX_EMAILS_PER_HOUR}
      ) as sent) >= ${MAX_EMAILS_PER_HOUR}
  `
  return new Set(over)
}

type DecidedEmail = Decided<SendEmail, EmailFacts>

/** Custom addresses become contacts, unsubscribed, whether they get this email or not. Returns the contact of a recipient. */
async function upsertRecipients(tx: Tx, projectId: string, decided: DecidedEmail[]) {
  const custom = decided.flatMap(({ facts: { recipient } }) => (recipient?.isCustom ? recipient.email : []))
  const source = { by: 'workflow' as const }
  const upserts = [...new Set(custom)].map((email) => toUpsert({ projectId, email, subscribedIfNew: false, patch: NO_DATA, source }))
  const find = await upsertContacts(tx, mergeUpserts(upserts))
  return ({ isCustom, contactId, email }: EmailRecipient) => (isCustom ? find(projectId, email).id : contactId!)
}

type Sending = { execution: EmailStep; template: Template; recipient: EmailRecipient & { contactId: string } }

const toSending = ({ execution, facts }: DecidedEmail, contactIdOf: (recipient: EmailRecipient) => string): Sending => ({
  execution,
  template: facts.template!.content,
  recipient: { ...facts.recipient!, contactId: contactIdOf(facts.recipient!) },
})

/** Returns the ids of the emails by execution. */
async function send(tx: Tx, projectId: string, sending: Sending[]): Promise<Map<string, string>> {
  if (!sending.length) return new Map()
  const templates = new Map(sending.map(({ template }) => [template.id, template]))
  const used = [...templates.values()].map((template) => ({ contentId: newId(), template }))
  const copies = used.map(({ contentId: id, template }) => ({ projectId, id, ...contentFrom(template, { fromAddress: template.from! }) }))
  await insertContents(tx, copies)
  const contents = new Map(used.map(({ contentId, template }) => [template.id, { contentId, fromDomain: template.from!.split('@')[1]! }]))
  const own = await readOwnContacts(tx, projectId, sending)
  const emails = sending.map(({ execution, template, recipient }): NewEmail => {
    const contact = own.get(execution.id)!
    return {
      sourceType: 'WORKFLOW',
      workflowExecutionId: execution.id,
      workflowId: execution.workflowId,
      projectId,
      id: newId(),
      ...contents.get(template.id)!,
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
  return new Map(emails.map(({ id }, index) => [sending[index]!.execution.id, id]))
}

/** Sets the outcome of those that are to be sent and exceed the cap of the project. */
async function failOverCap(tx: Tx, projectId: string, outcomes: StepOutcome[]) {
  const open = outcomes.flatMap((outcome, index) => (outcome.is === 'done' ? index : []))
  const wanted = open.map(() => ({ projectId, emails: 1 }))
  const refusals = await checkLockedCaps(tx, 'workflows', wanted, [projectId])
  for (const [position, index] of open.entries()) if (refusals[position]) outcomes[index] = { is: 'failed', error: 'billing_limit' }
}

type OwnContact = { email: string; subscribed: boolean; createdAt: string; data: Record<string, unknown> }

/** The contacts of the executions. With all data for emails to custom addresses, else only with keys of the event: a contact has up to 256 KB. */
async function readOwnContacts(tx: Tx, projectId: string, sending: Sending[]): Promise<Map<string, OwnContact>> {
  const asked = sending.map(({ execution: { id, contactId, event }, recipient }) => ({
    executionId: id,
    contactId,
    isWhole: recipient.isCustom,
    keys: Object.keys(event?.data ?? {}),
  }))
  const rows = await many<OwnContact & { executionId: string }>(tx)`
    select a."executionId", c.email, c.subscribed, to_char(c.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
      case when a."isWhole" then c.data
        else (select coalesce(jsonb_object_agg(key, true), '{}') from jsonb_array_elements_text(a.keys) as key where c.data ? key) end as data
    from ${recordset('workflow_executions', asked, ['contactId'], { executionId: 'uuid', isWhole: 'boolean', keys: 'jsonb' })} as a
    join contacts c on c.project_id = ${projectId} and c.id = a."contactId"
  `
  return new Map(rows.map(({ executionId, ...own }) => [executionId, own]))
}

/** Nothing of a custom address's contact is shown to the reader. */
function ownVariables(execution: EmailStep, { data, ...as }: OwnContact): OwnVariables {
  return { as: { id: execution.contactId, ...as }, data: { ...data, ...executionVariables(execution, data) } }
}
