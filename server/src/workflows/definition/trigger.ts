import { z } from 'zod'
import { parseAt } from '../../http/core/validate.ts'
import { readCron } from '../../lib/calendar/cron.ts'
import { isTimezone } from '../../lib/calendar/timezone.ts'
import { invalid } from '../../lib/errors/errors.ts'
import { ListenedEvent } from '../steps/wait-for-event.ts'

export const TRIGGER_TYPES = ['EVENT', 'MANUAL', 'SCHEDULE'] as const
export type TriggerType = (typeof TRIGGER_TYPES)[number]

const EventTrigger = z.object({ eventName: ListenedEvent })
const ScheduleTrigger = z.object({
  schedule: z.string().trim().min(1).max(255),
  timezone: z.string().max(100).nullish(),
  segmentId: z.uuid(),
})

export type ScheduleConfig = { schedule: string; timezone: string; segmentId: string }

/** Reads the config of a trigger that a caller sent. Whether the segment exists is checked when it is stored. */
export function readTrigger(type: TriggerType, given: unknown): Record<string, unknown> {
  const config = given ?? {}
  if (type === 'MANUAL') return {}
  if (type === 'EVENT') return parseAt(EventTrigger, config, 'triggerConfig')
  const { schedule, timezone, segmentId } = parseAt(ScheduleTrigger, config, 'triggerConfig')
  const cron = readCron(schedule)
  if ('problem' in cron) invalid('triggerConfig.schedule', cron.problem, 'invalid_string')
  const zone = timezone ?? 'UTC'
  if (!isTimezone(zone)) invalid('triggerConfig.timezone', 'Must be a time zone such as Europe/Berlin.', 'invalid_string')
  return { schedule, timezone: zone, segmentId: segmentId.toLowerCase() } satisfies ScheduleConfig
}
