import { type Db, many, maybeOne, scalars } from '../../db/index.ts'
import { missingOfWebhook } from '../steps/webhook-mask.ts'
import { type Graph, type GraphStep, selfEndingWaits, triggerOf, unreachableSteps } from './graph.ts'
import { nextFiringOf } from './schedule.ts'
import { segmentsOfStep } from './uses.ts'
import type { Problem, WorkflowRow } from './workflow.ts'

const problem = (stepId: string | null, code: Problem['code'], message: string): Problem => ({ stepId, code, message })

/** Problems that keep a valid workflow from doing what it should. */
export async function findProblems(db: Db, workflow: WorkflowRow, graph: Graph): Promise<Problem[]> {
  const trigger = triggerOf(graph)
  const starts = graph.transitions.some(({ fromStepId }) => fromStepId === trigger.id)
  return [
    ...(starts ? [] : [problem(trigger.id, 'no_steps', 'Nothing follows the trigger.')]),
    ...unreachableSteps(graph).map(({ id, name }) => problem(id, 'unreachable', `No execution comes to the step "${name}".`)),
    ...selfEndingWaits(graph).map(({ id, name }) =>
      problem(id, 'loop_without_pause', `The step "${name}" waits for an event that its own loop causes, and the loop has no other pause.`),
    ),
    ...graph.steps.flatMap(findMissingValue),
    ...(await findTriggerProblems(db, workflow, trigger.id)),
    ...(await findTemplateProblems(db, workflow.projectId, graph)),
    ...(await findSegmentProblems(db, workflow, graph)),
  ]
}

function findMissingValue({ id, config }: GraphStep): Problem[] {
  const message = missingOfWebhook(config)
  return message === undefined ? [] : [problem(id, 'value_missing', message)]
}

/** Events that Sterna records about emails. */
const EMAIL_EVENTS = new Set(
  ['sent', 'delivery', 'open', 'click', 'bounce', 'complaint', 'failed', 'received'].map((kind) => `email.${kind}`),
)

/** A trigger that cannot start the workflow. */
async function findTriggerProblems(db: Db, workflow: WorkflowRow, stepId: string): Promise<Problem[]> {
  const incomplete = (message: string) => [problem(stepId, 'trigger_incomplete', message)]
  if (workflow.triggerType === 'SCHEDULE')
    return nextFiringOf({ ...workflow, enabled: true }, new Date()) ? [] : incomplete('The schedule has a date that never comes.')
  if (workflow.triggerType !== 'EVENT') return []
  const name = workflow.triggerConfig.eventName as string
  if (name.startsWith('email.') && !EMAIL_EVENTS.has(name)) return incomplete(`Sterna records no event "${name}".`)
  const [, slug] = /^segment\.(.+)\.(?:entry|exit)$/s.exec(name) ?? []
  if (slug === undefined) return []
  const tracked = await maybeOne(db)`
    select 1 from segments where project_id = ${workflow.projectId} and slug = ${slug} and track_membership limit 1
  `
  return tracked ? [] : incomplete(`No segment with the slug "${slug}" tracks its membership.`)
}

async function findTemplateProblems(db: Db, projectId: string, { steps }: Graph): Promise<Problem[]> {
  const sending = steps.filter(({ templateId }) => templateId !== null)
  if (!sending.length) return []
  const found = await many<{ id: string; hasFrom: boolean }>(db)`
    select id, from_address is not null as "hasFrom" from templates
    where project_id = ${projectId} and id = any(${sending.map(({ templateId }) => templateId)}::uuid[])
  `
  const byId = new Map(found.map((template) => [template.id, template]))
  return sending.flatMap(({ id, templateId }) => {
    const template = byId.get(templateId!)
    if (!template) return [problem(id, 'template_missing', 'The template does not exist.')]
    return template.hasFrom ? [] : [problem(id, 'no_sender', 'The template has no "from" address.')]
  })
}

/** Segments are not deleted while a workflow uses them, except by a reset of the project that is under way. */
async function findSegmentProblems(db: Db, { projectId, triggerType, triggerConfig }: WorkflowRow, { steps }: Graph): Promise<Problem[]> {
  const uses: { stepId: string | null; segmentId: string }[] = steps.flatMap((step) =>
    segmentsOfStep(step).map((segmentId) => ({ stepId: step.id, segmentId })),
  )
  if (triggerType === 'SCHEDULE') uses.push({ stepId: null, segmentId: triggerConfig.segmentId as string })
  if (!uses.length) return []
  const known = await scalars<string>(db)`
    select id from segments where project_id = ${projectId} and id = any(${uses.map(({ segmentId }) => segmentId)}::uuid[])
  `
  return uses
    .filter(({ segmentId }) => !known.includes(segmentId))
    .map(({ stepId }) => problem(stepId, 'segment_missing', 'The segment does not exist.'))
}
