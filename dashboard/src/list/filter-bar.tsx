import { ListFilter, Search, X } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Popover } from '../ui/dialog/popover.tsx'
import { Button } from '../ui/form/button.tsx'
import { CheckboxLine } from '../ui/form/checkbox.tsx'
import { Field } from '../ui/form/field.tsx'
import { Input } from '../ui/form/input.tsx'
import { useShortcuts } from '../ui/shortcuts/shortcuts.ts'
import { SearchedList } from '../ui/table/searched-list.tsx'
import { describeListFilter, type Filter, type FilterEditorProps, readChoices, readRange, writeRange } from './filters.ts'
import type { ListRequest, ListSearch } from './list-search.ts'
import { useDebounced } from './use-list.ts'

type FilterBarProps = {
  filters: Filter[]
  request: Pick<ListRequest, 'q' | 'filters'>
  change: (patch: ListSearch, options?: { replace?: boolean }) => void
  /** The placeholder of the search field; without it there is none. */
  searchHint?: string
}

/** Search field, a pill for each filter that is set, and the menu that adds one. Everything it knows is in the URL. */
export function FilterBar({ filters, request, change, searchHint }: FilterBarProps) {
  const [adding, setAdding] = useState(false)
  const [inDialog, setInDialog] = useState<Filter>()
  useShortcuts(filters.length > 0 ? [{ keys: 'f', label: 'Filter', group: 'List', run: () => setAdding(true) }] : [])
  return (
    <div className="flex min-w-0 flex-1 flex-wrap items-center gap-2 max-sm:basis-full">
      {searchHint && <SearchField q={request.q ?? ''} hint={searchHint} onChange={(q) => change({ q }, { replace: true })} />}
      {filters.map(
        (filter) =>
          request.filters[filter.name] !== undefined && (
            <Pill
              key={filter.name}
              filter={filter}
              value={request.filters[filter.name]!}
              onChange={(value) => change({ [filter.name]: value })}
              onDialog={() => setInDialog(filter)}
            />
          ),
      )}
      {filters.length > 0 && (
        <Popover
          label="Filters"
          open={adding}
          onOpenChange={setAdding}
          trigger={
            <Button size="sm" variant="quiet" title="Filter (F)">
              <ListFilter aria-hidden="true" />
              Filter
            </Button>
          }
        >
          <AddFilter
            filters={filters}
            values={request.filters}
            onSet={(name, value) => {
              setAdding(false)
              change({ [name]: value })
            }}
            onDialog={(filter) => {
              setAdding(false)
              setInDialog(filter)
            }}
          />
        </Popover>
      )}
      {inDialog?.kind === 'dialog' &&
        inDialog.editor({
          value: request.filters[inDialog.name],
          onChange: (value) => {
            setInDialog(undefined)
            change({ [inDialog.name]: value })
          },
          onClose: () => setInDialog(undefined),
        })}
    </div>
  )
}

function SearchField({ q, hint, onChange }: { q: string; hint: string; onChange: (q: string | undefined) => void }) {
  const input = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState(q)
  // The URL changes without typing too: by Back, and by "Clear filters".
  useEffect(() => setTyped(q), [q])
  useDebounced(typed.trim(), q, (value) => onChange(value || undefined))
  useShortcuts([{ keys: '/', label: 'Search', group: 'List', run: () => input.current?.focus() }])
  return (
    <div className="relative w-full sm:w-64">
      <Search className="pointer-events-none absolute top-1/2 left-2.5 size-4 -translate-y-1/2 text-muted" aria-hidden="true" />
      <input
        ref={input}
        type="search"
        aria-label={hint}
        placeholder={hint}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') event.currentTarget.blur()
          if (event.key === 'Enter') onChange(typed.trim() || undefined)
        }}
        className="h-8 w-full rounded-md border border-edge bg-surface pr-2 pl-8 text-base placeholder:text-muted focus-visible:outline-offset-0 pointer-coarse:h-11 sm:text-ui"
      />
    </div>
  )
}

type PillProps = { filter: Filter; value: string; onChange: (value: string | undefined) => void; onDialog: () => void }

const PILL_TEXT = 'min-w-0 truncate rounded-md py-1 pl-2.5'

function Pill({ filter, value, onChange, onDialog }: PillProps) {
  const [open, setOpen] = useState(false)
  const text = describeListFilter(filter, value)
  return (
    <span className="inline-flex h-8 max-w-full items-center rounded-md border border-accent/40 bg-accent-soft text-ui pointer-coarse:h-11">
      {filter.kind === 'dialog' ? (
        <button type="button" className={PILL_TEXT} onClick={onDialog}>
          {text}
        </button>
      ) : (
        <Popover
          label={filter.label}
          open={open}
          onOpenChange={setOpen}
          trigger={
            <button type="button" className={PILL_TEXT}>
              {text}
            </button>
          }
        >
          <FilterEditor
            filter={filter}
            value={value}
            onChange={(next) => {
              setOpen(false)
              onChange(next)
            }}
          />
        </Popover>
      )}
      <button
        type="button"
        aria-label={`Remove filter ${text}`}
        onClick={() => onChange(undefined)}
        className="flex h-full w-7 shrink-0 items-center justify-center rounded-md text-muted hover:text-ink pointer-coarse:w-11"
      >
        <X className="size-3.5" aria-hidden="true" />
      </button>
    </span>
  )
}

