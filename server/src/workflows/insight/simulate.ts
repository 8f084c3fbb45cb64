import { z } from 'zod'
import type { Pool } from '../../db/index.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { newId } from '../../lib/id.ts'
import { Preview } from '../../templates/preview.ts'
import { triggerOf } from '../definition/graph.ts'
import { readGraph, type WorkflowRow } from '../definition/workflow.ts'
import { type ActiveExecution, ARRIVED, moveOn } from '../executions/transition.ts'
import { ALL_STEP_TYPES, type AnyDecided, decideSteps, kindOf } from '../steps/kinds.ts'
import { arrivalAt, type SimulatedWorld, type StartEvent, type StepBatch, type StepOutcome } from '../steps/step.ts'

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
  inspected: z
    .object({
      contact: z.object({ email: z.string(), subscribed: z.boolean(), data: z.record(z.string(), z.unknown()) }),
      event: z.unknown().describe('The event that started the execution.'),
      context: z.record(z.string(), z.unknown()),
      email: Preview.omit({ missingVariables: true }).nullable().describe('The email of a SEND_EMAIL step, if it is sent.'),
    })
    .nullable()
    .describe('The data that the step at `inspect` of the path sees, as earlier steps have left it.'),
})

/** Steps shown: a loop never ends. */
const MAX_STEPS = 100

/** Branches to take instead of those that steps would, by step. `event`: what a wait waits for happens at once. */
type Answers = Record<string, string>
export const EVENT_HAPPENS = 'event'

type Simulated = Pick<SimulatedWorld, 'contact' | 'isStored'> & {
  event: StartEvent | null
  at: Date
  answers?: Answers | undefined
  /** Position in the path of the step to look into. */
  inspect?: number | undefined
  renderAt: (step: InspectedStep) => Promise<z.output<typeof Preview> | null>
}
type InspectedStep = { decided: AnyDecided; world: SimulatedWorld }
type Shown = z.output<typeof Simulation>

/**
 * The path of a contact through the current graph: what the engine would decide, without doing it. Nothing is sent or stored. A wait ends by
 * its timeout, as no event arrives in a simulation. Steps see the contact as earlier steps of the path have changed it.
 */
export async function simulateWorkflow(db: Pool, workflow: WorkflowRow, simulated: Simulated): Promise<Shown> {
  const { contact, isStored, event, at, answers = {}, inspect, renderAt } = simulated
  const { projectId, id, name } = workflow
  const path: Shown['path'] = []
  let inspected: Shown['inspected'] = null
  let world: SimulatedWorld = { contact, isStored, workflow: { id, name }, emails: [] }
  let execution = await newExecution(db, workflow, { contactId: contact.id, event, at })
  for (let now = at; ; ) {
    if (path.length === MAX_STEPS)
      return { path, end: 'WAITING', reason: `The simulation ends after ${MAX_STEPS} steps.`, endsAt: now, inspected }
    const { step } = execution
    const kind = kindOf(step.type)
    const batch = { projectId, now, contacts: new Map([[contact.id, world.contact]]), timeoutAfterMs: 0, world }
    const { decided, endsAt } = answered(await simulateStep(db, batch, execution), answers, now)
    const { outcome } = decided
    const result = (await kind.describe?.(decided, { world, projectId })) ?? null
    if (path.length === inspect) {
      const { email, subscribed, data } = world.contact
      const { event: started, context } = execution
      inspected = { contact: { email, subscribed, data }, event: started, context, email: await renderAt({ decided, world }) }
    }
    path.push({ stepId: step.id, name: step.name, type: step.type, at: now, branch: branchOf(outcome), result })
    world = kind.pretend?.(world, decided, endsAt) ?? world
    now = endsAt
    const { state, next } = moveOn({ execution, outcome }, now)
    // Neither RUNNING, as nothing follows, nor CANCELLED: the contact exists.
    if (!next) return { path, end: state.status as Shown['end'], reason: reasonOf(outcome, state.exitReason), endsAt: now, inspected }
    execution = next
  }
}

type StepEnd = { decided: AnyDecided; endsAt: Date }

/** Takes the branch that was asked for, if the step has it. */
function answered({ decided, endsAt }: StepEnd, answers: Answers, now: Date): StepEnd {
  const { id, type, config } = stepOf(decided.execution)
  const answer = Object.hasOwn(answers, id) ? answers[id]! : undefined
  const branches = kindOf(type).branches?.(config)
  if (answer === undefined || !branches) return { decided, endsAt }
  const happens = answer === EVENT_HAPPENS && branches.includes(null)
  if (!happens && !branches.includes(answer)) return { decided, endsAt }
  const outcome: StepOutcome = { is: 'done', branch: happens ? null : answer, output: { branch: happens ? null : answer } }
  return { decided: { ...decided, outcome }, endsAt: happens ? now : endsAt }
}

/** An execution of a simulation has its step as it is in the graph. */
const stepOf = (execution: AnyDecided['execution']) => (execution as ActiveExecution).step

const branchOf = (outcome: StepOutcome) => (outcome.is === 'done' && outcome.branch) || null

function reasonOf(outcome: StepOutcome, exitReason: string | null) {
  if (outcome.is !== 'wait') return exitReason
  return outcome.awaits === undefined ? (outcome.output?.reason ?? null) : `Waits for the event "${outcome.awaits}".`
}

type Start = { contactId: string; event: StartEvent | null; at: Date }

async function newExecution(db: Pool, workflow: WorkflowRow, { contactId, event, at }: Start): Promise<ActiveExecution> {
  const graph = await readGraph(db, workflow)
  return {
    id: newId(),
    workflowId: workflow.id,
    version: workflow.version,
    contactId,
    ...ARRIVED,
    visits: 0,
    arrival: arrivalAt(at),
    context: {},
    event,
    startedAt: at,
    step: triggerOf(graph),
    graph,
  }
}

/** A pause that its deadline ends is over at once. Other waits end by what happens elsewhere, which a simulation does not know. */
async function simulateStep(db: Pool, batch: StepBatch, execution: ActiveExecution): Promise<StepEnd> {
  const { type } = execution.step
  const [first] = await decideSteps(db, batch, type, [execution])
  const { outcome } = first!
  if (outcome.is !== 'wait' || !outcome.until || outcome.until.getTime() !== outcome.deadlineAt?.getTime())
    return { decided: first!, endsAt: batch.now }
  const endsAt = outcome.until
  const waiting = { ...execution, status: 'WAITING' as const, dueAt: endsAt, deadlineAt: endsAt }
  const [second] = await decideSteps(db, { ...batch, now: endsAt }, type, [waiting])
  return { decided: second!, endsAt }
}
