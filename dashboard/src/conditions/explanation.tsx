import type { ConditionExplanation } from '@sterna/sdk'
import { Check, X } from 'lucide-react'
import { describeFilter, type SegmentNames } from './sentence/sentence.ts'

type Filter = ConditionExplanation['groups'][number]['filters'][number]

/** A condition for one contact: each line holds or does not, with the actual value. */
export function Explanation({ explanation, segments }: { explanation: ConditionExplanation; segments: SegmentNames }) {
  const { logic, groups } = explanation
  return (
    <ul className="space-y-2">
      {groups.map(({ matches, filters, conditions }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: groups have no ids, and never change places here
        <li key={index}>
          {index > 0 && <p className="pb-2 text-muted text-xs">{logic === 'AND' ? 'and' : 'or'}</p>}
          <div className={`rounded-lg border-l-2 py-1 pl-3 ${matches ? 'border-good' : 'border-danger'}`}>
            <ul className="space-y-1.5">
              {filters.map((filter, number) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: filters have no ids
                <FilterLine key={number} filter={filter} segments={segments} />
              ))}
            </ul>
            {conditions && (
              <div className="mt-2">
                {filters.length > 0 && <p className="pb-1 text-muted text-xs">and</p>}
                <Explanation explanation={conditions} segments={segments} />
              </div>
            )}
          </div>
        </li>
      ))}
    </ul>
  )
}

function FilterLine({ filter, segments }: { filter: Filter; segments: SegmentNames }) {
  const { matches, actual, fieldDeleted, segment } = filter
  return (
    <li className="flex gap-2 text-ui">
      {matches ? (
        <Check className="mt-0.5 size-4 shrink-0 text-good" aria-label="Holds" />
      ) : (
        <X className="mt-0.5 size-4 shrink-0 text-danger" aria-label="Does not hold" />
      )}
      <span className="min-w-0 flex-1">
        <span className="wrap-break-word">{describeFilter(filter, segments)}</span>
        <span className="block wrap-break-word text-muted text-xs">
          {fieldDeleted ? 'This field was deleted.' : showActual(filter.field, actual)}
        </span>
        {segment && (
          <div className="mt-1.5">
            <Explanation explanation={segment} segments={segments} />
          </div>
        )}
      </span>
    </li>
  )
}

/** The contact's value of the field, in words. */
function showActual(field: string, actual: unknown): string {
  if (field.startsWith('segment.')) return actual ? 'Is a member.' : 'Is not a member.'
  if (actual === null || actual === undefined)
    return field === 'email' || field.startsWith('data.') ? 'Has no value.' : 'It never happened.'
  return `Actual value: ${typeof actual === 'string' ? actual : JSON.stringify(actual)}`
}
