import { z } from 'zod'
import { COMPARISONS, type Operator } from '../../conditions/operators.ts'
import { isExpression, printExpressionText, printPath, quoteLiquid } from './liquid.ts'

/** Comparisons that rendering can make. Events and segments are not known then. */
const RENDERED_OPERATORS = [
  'equals',
  'notEquals',
  'contains',
  'notContains',
  ...COMPARISONS,
  'exists',
  'notExists',
] as const satisfies Operator[]

const SYMBOLS: Partial<Record<Operator, string>> = {
  equals: '==',
  notEquals: '!=',
  greaterThan: '>',
  lessThan: '<',
  greaterThanOrEqual: '>=',
  lessThanOrEqual: '<=',
}

const FIELD = /^(?:email|subscribed|createdAt|locale|data\.[^{}%"'`\\\p{Cc}]+)$/u

/** When the blocks inside are shown: a field, an operator and a value as in the conditions of segments, or an expression of the template language. */
export const BlockCondition = z.object({
  field: z.string().max(255).regex(FIELD, 'Must be email, subscribed, createdAt, locale or data.<field>.').nullish(),
  operator: z.enum(RENDERED_OPERATORS).nullish(),
  value: z.union([z.string().max(1_000), z.number(), z.boolean()]).nullish(),
  expression: z
    .string()
    .max(1_000)
    .nullish()
    .refine((text) => !text || isExpression(text), 'Must be a condition of the template language, such as plan == "pro".'),
})
type BlockCondition = z.output<typeof BlockCondition>

/** The missing part. Undefined when the condition is complete. */
export function missingPart({
  field,
  operator,
  value,
  expression,
}: BlockCondition): { key: 'field' | 'operator' | 'value'; message: string } | undefined {
  if (expression) return undefined
  if (!field) return { key: 'field', message: 'Give a field, an operator and a value, or an expression.' }
  if (!operator) return { key: 'operator', message: 'Required.' }
  const needsValue = operator !== 'exists' && operator !== 'notExists'
  return needsValue && (value === undefined || value === null) ? { key: 'value', message: 'Required.' } : undefined
}

/** The tags around the blocks. */
export function conditionTags({ field, operator, value, expression }: BlockCondition): [open: string, close: string] {
  if (expression) return ifTags(printExpressionText(expression))
  const path = printPath(field!)
  const given = typeof value === 'string' ? quoteLiquid(value) : String(value)
  if (operator === 'exists') return ifTags(`${path} != nil`)
  if (operator === 'notExists') return ifTags(`${path} == nil`)
  // As in segments, letter case does not matter.
  const containing = `(${path} | downcase) contains ${quoteLiquid(String(value).toLowerCase())}`
  if (operator === 'contains') return ifTags(containing)
  if (operator === 'notContains') return [`{% unless ${containing} %}`, '{% endunless %}']
  return ifTags(`${path} ${SYMBOLS[operator!]} ${given}`)
}

const ifTags = (test: string): [string, string] => [`{% if ${test} %}`, '{% endif %}']
