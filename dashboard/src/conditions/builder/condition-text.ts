import type { ConditionInput } from '@sterna/sdk'
import { problemOfFilter } from './filter.ts'
import { BLANK_TREE, listFilters, type Tree } from './tree.ts'

export type ReadCondition = { condition: ConditionInput } | { problem: string }

/** Reads a condition that can be sent to the server: every line is complete. The server checks what only it knows. */
export function readConditionText(text: string): ReadCondition {
  if (!text.trim()) return { problem: 'A condition is needed: nothing never means everyone.' }
  const read = readTreeText(text)
  if ('problem' in read) return read
  for (const { path, filter } of listFilters(read.tree)) {
    const problem = problemOfFilter(filter)
    if (problem) return { problem: `condition.${path}: ${problem}` }
  }
  // Has the shape of a condition, which was just checked.
  return { condition: read.tree as ConditionInput }
}

/** Reads a condition that is being written: lines may lack their values. No text is a condition without lines. */
export function readTreeText(text: string): { tree: Tree } | { problem: string } {
  if (!text.trim()) return { tree: BLANK_TREE }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { problem: `This is not JSON: ${(error as Error).message}` }
  }
  const problem = problemOfTree(value, 'condition')
  // Has the shape of a tree, which was just checked.
  return problem ? { problem } : { tree: value as Tree }
}

type Raw = Record<string, unknown>
const isObject = (value: unknown): value is Raw => typeof value === 'object' && value !== null && !Array.isArray(value)

function problemOfTree(value: unknown, path: string): string | undefined {
  if (!isObject(value)) return `${path} must be an object with "logic" and "groups".`
  if (value.logic !== 'AND' && value.logic !== 'OR') return `${path}.logic must be "AND" or "OR".`
  if (!Array.isArray(value.groups) || value.groups.length === 0) return `${path}.groups must be a list with at least one group.`
  return firstProblem(value.groups, (group, index) => problemOfGroup(group, `${path}.groups.${index}`))
}

function problemOfGroup(group: unknown, path: string): string | undefined {
  if (!isObject(group)) return `${path} must be an object with "filters".`
  const { filters = [], conditions } = group
  if (!Array.isArray(filters)) return `${path}.filters must be a list.`
  if (filters.length === 0 && conditions === undefined) return `${path} has no filter.`
  const wrong = firstProblem(filters, (filter, index) => problemOfFilterShape(filter, `${path}.filters.${index}`))
  return wrong ?? (conditions === undefined ? undefined : problemOfTree(conditions, `${path}.conditions`))
}

function problemOfFilterShape(filter: unknown, path: string): string | undefined {
  if (!isObject(filter)) return `${path} must be an object with "field" and "operator".`
  if (typeof filter.field !== 'string') return `${path}.field must be a text.`
  return typeof filter.operator === 'string' ? undefined : `${path}.operator must be a text.`
}

function firstProblem(items: unknown[], problemOf: (item: unknown, index: number) => string | undefined): string | undefined {
  for (const [index, item] of items.entries()) {
    const problem = problemOf(item, index)
    if (problem) return problem
  }
  return undefined
}

/** As it is shown in the editor. A condition without lines is no text. */
export const printCondition = (condition: { groups?: unknown[] } | null | undefined): string =>
  condition && condition.groups?.length !== 0 ? JSON.stringify(condition, null, 2) : ''

type Filter = ConditionInput['groups'][number]['filters'][number]

/** The filter at a path that the server names, such as `groups.0.filters.1`. */
export function filterAt(condition: ConditionInput, path: string): Filter | undefined {
  const steps = path.split('.')
  const found = steps.reduce<unknown>(
    (part, step) => (typeof part === 'object' && part !== null ? (part as Record<string, unknown>)[step] : undefined),
    condition,
  )
  // Paths of the preview lead to filters.
  return isObject(found) && typeof found.field === 'string' ? (found as Filter) : undefined
}
