import { sql } from 'kysely'
import type { SegmentLookup } from '../../conditions/expression.ts'
import { eventsOf } from '../../conditions/references.ts'
import { many, type Tx } from '../../db/index.ts'
import { invalid } from '../../lib/errors.ts'
import { loadLookup } from '../../segments/expressions.ts'
import type { Graph, GraphStep } from './graph.ts'
import { compileCondition, referencesOfCondition, type StepCondition } from './step-condition.ts'
import type { StepConfigs } from './step-config.ts'

/** What a graph mentions, stored beside it: usage and references are found by a query. */
export type GraphUses = {
  fields: string[]
  standard: string[]
  events: string[]
  segments: string[]
  templates: string[]
  awaited: string[]
  ids: string[]
}

const unique = (values: string[]) => [...new Set(values)]

export function usesOfGraph({ steps, transitions }: Graph): GraphUses {
  const conditions = steps.filter(({ type }) => type === 'CONDITION').map(({ config }) => config as StepCondition)
  const references = conditions.map(referencesOfCondition)
  const asked = conditions.flatMap((condition) => compileCondition(condition, AS_STATIC).cases.map(({ expression }) => expression))
  return {
    fields: unique([...references.flatMap(({ fields }) => fields), ...steps.flatMap(updatedFields)]),
    standard: unique(references.flatMap(({ standard }) => standard)),
    events: unique([...eventsOf(asked).map(({ name }) => name), ...awaitedEvents({ steps, transitions })]),
    segments: unique(references.flatMap(({ segments }) => segments)),
    templates: unique(steps.flatMap(({ templateId }) => templateId ?? [])),
    awaited: awaitedEvents({ steps, transitions }),
    ids: [...steps, ...transitions].map(({ id }) => id),
  }
}

/** Segments are named, not opened. */
const AS_STATIC: SegmentLookup = () => ({ type: 'STATIC' })

const updatedFields = ({ type, config }: GraphStep) =>
  type === 'UPDATE_CONTACT' ? Object.keys((config as StepConfigs['UPDATE_CONTACT']).updates) : []

const awaitedEvents = ({ steps }: Graph): string[] =>
  unique(steps.flatMap(({ type, config }) => (type === 'WAIT_FOR_EVENT' ? [(config as StepConfigs['WAIT_FOR_EVENT']).eventName] : [])))

/**
 * Refuses references to templates and segments that do not exist. Templates are locked until the transaction ends, so that none is deleted
 * meanwhile. The caller holds the lock of the project's segments. `pathOf` is the place of a step in the request.
 */
export async function checkGraphReferences(tx: Tx, projectId: string, steps: GraphStep[], pathOf: (step: GraphStep) => string) {
  await checkTemplates(tx, projectId, steps, pathOf)
  const conditions = steps.filter(({ type }) => type === 'CONDITION')
  const ids = conditions.flatMap(({ config }) => referencesOfCondition(config as StepCondition).segments)
  const lookup = await loadLookup(tx, projectId, unique(ids))
  for (const step of conditions) compileCondition(step.config as StepCondition, lookup, `${pathOf(step)}config`)
}

async function checkTemplates(tx: Tx, projectId: string, steps: GraphStep[], pathOf: (step: GraphStep) => string) {
  const ids = unique(steps.flatMap(({ templateId }) => templateId ?? []))
  if (!ids.length) return
  const rows = await many(
    tx,
    sql<{ id: string }>`
      select id from templates where project_id = ${projectId} and id = any(${ids}::uuid[]) order by id for key share
    `,
  )
  const known = new Set(rows.map(({ id }) => id))
  const wrong = steps.find(({ templateId }) => templateId !== null && !known.has(templateId))
  if (wrong) invalid(`${pathOf(wrong)}config.templateId`, 'No such template.')
}
