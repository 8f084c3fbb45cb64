import type { Step, StepType } from './graph.ts'

/** A way out of a step. `branch` null is the plain transition. */
export type Branch = { branch: string | null; label: string }
type Config = Step['config']

/** The ways out of a CONDITION step: yes and no, or one for each answer. */
function answersOf(config: Config): Branch[] {
  if (config.mode !== 'multi')
    return [
      { branch: 'yes', label: 'Yes' },
      { branch: 'no', label: 'No' },
    ]
  const branches = Array.isArray(config.branches) ? (config.branches as { id: string; name?: string }[]) : []
  return [...branches.map(({ id, name }) => ({ branch: id, label: name || id })), { branch: 'default', label: 'None of these' }]
}

/** The kinds of steps that do not have exactly one plain transition. */
const BRANCHES: Partial<Record<StepType, (config: Config) => Branch[]>> = {
  CONDITION: answersOf,
  WAIT_FOR_EVENT: () => [
    { branch: null, label: 'When it happens' },
    { branch: 'timeout', label: 'When the time is over' },
  ],
  EXIT: () => [],
}

/** The branches that a step can have, in the order in which they are shown. */
export const branchesOf = ({ type, config }: Pick<Step, 'type' | 'config'>): Branch[] =>
  BRANCHES[type]?.(config) ?? [{ branch: null, label: 'Then' }]
