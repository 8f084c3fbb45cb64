import type { Body, Workflow } from '@sterna/sdk'

/** The fields of the settings. The fields of other triggers are kept while the user compares. */
export type SettingsValues = Pick<Workflow, 'name' | 'triggerType' | 'allowReentry'> & {
  [Key in 'description' | 'eventName' | 'schedule' | 'timezone' | 'segmentId']: string
}

const text = (value: unknown) => (typeof value === 'string' ? value : '')

export const workflowValuesOf = ({ name, description, triggerType, triggerConfig, allowReentry }: Workflow): SettingsValues => ({
  name,
  description: description ?? '',
  triggerType,
  allowReentry,
  eventName: text(triggerConfig.eventName),
  schedule: text(triggerConfig.schedule) || '0 9 * * 1',
  timezone: text(triggerConfig.timezone) || Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC',
  segmentId: text(triggerConfig.segmentId),
})

const triggerOf = ({ triggerType, eventName, schedule, timezone, segmentId }: SettingsValues) => {
  if (triggerType === 'MANUAL') return { triggerType, triggerConfig: {} }
  return { triggerType, triggerConfig: triggerType === 'EVENT' ? { eventName } : { schedule, timezone, segmentId } }
}

/** Only what differs. */
export function workflowChangesOf(saved: SettingsValues, values: SettingsValues): Body<'PATCH /workflows/{id}'> {
  return {
    ...(values.name !== saved.name && { name: values.name }),
    ...(values.description !== saved.description && { description: values.description.trim() || null }),
    ...(values.allowReentry !== saved.allowReentry && { allowReentry: values.allowReentry }),
    ...(JSON.stringify(triggerOf(values)) !== JSON.stringify(triggerOf(saved)) && triggerOf(values)),
  }
}

/** Why this cannot be saved; undefined if it can. */
export function workflowProblemOf({ name, triggerType, eventName, schedule, segmentId }: SettingsValues): string | undefined {
  if (!name.trim()) return 'the workflow needs a name'
  if (triggerType === 'EVENT' && !eventName.trim()) return 'name the event'
  if (triggerType === 'SCHEDULE' && !schedule.trim()) return 'enter the schedule'
  return triggerType === 'SCHEDULE' && !segmentId ? 'choose a segment' : undefined
}
