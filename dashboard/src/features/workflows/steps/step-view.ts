import type { Workflow } from '@sterna/sdk'
import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Command } from '../commands/commands.ts'
import type { Graph, Step } from '../graph/graph.ts'

export type StepFormProps = {
  step: Step
  workflow: Workflow
  graph: Graph
  /** `what` names the field that is typed into. */
  onStep: (step: Step, what?: string) => void
  onCommand: (command: Command) => unknown
}

type Names = { templates: Record<string, string>; segments: Record<string, string> }
type Config = Step['config']

/** Everything that the dashboard shows of one kind of step. */
export type StepView = {
  word: string
  Icon: LucideIcon
  /** The config of a new step. Required choices are empty. Undefined: it cannot be added. */
  newConfig?: Config
  /** The step in one line. */
  describe: (config: Config, names: Names) => string
  /** Why a step cannot work yet; undefined if it can. The server checks all of it again. */
  problem?: (config: Config) => string | undefined
  /** Whether time passes at the step. A loop needs such a step. */
  pauses?: true
  Form: (props: StepFormProps) => ReactNode
  /** The result of a simulation. A kind without this shows it as JSON. */
  Result?: (props: { result: Record<string, unknown> }) => ReactNode
}

/** Changes some keys of the config of a step. */
export const setterOf =
  ({ step, onStep }: Pick<StepFormProps, 'step' | 'onStep'>) =>
  (patch: Record<string, unknown>, field = '') =>
    onStep({ ...step, config: { ...step.config, ...patch } }, field && `${step.id} ${field}`)

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Text of an input as the value it looks like: `3` is a number, `true` a boolean, `null` deletes a field. */
export function parseValue(input: string): string | number | boolean | null {
  if (input === 'true' || input === 'false') return input === 'true'
  if (input === 'null') return null
  return /^-?\d+(\.\d+)?$/.test(input) ? Number(input) : input
}
