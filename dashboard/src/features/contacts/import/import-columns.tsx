import { useQuery } from '@tanstack/react-query'
import { fieldsQuery } from '../../../data/contacts.ts'
import { useProject } from '../../../projects/current.ts'
import { Input, Select } from '../../../ui/form/input.tsx'
import { Card } from '../../../ui/page/card.tsx'
import { type Target, typeClash } from './column-mapping.ts'
import type { CsvColumn } from './csv-file.ts'

type ImportColumnsProps = { columns: CsvColumn[]; targets: Target[]; onTargets: (targets: Target[]) => void }

/** Columns beyond this number keep the suggested target: nobody maps a thousand by hand. */
const MAX_SHOWN = 100

/** The target of each column. */
export function ImportColumns({ columns, targets, onTargets }: ImportColumnsProps) {
  return (
    <Card title="Columns" description="Choose what each column of the file becomes." flush>
      <ul className="divide-y divide-line">
        {columns.slice(0, MAX_SHOWN).map((column, index) => (
          <ColumnItem
            // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have the same name, and their order never changes
            key={index}
            column={column}
            number={index + 1}
            target={targets[index]!}
            onTarget={(target) => onTargets(targets.with(index, target))}
          />
        ))}
      </ul>
      {columns.length > MAX_SHOWN && (
        <p className="border-line border-t p-4 text-muted text-ui">
          {columns.length - MAX_SHOWN} more columns become fields of their name.
        </p>
      )}
    </Card>
  )
}

type ColumnItemProps = { column: CsvColumn; number: number; target: Target; onTarget: (target: Target) => void }

function ColumnItem({ column: { name, samples }, number, target, onTarget }: ColumnItemProps) {
  const project = useProject()
  const fields = useQuery(fieldsQuery(project.id)).data ?? []
  const field = 'field' in target ? target.field : ''
  const clash = typeClash(fields.find((each) => each.field === field)?.type, samples)
  return (
    <li className="grid grid-cols-1 gap-2 px-4 py-3 sm:grid-cols-2 sm:gap-4">
      <div className="min-w-0">
        <p className="truncate font-medium text-ui" title={name}>
          {name || <span className="text-muted">Column {number}</span>}
        </p>
        <p className="truncate text-muted text-xs" title={samples.join(', ')}>
          {samples.length > 0 ? samples.join(', ') : 'Empty in the first rows'}
        </p>
      </div>
      {name === '' ? (
        <p className="text-muted text-ui">Skipped: it has no name.</p>
      ) : (
        <div className="min-w-0 space-y-2">
          <Select
            aria-label={`${name} becomes`}
            options={optionsOf(fields.map((each) => each.field))}
            value={writeOption(target)}
            onChange={(event) => onTarget(readOption(event.target.value, name))}
          />
          {target.kind === 'new' && (
            <Input
              aria-label={`Name of the field for ${name}`}
              value={field}
              maxLength={255}
              onChange={(event) => onTarget({ kind: 'new', field: event.target.value })}
            />
          )}
          {clash && <p className="text-warning text-xs">{clash}</p>}
        </div>
      )}
    </li>
  )
}

const optionsOf = (fields: string[]): Record<string, string> => ({
  skip: 'Skip it',
  email: 'The address',
  subscribed: 'Subscribed: yes or no',
  ...Object.fromEntries(fields.map((field) => [`field:${field}`, `Field ${field}`])),
  new: 'A new field',
})

const writeOption = (target: Target) => (target.kind === 'field' ? `field:${target.field}` : target.kind)

function readOption(option: string, name: string): Target {
  if (option === 'skip' || option === 'email' || option === 'subscribed') return { kind: option }
  return option === 'new' ? { kind: 'new', field: name } : { kind: 'field', field: option.slice('field:'.length) }
}
