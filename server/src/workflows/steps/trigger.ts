import type { StepKind } from './step.ts'

/** Where executions start. */
export const triggerKind: StepKind<Record<string, never>> = {
  name: 'Trigger',
  read: () => ({}),
  decide: () => ({ is: 'done' }),
  describe: ({ execution: { event } }) => event && { event: event.name },
}
