import type { Condition } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { segmentNamesQuery } from '../../data/segments.ts'
import { useProject } from '../../projects/current.ts'
import { describeCondition } from './sentence.ts'

const mentionsSegment = (condition: Condition) => JSON.stringify(condition).includes('"segment.')

/** A condition as a sentence, with the names of the segments that it mentions. */
export function ConditionSentence({ condition }: { condition: Condition }) {
  const project = useProject()
  const names = useQuery({ ...segmentNamesQuery(project.id), enabled: mentionsSegment(condition) }).data
  if (mentionsSegment(condition) && !names) return '…'
  return describeCondition(condition, names ?? {})
}
