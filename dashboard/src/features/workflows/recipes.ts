import { insertStep } from './commands/edit.ts'
import { type Graph, newId, type Place, type Step, triggerOf } from './graph/graph.ts'
import { branchesOf } from './steps/views.ts'

type NewStep = Pick<Step, 'type' | 'name' | 'config'>
export type Recipe = { id: string; label: string; name: string; event: string; steps: NewStep[] }

const wait = (amount: number, unit: 'hours' | 'days'): NewStep => ({
  type: 'DELAY',
  name: `Wait ${amount} ${unit}`,
  config: { amount, unit },
})
/** Sending steps need a template of the project: the user adds those. */
export const RECIPES: Recipe[] = [
  { id: 'blank', label: 'Blank', name: '', event: 'signup', steps: [] },
  {
    id: 'trial',
    label: 'Trial ending: wait, ask whether they bought',
    name: 'Trial ending',
    event: 'trial started',
    steps: [
      wait(11, 'days'),
      { type: 'CONDITION', name: 'Bought already?', config: { field: 'event.purchase', operator: 'triggered' } },
      { type: 'EXIT', name: 'Bought', config: { reason: 'bought' } },
    ],
  },
  {
    id: 'activation',
    label: 'Activation: wait for the first use',
    name: 'Activation',
    event: 'signup',
    steps: [
      { type: 'WAIT_FOR_EVENT', name: 'First project', config: { eventName: 'project created', timeout: 3 * 86_400 } },
      { type: 'UPDATE_CONTACT', name: 'Mark as active', config: { updates: { active: true }, subscriptionAction: 'none' } },
    ],
  },
  {
    id: 'pause',
    label: 'Follow-up: wait a day',
    name: 'Follow-up',
    event: 'signup',
    steps: [wait(1, 'days')],
  },
]

/** The steps of a recipe after the trigger, one after the other. */
export function withRecipe(graph: Graph, { steps }: Pick<Recipe, 'steps'>): Graph {
  let place: Place = { fromStepId: triggerOf(graph).id, branch: null }
  let result = graph
  for (const step of steps) {
    const added = { ...step, id: newId(), position: { x: 0, y: 0 } }
    result = insertStep(result, place, added)
    place = { fromStepId: added.id, branch: branchesOf(added)[0]?.branch ?? null }
  }
  return result
}
