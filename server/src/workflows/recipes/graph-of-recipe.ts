import { newId } from '../../lib/id.ts'
import { newStep, newTransition } from '../definition/edit-graph.ts'
import type { Graph, GraphStep } from '../definition/graph.ts'
import { kindOf } from '../steps/kinds.ts'
import type { RecipeStep } from './recipe.ts'

type Place = { fromStepId: string; branch: string | null }

/** The config of a step as it is stored. */
type ReadConfig = (step: RecipeStep) => Promise<Pick<GraphStep, 'config' | 'templateId'>>

/** The graph of a recipe: its steps after a TRIGGER step, with transitions between them. */
export async function graphOfRecipe(steps: RecipeStep[], readConfig: ReadConfig, now: string): Promise<Graph> {
  const trigger = newStep({ type: 'TRIGGER', config: {}, templateId: null }, now)
  const graph: Graph = { steps: [trigger], transitions: [] }
  const lead = ({ fromStepId, branch }: Place, toStepId: string) =>
    graph.transitions.push(newTransition({ fromStepId, toStepId, branch }, now))

  /** Returns the places that the line leaves open. */
  async function addLine(line: RecipeStep[], from: Place[]): Promise<Place[]> {
    let open = from
    for (const each of line) {
      const step = newStep({ id: newId(), type: each.type, name: each.name, ...(await readConfig(each)) }, now)
      graph.steps.push(step)
      for (const place of open) lead(place, step.id)
      open = await addBranches(each, step)
    }
    return open
  }

  async function addBranches({ branches = {}, again }: RecipeStep, step: GraphStep): Promise<Place[]> {
    const open: Place[] = []
    for (const branch of kindOf(step.type).branches?.(step.config) ?? [null]) {
      const place = { fromStepId: step.id, branch }
      // A wait without a transition of its own for the timeout takes the plain one.
      if (branch === 'timeout' && !branches.timeout) continue
      open.push(...(await addLine(branches[branch ?? ''] ?? [], [place])))
    }
    const back = again === undefined ? undefined : graph.steps.find(({ name }) => name === again)
    if (!back) return open
    for (const place of open) lead(place, back.id)
    return []
  }
  await addLine(steps, [{ fromStepId: trigger.id, branch: null }])
  return graph
}
