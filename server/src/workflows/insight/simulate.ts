import { z } from 'zod'
import { readFacts } from '../../conditions/facts.ts'
import type { ContactFacts } from '../../conditions/match.ts'
import { readData } from '../../contacts/data.ts'
import type { Pool } from '../../db/index.ts'
import { findSubscribers, readAddressFacts, verdict } from '../../delivery/rules/may-send.ts'
import { findVerified } from '../../domains/verified.ts'
import { Timestamp } from '../../http/validate.ts'
import { createYield } from '../../lib/concurrency/yield-to-loop.ts'
import { newId } from '../../lib/id.ts'
import { HOUR, SECOND } from '../../lib/text/units.ts'
import { readContext } from '../../segments/evaluate.ts'
import { loadLookup } from '../../segments/expressions.ts'
import type { Recipient } from '../../templates/language/variables.ts'
import { renderEmail } from '../../templates/render.ts'
import { findTemplate } from '../../templates/template.ts'
import { ALL_STEP_TYPES, type Graph, type GraphStep, stepOf, transitionFor, triggerOf } from '../definition/graph.ts'
import { chooseBranch, compileCondition, referencesOfCondition, type StepCondition } from '../definition/step-condition.ts'
import { delayMs, type StepConfigs } from '../definition/step-config.ts'
import { readGraph, type WorkflowRow } from '../definition/workflow.ts'
import { executionVariables, MAX_EMAILS_PER_HOUR } from '../steps/send-email.ts'
import type { StartEvent } from '../steps/step.ts'
import { buildWebhookRequest } from '../webhooks/webhook-request.ts'

export const Simulation = z.object({
  path: z.array(
    z.object({
      stepId: z.uuid(),
      name: z.string(),
      type: z.enum(ALL_STEP_TYPES),
      at: Timestamp.describe('When an execution that starts now comes to the step.'),
      branch: z.string().nullable().describe('The branch that it takes.'),
      result: z.unknown().describe('The rendered subject, the webhook request, the changes of the contact.'),
    }),
  ),
  end: z.enum(['COMPLETED', 'EXITED', 'FAILED', 'WAITING']),
  reason: z.string().nullable(),
  endsAt: Timestamp,
})

/** Steps shown: a loop never ends. */
const MAX_STEPS = 100

export type SimulatedContact = { id: string; email: string; subscribed: boolean; createdAt: Date; data: Record<string, unknown> }
type Simulated = { contact: SimulatedContact; isStored: boolean; event: StartEvent | null; at: Date }
/** `at` is the time at the step. `emails`: those of the path so far. */
type Progress = Simulated & { execution: { id: string; startedAt: Date }; emails: { to: string; at: Date }[] }
type PathItem = z.output<typeof Simulation>['path'][number]
type Taken = { branch: string | null; result: unknown; at: Date; end?: { end: 'EXITED' | 'FAILED' | 'WAITING'; reason: string | null } }

/**
 * The path of a contact through the current graph. Nothing is sent or stored. A wait ends by its timeout: no event arrives in a simulation.
 * Conditions read the contact as earlier steps of the path have changed it.
 */
export async function simulateWorkflow(db: Pool, workflow: WorkflowRow, given: Simulated): Promise<z.output<typeof Simulation>> {
  const graph = await readGraph(db, workflow)
  const path: PathItem[] = []
  const execution = { id: newId(), startedAt: given.at }
  const emails: Progress['emails'] = []
  let { at } = given
  let contact = given.contact
  let step: GraphStep | undefined = triggerOf(graph)
  while (step) {
    if (path.length === MAX_STEPS)
      return { path, end: 'WAITING', reason: `The simulation ends after ${MAX_STEPS} steps.`, endsAt: at.toISOString() }
    const taken: Taken = await simulateStep(db, { workflow, graph, step, given: { ...given, contact, at, execution, emails } })
    path.push({ stepId: step.id, name: step.name, type: step.type, at: at.toISOString(), branch: taken.branch, result: taken.result })
    if (taken.end) return { path, ...taken.end, endsAt: taken.at.toISOString() }
    if (step.type === 'UPDATE_CONTACT') contact = updated(contact, step)
    at = taken.at
    step = stepOf(graph, transitionFor(graph, step.id, taken.branch)?.toStepId ?? null)
  }
  return { path, end: 'COMPLETED', reason: null, endsAt: at.toISOString() }
}

type StepInput = { workflow: WorkflowRow; graph: Graph; step: GraphStep; given: Progress }

