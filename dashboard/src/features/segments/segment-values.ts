import type { Body, Segment } from '@sterna/sdk'
import { printCondition, readConditionText } from '../../conditions/builder/condition-text.ts'

export type SegmentValues = {
  name: string
  description: string
  /** JSON; empty for a static segment, and for a condition without lines. */
  condition: string
  trackMembership: boolean
}

export const segmentValuesOf = ({ name, description, condition, trackMembership }: Segment): SegmentValues => ({
  name,
  description: description ?? '',
  condition: printCondition(condition),
  trackMembership,
})

export const BLANK_SEGMENT: SegmentValues = { name: '', description: '', condition: '', trackMembership: false }

/** A new segment with a condition. */
export function newSegmentOf({ name, description, condition, trackMembership }: SegmentValues): Body<'POST /segments'> {
  const read = readConditionText(condition)
  return {
    name: name.trim(),
    ...(description.trim() && { description: description.trim() }),
    ...('condition' in read && { condition: read.condition }),
    trackMembership,
  }
}

/** Only what differs: an unchanged condition must not be computed again. */
export function segmentChangesOf(saved: SegmentValues, values: SegmentValues): Body<'PATCH /segments/{id}'> {
  const read = readConditionText(values.condition)
  return {
    ...(values.name !== saved.name && { name: values.name.trim() }),
    ...(values.description !== saved.description && { description: values.description.trim() || null }),
    ...(values.condition !== saved.condition && 'condition' in read && { condition: read.condition }),
    ...(values.trackMembership !== saved.trackMembership && { trackMembership: values.trackMembership }),
  }
}

/** Why this cannot be saved; undefined if it can. */
export function segmentProblemOf({ name, condition }: SegmentValues, isStatic: boolean): string | undefined {
  if (!name.trim()) return 'the segment needs a name'
  return !isStatic && 'problem' in readConditionText(condition) ? 'the condition is not complete' : undefined
}

/** The consequence of saving, in words. */
export function segmentConsequenceOf(saved: SegmentValues, values: SegmentValues): string {
  if (values.trackMembership && !saved.trackMembership) return 'Saving records an entry event for every member.'
  if (values.condition !== saved.condition)
    return values.trackMembership
      ? 'Saving changes who is in the segment at once, and records an event for everyone who enters or leaves.'
      : 'Saving changes who is in the segment at once, also for campaigns that have not started.'
  if (!values.trackMembership && saved.trackMembership) return 'Saving stops the recording of entries and exits.'
  return 'Saving changes what you see here; the members stay the same.'
}
