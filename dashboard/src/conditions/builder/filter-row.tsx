import { X } from 'lucide-react'
import { memo, useId, useRef } from 'react'
import { IconButton } from '../../ui/form/button.tsx'
import { Select } from '../../ui/form/input.tsx'
import { describeFilter } from '../sentence/sentence.ts'
import { useBuilder } from './builder-context.ts'
import { FieldPicker } from './field-picker.tsx'
import type { FieldChoice, FieldType } from './fields.ts'
import { operatorsOf, problemOfFilter, type Row, readRow, withField, withOperator, withType } from './filter.ts'
import { Joint } from './joint.tsx'
import { type ConditionLine, changeFilter, keyOf, listFilters, readPath, removeFilter } from './tree.ts'
import { ValueInput } from './value-input.tsx'

type FilterRowProps = {
  filter: ConditionLine
  /** Path of its group, as in `readPath`, and its place in it. */
  path: string
  index: number
  /** The refusal of the server. */
  problem: string | undefined
}

/** A line of a condition. Rendered again only if something of its own changed: a condition may have a hundred of them. */
export const FilterRow = memo(function FilterRow({ filter, path, index, problem }: FilterRowProps) {
  const { catalog, edit, focus } = useBuilder()
  const id = useId()
  const type = useRef<FieldType | undefined>(undefined)
  const row = readRow(filter, catalog, type.current)
  type.current = row?.type ?? type.current
  const key = keyOf(filter)
  const isBlank = filter.field === ''
  const text = isBlank ? 'this line' : describeLine(filter, row)
  const incomplete = isBlank || row ? problemOfFilter(filter) : undefined

  const change = (next: ConditionLine, what?: string) =>
    next !== filter && edit((tree) => changeFilter(tree, readPath(path), index, next), what && `${key} ${what}`)

  function chooseField(choice: FieldChoice) {
    type.current = choice.type
    change(withField(filter, choice, row))
  }
  function chooseType(next: FieldType) {
    type.current = next
    change(withType(filter, next))
  }
  function remove() {
    edit((tree) => {
      const lines = listFilters(tree)
      const at = lines.findIndex((line) => line.filter === filter)
      const neighbour = lines[at + 1] ?? lines[at - 1]
      focus(neighbour ? { line: keyOf(neighbour.filter) } : 'add')
      return removeFilter(tree, readPath(path), index)
    })
  }
  return (
    <div data-line={key} className="flex gap-2">
      <Joint text={index > 0 ? 'and' : ''} />
      <div className="min-w-0 flex-1">
        <div className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-2 @xl:grid-cols-[minmax(0,5fr)_minmax(0,4fr)_minmax(0,5fr)_auto]">
          {row || isBlank ? (
            <>
              <FieldPicker
                catalog={catalog}
                chosen={row?.field}
                onChoose={chooseField}
                describedBy={problem || incomplete ? id : undefined}
              />
              {row && (
                <div className="flex min-w-0 gap-2 @max-xl:col-span-2 *:min-w-0 *:flex-1">
                  {row.field.type === undefined && (
                    <Select
                      aria-label={`Type of ${row.field.label}`}
                      options={DATA_TYPES}
                      value={row.type}
                      onChange={(event) => chooseType(event.target.value as FieldType)}
                    />
                  )}
                  <Select
                    aria-label={`Comparison of ${row.field.label}`}
                    options={operatorsOf({ field: filter.field, type: row.type })}
                    value={filter.operator}
                    onChange={(event) => change(withOperator(filter, event.target.value, row.type))}
                  />
                </div>
              )}
              {row && <ValueInput filter={filter} row={row} onChange={change} invalid={problem !== undefined} describedBy={id} />}
            </>
          ) : (
            <Unshown filter={filter} text={text} />
          )}
          <IconButton
            label={`Remove ${text}`}
            onClick={remove}
            className="@max-xl:col-start-2 @max-xl:row-start-1 @xl:col-start-4 sm:mt-0.5"
          >
            <X />
          </IconButton>
        </div>
        {(problem ?? incomplete) && (
          <p id={id} className={`mt-0.5 text-xs ${problem ? 'text-danger' : 'text-muted'}`}>
            {problem ?? incomplete}
          </p>
        )}
      </div>
    </div>
  )
})

const DATA_TYPES: Partial<Record<FieldType, string>> & Record<string, string> = {
  string: 'text',
  number: 'number',
  date: 'date',
  boolean: 'yes or no',
}

const describeLine = (filter: ConditionLine, row: Row | undefined) =>
  describeFilter(
    filter as Parameters<typeof describeFilter>[0],
    row?.type === 'segment' ? { [filter.field.slice(8)]: row.field.label } : {},
  )

/** A line that the builder has no inputs for. It is kept as it is. */
function Unshown({ filter, text }: { filter: ConditionLine; text: string }) {
  return (
    <div className="min-w-0 rounded-md border border-line border-dashed px-3 py-1.5 text-ui @xl:col-span-3">
      <p className="wrap-break-word">{text}</p>
      <p className="wrap-break-word text-muted text-xs">
        Kept as it is. Edit it under JSON: <code className="font-mono">{JSON.stringify(filter)}</code>
      </p>
    </div>
  )
}
