import { type Db, many, maybeOne, scalars } from '../../db/index.ts'
import { type Graph, selfEndingWaits, triggerOf, unreachableSteps } from './graph.ts'
import { nextFiringOf } from './schedule.ts'
import { segmentsOfStep } from './uses.ts'
import type { WorkflowRow } from './workflow.ts'

export type Problem = {
  stepId: string | null
  code: 'no_steps' | 'unreachable' | 'no_sender' | 'template_missing' | 'segment_missing' | 'trigger_incomplete' | 'loop_without_pause'
  message: string
}

/** What keeps a valid workflow from doing what it should. */
export async function findProblems(db: Db, workflow: WorkflowRow, graph: Graph): Promise<Problem[]> {
  const trigger = triggerOf(graph)
  const starts = graph.transitions.some(({ fromStepId }) => fromStepId === trigger.id)
  return [
    ...(starts ? [] : [{ stepId: trigger.id, code: 'no_steps' as const, message: 'Nothing follows the trigger.' }]),
    ...unreachableSteps(graph).map(({ id, name }) => ({
      stepId: id,
      code: 'unreachable' as const,
      message: `No execution comes to the step "${name}".`,
    })),
    ...selfEndingWaits(graph).map(({ id, name }) => ({
      stepId: id,
      code: 'loop_without_pause' as const,
      message: `The step "${name}" waits for an event that its own loop causes, and the loop has no other pause.`,
    })),
    ...(await findTriggerProblems(db, workflow, trigger.id)),
    ...(await findTemplateProblems(db, workflow.projectId, graph)),
    ...(await findSegmentProblems(db, workflow, graph)),
  ]
}

/** Events that Sterna records about emails. */
const EMAIL_EVENTS = new Set(
  ['sent', 'delivery', 'open', 'click', 'bounce', 'complaint', 'failed', 'received'].map((kind) => `email.${kind}`),
)

/** A trigger that cannot start the workflow. */
async function findTriggerProblems(db: Db, workflow: WorkflowRow, stepId: string): Promise<Problem[]> {
  const problem = (message: string): Problem[] => [{ stepId, code: 'trigger_incomplete', message }]
  if (workflow.triggerType === 'SCHEDULE')
    return nextFiringOf({ ...workflow, enabled: true }, new Date()) ? [] : problem('The schedule has a date that never comes.')
  if (workflow.triggerType !== 'EVENT') return []
  const name = workflow.triggerConfig.eventName as string
  if (name.startsWith('email.') && !EMAIL_EVENTS.has(name)) return problem(`Sterna records no event "${name}".`)
  const [, slug] = /^segment\.(.+)\.(?:entry|exit)$/s.exec(name) ?? []
  if (slug === undefined) return []
  const tracked = await maybeOne(db)`
    select 1 from segments where project_id = ${workflow.projectId} and slug = ${slug} and track_membership limit 1
  `
  return tracked ? [] : problem(`No segment with the slug "${slug}" tracks its membership.`)
}

async function findTemplateProblems(db: Db, projectId: string, { steps }: Graph): Promise<Problem[]> {
  const sending = steps.filter(({ templateId }) => templateId !== null)
  if (!sending.length) return []
  const found = await many<{ id: string; hasFrom: boolean }>(db)`
    select id, from_address is not null as "hasFrom" from templates
    where project_id = ${projectId} and id = any(${sending.map(({ templateId }) => templateId)}::uuid[])
  `
  const byId = new Map(found.map((template) => [template.id, template]))
  return sending.flatMap(({ id: stepId, templateId }): Problem[] => {
    const template = byId.get(templateId!)
    if (!template) return [{ stepId, code: 'template_missing', message: 'The template does not exist.' }]
    return template.hasFrom ? [] : [{ stepId, code: 'no_sender', message: 'The template has no "from" address.' }]
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
    .map(({ stepId }) => ({ stepId, code: 'segment_missing', message: 'The segment does not exist.' }))
}
