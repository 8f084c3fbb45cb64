import type { DesignBlock } from '../../templates/design/schema.ts'
import type { StepType } from '../steps/kinds.ts'

/** A template that a recipe brings along. */
export type RecipeEmail = {
  name: string
  subject: string
  previewText: string
  /** Marketing by default. */
  type?: 'MARKETING' | 'TRANSACTIONAL'
  content: DesignBlock[]
}

/**
 * A step, and what follows it by its branches; the plain one is named ''. Branches that are not named, or that end without EXIT, go on with
 * the step after this one.
 */
export type RecipeStep = {
  type: StepType
  name: string
  config?: Record<string, unknown>
  /** The key of the email that it sends. */
  email?: string
  branches?: Record<string, RecipeStep[]>
  /** The name of the step that follows, further up: a loop. */
  again?: string
}

export type RecipeTrigger =
  | { type: 'EVENT'; eventName: string }
  /** Takes the members of a segment, which the recipe makes. */
  | { type: 'SCHEDULE'; schedule: string; segment: { name: string; description: string; condition: object } }

export type RecipeNeed = { kind: 'event' | 'field'; name: string; when: string; data: Record<string, unknown> }

export type Recipe = {
  key: string
  name: string
  description: string
  trigger: RecipeTrigger
  allowReentry: boolean
  needs: RecipeNeed[]
  emails: Record<string, RecipeEmail>
  steps: RecipeStep[]
}

export const send = (email: string, name: string): RecipeStep => ({ type: 'SEND_EMAIL', name, email })
export const wait = (amount: number, unit: 'hours' | 'days'): RecipeStep => ({
  type: 'DELAY',
  name: `Wait ${amount} ${unit}`,
  config: { amount, unit },
})
/** Goes on with `then` if the event does not happen within this time, and ends if it does. */
export const unless = (eventName: string, { days = 0, hours = 0 }, name: string, then: RecipeStep[]): RecipeStep => ({
  type: 'WAIT_FOR_EVENT',
  name,
  config: { eventName, timeout: (days * 24 + hours) * 3_600 },
  branches: { '': [{ type: 'EXIT', name: 'It happened', config: { reason: eventName } }], timeout: then },
})
/** Asks whether the event has ever happened. */
export const ifHappened = (eventName: string, name: string, yes: RecipeStep[], no: RecipeStep[]): RecipeStep => ({
  type: 'CONDITION',
  name,
  config: { field: `event.${eventName}`, operator: 'triggered' },
  branches: { yes, no },
})
export const exit = (name: string, reason: string): RecipeStep => ({ type: 'EXIT', name, config: { reason } })
