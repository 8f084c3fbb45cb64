import type { ReactNode } from 'react'

/** A filter of a list. Its value is one string in the URL, under its name. */
export type Filter = { name: string; label: string } & (
  | { kind: 'choice'; options: Record<string, string> }
  /** Several of them, separated by commas. */
  | { kind: 'choices'; options: Record<string, string> }
  /** Two dates or times, `2026-01-01..2026-02-01`, of which one may be missing. */
  | { kind: 'range' }
  | { kind: 'text'; hint?: string }
  | { kind: 'custom'; describe: (value: string) => string; editor: (props: FilterEditorProps) => ReactNode }
  /** Too large for a popover: the editor is a dialog. */
  | { kind: 'dialog'; describe: (value: string) => string; editor: (props: FilterDialogProps) => ReactNode }
)

/** `onChange(undefined)` removes the filter. */
export type FilterEditorProps = { value: string | undefined; onChange: (value: string | undefined) => void }

export type FilterDialogProps = FilterEditorProps & { onClose: () => void }

/** The text of the pill of a filter, such as `Created: since 2026-01-01`. */
export function describeListFilter(filter: Filter, value: string): string {
  return `${filter.label}: ${describeValue(filter, value)}`
}

function describeValue(filter: Filter, value: string): string {
  if (filter.kind === 'choice') return filter.options[value] ?? value
  if (filter.kind === 'choices')
    return readChoices(value)
      .map((each) => filter.options[each] ?? each)
      .join(', ')
  if (filter.kind === 'custom' || filter.kind === 'dialog') return filter.describe(value)
  if (filter.kind === 'text') return value
  const { from, to } = readRange(value)
  if (from && to) return from === to ? from : `${showMoment(from)} to ${showMoment(to)}`
  return from ? `since ${showMoment(from)}` : to ? `until ${showMoment(to)}` : 'any time'
}

/** `2026-01-31`, or `2026-01-31 23:00 UTC`. */
const showMoment = (moment: string) => (moment.length === 10 ? moment : `${moment.slice(0, 10)} ${moment.slice(11, 16)} UTC`)

export const readChoices = (value: string | undefined): string[] => (value ? value.split(',').filter(Boolean) : [])

const MOMENT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}\.\d{3}Z)?$/

/** Ignores what is neither a date nor a time: anyone can edit a URL. */
export function readRange(value: string | undefined): { from?: string; to?: string } {
  const [from = '', to = ''] = (value ?? '').split('..')
  return { ...(MOMENT.test(from) && { from }), ...(MOMENT.test(to) && { to }) }
}

export function writeRange({ from = '', to = '' }: { from?: string; to?: string }): string | undefined {
  return from || to ? `${from}..${to}` : undefined
}
