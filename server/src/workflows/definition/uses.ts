import { scalars, type Tx } from '../../db/index.ts'
import { invalid } from '../../lib/errors/errors.ts'
import { loadLookup } from '../../segments/definition/expressions.ts'
import { kindOf } from '../steps/kinds.ts'
import type { StepUses } from '../steps/step.ts'
import { awaitedBy, type Graph, type GraphStep } from './graph.ts'

/** References of a graph, stored beside it: a query finds usage and references. */
type GraphUses = StepUses & { segments: string[]; templates: string[]; awaited: string[]; ids: string[] }

const unique = (values: string[]) => [...new Set(values)]

/** The segments that a step asks for. */
export const segmentsOfStep = ({ type, config }: GraphStep): string[] => kindOf(type).segments?.(config) ?? []

export function usesOfGraph({ steps, transitions }: Graph): GraphUses {
  const uses = steps.map(({ type, config }) => kindOf(type).uses?.(config) ?? {})
  const all = (of: keyof StepUses) => uses.flatMap((each) => each[of] ?? [])
  const awaited = unique(steps.flatMap((step) => awaitedBy(step) ?? []))
  return {
    fields: unique(all('fields')),
    standard: unique(all('standard')),
    events: unique([...all('events'), ...awaited]),
    segments: unique(steps.flatMap(segmentsOfStep)),
    templates: unique(steps.flatMap(({ templateId }) => templateId ?? [])),
    awaited,
    ids: [...steps, ...transitions].map(({ id }) => id),
  }
}

/**
 * Refuses references to templates and segments that do not exist. Templates are locked until the transaction ends, so that none is deleted,
 * or changed by a caller that may not send, meanwhile. The caller holds the lock of the project's segments. `pathOf` is the place of a step in the request.
 */
export async function checkGraphReferences(tx: Tx, projectId: string, steps: GraphStep[], pathOf: (step: GraphStep) => string) {
  await checkTemplates(tx, projectId, steps, pathOf)
  const lookup = await loadLookup(tx, projectId, unique(steps.flatMap(segmentsOfStep)))
  for (const step of steps) kindOf(step.type).checkSegments?.(step.config, lookup, `${pathOf(step)}config`)
}

async function checkTemplates(tx: Tx, projectId: string, steps: GraphStep[], pathOf: (step: GraphStep) => string) {
  const ids = unique(steps.flatMap(({ templateId }) => templateId ?? []))
  if (!ids.length) return
  const known = await scalars<string>(tx)`
    select id from templates where project_id = ${projectId} and id = any(${ids}::uuid[]) order by id for share
  `
  const wrong = steps.find(({ templateId }) => templateId !== null && !known.includes(templateId))
  if (wrong) invalid(`${pathOf(wrong)}config.templateId`, 'No such template.')
}