type AddFilterProps = {
  filters: Filter[]
  values: Record<string, string>
  onSet: (name: string, value: string | undefined) => void
  onDialog: (filter: Filter) => void
}

/** A filter without anything to choose, such as by segment in a project without segments, is not offered. */
const hasChoices = (filter: Filter) => !('options' in filter) || Object.keys(filter.options).length > 0

function AddFilter({ filters: all, values, onSet, onDialog }: AddFilterProps) {
  const filters = all.filter(hasChoices)
  const [chosen, setChosen] = useState(filters.length === 1 ? filters[0] : undefined)
  if (chosen) return <FilterEditor filter={chosen} value={values[chosen.name]} onChange={(value) => onSet(chosen.name, value)} />
  return (
    <ul>
      {filters.map((filter) => (
        <li key={filter.name}>
          <button type="button" className={OPTION} onClick={() => (filter.kind === 'dialog' ? onDialog(filter) : setChosen(filter))}>
            {filter.label}
          </button>
        </li>
      ))}
    </ul>
  )
}

const OPTION =
  'flex min-h-8 w-full items-center gap-2 rounded-md px-2 text-left text-ui hover:bg-sunken pointer-coarse:min-h-11 aria-pressed:font-medium'

function FilterEditor({ filter, ...props }: FilterEditorProps & { filter: Filter }) {
  if (filter.kind === 'dialog') return null
  if (filter.kind === 'choice') return <ChoiceEditor options={filter.options} {...props} />
  if (filter.kind === 'choices') return <ChoicesEditor options={filter.options} {...props} />
  if (filter.kind === 'range') return <RangeEditor {...props} />
  if (filter.kind === 'text') return <TextEditor label={filter.label} hint={filter.hint} {...props} />
  return <div className="p-2">{filter.editor(props)}</div>
}

const CHOICES = { one: 'choice', many: 'choices' }

function ChoiceEditor({ options, value, onChange }: FilterEditorProps & { options: Record<string, string> }) {
  const [q, setQ] = useState('')
  return (
    <SearchedList items={Object.entries(options)} noun={CHOICES} textOf={([, label]) => label} q={q} onQuery={setQ} dense>
      {(shown) => (
        <ul>
          {shown.map(([option, label]) => (
            <li key={option}>
              <button type="button" aria-pressed={option === value} className={OPTION} onClick={() => onChange(option)}>
                {label}
              </button>
            </li>
          ))}
        </ul>
      )}
    </SearchedList>
  )
}

function ChoicesEditor({ options, value, onChange }: FilterEditorProps & { options: Record<string, string> }) {
  const [chosen, setChosen] = useState(() => new Set(readChoices(value)))
  function toggle(option: string) {
    const next = new Set(chosen)
    if (!next.delete(option)) next.add(option)
    setChosen(next)
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onChange([...chosen].join(',') || undefined)
      }}
    >
      {Object.entries(options).map(([option, label]) => (
        <CheckboxLine key={option} label={label} checked={chosen.has(option)} onChange={() => toggle(option)} />
      ))}
      <ApplyButton />
    </form>
  )
}

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)

function RangeEditor({ value, onChange }: FilterEditorProps) {
  const { from, to } = readRange(value)
  return (
    <form
      className="space-y-2 p-2"
      onSubmit={(event) => {
        event.preventDefault()
        const dates = new FormData(event.currentTarget)
        onChange(writeRange({ from: String(dates.get('from')), to: String(dates.get('to')) }))
      }}
    >
      <div className="flex flex-wrap gap-1">
        {[7, 30, 90].map((days) => (
          <Button key={days} size="sm" onClick={() => onChange(writeRange({ from: daysAgo(days) }))}>
            {days} days
          </Button>
        ))}
      </div>
      <Field name="from" label="From">
        <Input type="date" defaultValue={from?.slice(0, 10)} />
      </Field>
      <Field name="to" label="To" hint="Whole days in UTC.">
        <Input type="date" defaultValue={to?.slice(0, 10)} />
      </Field>
      <ApplyButton />
    </form>
  )
}

function TextEditor({ label, hint, value, onChange }: FilterEditorProps & { label: string; hint?: string | undefined }) {
  return (
    <form
      className="space-y-2 p-2"
      onSubmit={(event) => {
        event.preventDefault()
        onChange(String(new FormData(event.currentTarget).get('value')).trim() || undefined)
      }}
    >
      <Input name="value" aria-label={label} placeholder={hint ?? label} defaultValue={value} autoComplete="off" />
      <ApplyButton />
    </form>
  )
}

function ApplyButton() {
  return (
    <Button type="submit" size="sm" variant="primary" className="mt-1 w-full">
      Apply
    </Button>
  )
}
