import { nextFiring, readCron } from './cron.ts'
import type { ScheduleConfig } from './trigger.ts'
import type { WorkflowRow } from './workflow.ts'

/** Undefined while the workflow has no schedule, is disabled, or its date never comes. */
export function nextFiringOf(
  { enabled, triggerType, triggerConfig }: Pick<WorkflowRow, 'enabled' | 'triggerType' | 'triggerConfig'>,
  after: Date,
): Date | undefined {
  if (!enabled || triggerType !== 'SCHEDULE') return undefined
  const { schedule, timezone } = triggerConfig as ScheduleConfig
  const cron = readCron(schedule)
  return 'problem' in cron ? undefined : nextFiring(cron, timezone, after)
}
