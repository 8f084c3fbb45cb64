import { readConditionText, readTreeText } from '../../../conditions/builder/condition-text.ts'
import { problemOfFilter } from '../../../conditions/builder/filter.ts'
import { BLANK_TREE, type ConditionLine, listFilters, type Tree } from '../../../conditions/builder/tree.ts'
import { describeCondition, describeField, describeFilter, type SegmentNames } from '../../../conditions/sentence/sentence.ts'
import type { Step } from '../graph/graph.ts'
import { textOf } from './step-view.ts'

/** Operators without a value, and those whose value is a period. */
export const WITHOUT_VALUE = new Set(['exists', 'notExists', 'triggered', 'notTriggered', 'memberOfSegment', 'notMemberOfSegment'])
export const WITH_UNIT = new Set(['within', 'olderThan', 'triggeredWithin', 'triggeredOlderThan', 'notTriggeredWithin'])

type Filter = { operator: string; value?: unknown }

/** The tree of a question with the branches yes and no. A single filter is its only line. */
export function treeOfConfig(config: Step['config']): Tree {
  // The server has checked stored configs, and JSON that was typed is checked for its shape.
  if (config.groups !== undefined) return 'problem' in readTreeText(JSON.stringify(config)) ? BLANK_TREE : (config as unknown as Tree)
  return { logic: 'AND', groups: [{ filters: [config as unknown as ConditionLine] }] }
}

/** The config of an edited tree, in the form that the step had: a single filter stays one as long as there is one line. */
export function configOfTree(tree: Tree, before: Step['config']): Step['config'] {
  const [line, ...others] = listFilters(tree)
  const isSingle = before.groups === undefined && line !== undefined && others.length === 0
  return isSingle ? { ...line.filter } : { ...tree }
}

/** The question of a CONDITION step as a sentence. */
export function describeQuestion(config: Step['config'], segments: SegmentNames): string {
  if (config.mode === 'multi') {
    const branches = Array.isArray(config.branches) ? config.branches.length : 0
    return `${describeField(textOf(config.field), segments)}: ${branches} ${branches === 1 ? 'answer' : 'answers'}`
  }
  if (config.groups !== undefined) {
    const read = readConditionText(JSON.stringify(config))
    // Stored conditions and typed ones have the same operators.
    return 'problem' in read ? read.problem : describeCondition(read.condition as Parameters<typeof describeCondition>[0], segments)
  }
  return describeFilter(config as Parameters<typeof describeFilter>[0], segments)
}

/** Why the question of a CONDITION step cannot be asked yet. */
export function problemOfQuestion(config: Step['config']): string | undefined {
  if (config.groups !== undefined) {
    const read = readConditionText(JSON.stringify(config))
    return 'problem' in read ? read.problem : undefined
  }
  if (config.mode !== 'multi') return problemOfFilter(config as unknown as ConditionLine)
  if (!textOf(config.field).trim()) return 'Choose the field to compare.'
  const branches = (config.branches ?? []) as (Filter & { name?: string })[]
  if (branches.length === 0) return 'Add an answer.'
  if (branches.some(({ name }) => !name?.trim())) return 'Name every answer.'
  return branches.map(problemOfValue).find(Boolean)
}

const problemOfValue = ({ operator, value }: Filter) =>
  !WITHOUT_VALUE.has(operator) && (value === undefined || value === '') ? 'Enter the value to compare with.' : undefined