async function simulateStep(db: Pool, { workflow, step, given }: StepInput): Promise<Taken> {
  const { at, contact, event, execution } = given
  const later = (ms: number) => new Date(at.getTime() + ms)
  const goOn = (result: unknown = null, branch: string | null = null): Taken => ({ branch, result, at })
  switch (step.type) {
    case 'TRIGGER':
      return goOn(event && { event: event.name })
    case 'EXIT': {
      const { reason } = step.config as StepConfigs['EXIT']
      return { ...goOn(), end: { end: 'EXITED', reason } }
    }
    case 'DELAY':
      return { ...goOn(), at: later(delayMs(step.config as StepConfigs['DELAY'])) }
    case 'WAIT_FOR_EVENT': {
      const { eventName, timeout } = step.config as StepConfigs['WAIT_FOR_EVENT']
      if (timeout === null) return { ...goOn({ eventName }), end: { end: 'WAITING', reason: `Waits for the event "${eventName}".` } }
      return { branch: 'timeout', result: { eventName, timedOut: true }, at: later(timeout * SECOND) }
    }
    case 'CONDITION': {
      const branch = await simulateCondition(db, workflow.projectId, step.config as StepCondition, given)
      if (!branch) return { ...goOn(), end: { end: 'FAILED', reason: 'segment_deleted' } }
      return goOn({ branch }, branch)
    }
    case 'UPDATE_CONTACT':
      return goOn(step.config)
    case 'SEND_EMAIL':
      return simulateEmail(db, workflow.projectId, step, given)
    case 'WEBHOOK': {
      const config = step.config as StepConfigs['WEBHOOK']
      const source = { ...execution, event, context: {}, config, workflow: { id: workflow.id, name: workflow.name }, contact }
      const request = await buildWebhookRequest({ ...source, projectId: workflow.projectId })
      return 'problem' in request ? { ...goOn(request), end: { end: 'FAILED', reason: request.problem } } : goOn(request)
    }
  }
}

/** Undefined if a segment is gone. */
async function simulateCondition(db: Pool, projectId: string, condition: StepCondition, { contact, isStored, event, at }: Simulated) {
  const { segments } = referencesOfCondition(condition)
  const lookup = await loadLookup(db, projectId, segments)
  if (segments.some((id) => !lookup(id))) return undefined
  const compiled = compileCondition(condition, (id) => lookup(id) ?? { type: 'STATIC' })
  const expressions = compiled.cases.map(({ expression }) => expression)
  const [stored] = isStored ? await readFacts(db, { projectId, contactIds: [contact.id], expressions }) : []
  const facts: ContactFacts = {
    contact: { ...contact, updatedAt: stored?.contact.updatedAt ?? at },
    lastEvent: (asked) => stored?.lastEvent(asked),
    isMember: (segmentId) => stored?.isMember(segmentId) ?? false,
  }
  const context = await readContext(
    db,
    projectId,
    expressions.map((expression) => ({ expression })),
  )
  const data = { event: event?.data ?? {}, context: {} }
  return chooseBranch(compiled, { facts, data, context: { ...context, now: at } }, createYield())
}

async function simulateEmail(db: Pool, projectId: string, step: GraphStep, { contact, event, at, emails }: Progress): Promise<Taken> {
  const { templateId, recipient } = step.config as StepConfigs['SEND_EMAIL']
  const template = await findTemplate(db, projectId, templateId)
  const failed = (reason: string): Taken => ({ branch: null, result: { reason }, at, end: { end: 'FAILED', reason } })
  const to = recipient.type === 'CUSTOM' ? recipient.customEmail : contact.email
  const reader = recipient.type === 'CUSTOM' ? { projectId, email: to } : undefined
  const subscribed = reader ? (await findSubscribers(db, [reader]))(reader) : contact.subscribed
  const factsOf = await readAddressFacts(db, projectId, [to])
  const reason = verdict({ ...factsOf(to), subscribed }, template?.type)
  if (reason) return { branch: null, result: { to, skipped: reason }, at }
  if (!template) return failed('template_deleted')
  if (!template.from) return failed('no_sender')
  const sender = { projectId, address: template.from }
  const isVerified = (await findVerified(db, [sender]))(sender)
  if (!isVerified) return { branch: null, result: { to }, at, end: { end: 'WAITING', reason: 'domain_not_verified' } }
  const lately = emails.filter((email) => email.to === to && email.at.getTime() > at.getTime() - HOUR)
  if (lately.length >= MAX_EMAILS_PER_HOUR) return failed('too_many_emails')
  emails.push({ to, at })
  const person: Recipient = {
    ...contact,
    createdAt: contact.createdAt.toISOString(),
    unsubscribeUrl: '',
    subscribeUrl: '',
    manageUrl: '',
    data: { ...contact.data, ...executionVariables({ event, context: {} }, contact.data) },
  }
  const rendered = await renderEmail({ subject: template.subject, body: '' }, person, { projectId })
  return {
    branch: null,
    at,
    result: {
      to,
      from: template.from,
      templateId,
      subject: rendered.ok ? rendered.subject : null,
      ...(rendered.ok ? {} : { problem: rendered.reason }),
    },
  }
}

function updated(contact: SimulatedContact, step: GraphStep): SimulatedContact {
  const { updates, subscriptionAction } = step.config as StepConfigs['UPDATE_CONTACT']
  const { set, unset } = readData(updates)
  const data = Object.fromEntries(Object.entries({ ...contact.data, ...set }).filter(([key]) => !unset.includes(key)))
  return { ...contact, data, subscribed: subscriptionAction === 'none' ? contact.subscribed : subscriptionAction === 'subscribe' }
}
