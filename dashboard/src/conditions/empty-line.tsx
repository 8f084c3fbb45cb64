import type { Condition, Result } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { conditionPreviewQuery, segmentNamesQuery } from '../data/segments.ts'
import { useProject } from '../projects/current.ts'
import { filterAt } from './builder/condition-text.ts'
import { describeFilter } from './sentence/sentence.ts'

type Lines = Result<'POST /segments/preview'>['perFilter']

/** In words, the first line of a condition that leaves no contact. */
export function describeEmptyLine(condition: Condition, lines: Lines, segments: Record<string, string>): string | undefined {
  const line = lines.find(({ remaining }) => remaining === 0)
  if (!line) return undefined
  const { path, remaining: _, ...filter } = line
  return describeFilter(filterAt(condition, path) ?? filter, segments)
}

/** Why a condition matches no contact. */
export function EmptyLine({ condition }: { condition: Condition }) {
  const project = useProject()
  const preview = useQuery(conditionPreviewQuery(project.id, condition)).data
  const names = useQuery(segmentNamesQuery(project.id)).data ?? {}
  const line = preview && describeEmptyLine(condition, preview.perFilter, names)
  return line ? <>The line “{line}” leaves nobody. </> : null
}
