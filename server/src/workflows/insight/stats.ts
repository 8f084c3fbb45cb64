import { z } from 'zod'
import { type Db, maybeScalar } from '../../db/index.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { readGraph, type WorkflowRow } from '../definition/workflow.ts'
import { readFigures, stepFigures } from '../executions/figures.ts'
import { listFirings } from '../executions/fire.ts'
import { ALL_STEP_TYPES } from '../steps/kinds.ts'

export const WorkflowStats = z.object({
  version: z.int(),
  started: z.int().describe('Executions so far.'),
  executions: z.int().describe('Without those that were deleted by age.'),
  steps: z
    .array(
      z.object({
        stepId: z.uuid(),
        name: z.string(),
        type: z.enum(ALL_STEP_TYPES),
        entered: z.int().describe('Visits, without those of executions that were deleted by age. The sum of the figures below.'),
        waiting: z.int().describe('Visits that are open: executions at the step now.'),
        completed: z.int(),
        skipped: z.int().describe('The step did not apply to the contact, and the execution went on.'),
        failed: z.int(),
        cancelled: z.int().describe('The execution was cancelled while it was at the step.'),
      }),
    )
    .describe('`GET /workflows/{id}/steps/{stepId}/visits` lists the visits behind each figure.'),
  transitions: z.array(
    z.object({
      transitionId: z.uuid(),
      fromStepId: z.uuid(),
      toStepId: z.uuid(),
      branch: z.string().nullable(),
      taken: z.int().describe('So far, also by executions that were deleted by age.'),
    }),
  ),
  nextFiringAt: Timestamp.nullable().describe('Only for a SCHEDULE that is enabled.'),
  firings: z
    .array(
      z.object({
        firedFor: Timestamp,
        status: z.enum(['RUNNING', 'DONE', 'SKIPPED']),
        reason: z.string().nullable().describe('`under_way`: the firing before had not ended. `too_late`: missed by more than an hour.'),
        enrolled: z.int(),
        endedAt: Timestamp.nullable(),
      }),
    )
    .describe('The last firings of a SCHEDULE, newest first.'),
})

/** Figures of the current graph, over all versions that had the same steps and transitions. */
export async function readStats(db: Db, workflow: WorkflowRow): Promise<z.output<typeof WorkflowStats>> {
  const { projectId, id, version } = workflow
  const graph = await readGraph(db, workflow)
  const figure = await readFigures(db, { projectId, workflowId: id })
  return {
    version,
    started: figure(id, 'started'),
    executions: figure(id, 'started') - figure(id, 'dropped'),
    steps: graph.steps.map((step) => ({ stepId: step.id, name: step.name, type: step.type, ...stepFigures(figure, step.id) })),
    transitions: graph.transitions.map(({ id: transitionId, fromStepId, toStepId, branch }) => ({
      transitionId,
      fromStepId,
      toStepId,
      branch,
      taken: figure(transitionId, 'taken'),
    })),
    nextFiringAt:
      (await maybeScalar<Date | null>(db)`select next_firing_at from workflows where project_id = ${projectId} and id = ${id}`) ?? null,
    firings: await listFirings(db, workflow),
  }
}
