import { nextFiring, readCron } from '../../lib/calendar/cron.ts'
import { HOUR } from '../../lib/text/units.ts'
import type { ScheduleConfig } from './trigger.ts'
import type { WorkflowRow } from './workflow.ts'

type Schedule = Pick<WorkflowRow, 'enabled' | 'triggerType' | 'triggerConfig'>

/** A missed firing that is older than this is not made up for. */
const MAX_LATE_MS = HOUR

/** Undefined while the workflow has no schedule, is disabled, or its date never comes. */
export function nextFiringOf({ enabled, triggerType, triggerConfig }: Schedule, after: Date): Date | undefined {
  if (!enabled || triggerType !== 'SCHEDULE') return undefined
  const { schedule, timezone } = triggerConfig as ScheduleConfig
  const cron = readCron(schedule)
  return 'problem' in cron ? undefined : nextFiring(cron, timezone, after)
}

/**
 * The firing to make up for, if some were missed: the last one of the last hour. `due` is the first that was missed. Undefined if all are too
 * late. A schedule has at most 60 firings in an hour.
 */
export function lastMissedFiring(workflow: Schedule, { due, now }: { due: Date; now: Date }): Date | undefined {
  const earliest = now.getTime() - MAX_LATE_MS
  const isRecent = due.getTime() >= earliest
  let last = isRecent ? due : undefined
  const from = isRecent ? due : new Date(earliest - 1)
  for (let at = nextFiringOf(workflow, from); at && at <= now; at = nextFiringOf(workflow, at)) last = at
  return last
}
