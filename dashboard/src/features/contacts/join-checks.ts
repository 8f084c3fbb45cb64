import type { Result } from '@sterna/sdk'

export type ImportCheck = Extract<Result<'POST /contacts/import'>, { dryRun: true }>

/** Rows of each kind to show. */
const SHOWN = 100

/** The check of a file that was sent in parts. An address that several parts have counts in each. */
export function joinChecks([first, ...others]: ImportCheck[]): ImportCheck {
  return others.reduce(joinTwo, first!)
}

function joinTwo(before: ImportCheck, next: ImportCheck): ImportCheck {
  const sum = (key: (typeof COUNTS)[number]) => [key, before[key] + next[key]] as const
  /** Rows are numbered within their part, in which row 1 is the header. */
  const join = <Row extends { row: number }>(rows: Row[], more: Row[]) =>
    [...rows, ...more.map((row) => ({ ...row, row: row.row + before.totalRows }))].slice(0, SHOWN)
  return {
    ...before,
    ...Object.fromEntries(COUNTS.map(sum)),
    fileError: before.fileError ?? next.fileError,
    errors: join(before.errors, next.errors),
    duplicates: join(before.duplicates, next.duplicates),
    misspelt: join(before.misspelt, next.misspelt),
  }
}

const COUNTS = [
  'totalRows',
  'validCount',
  'failureCount',
  'duplicateCount',
  'newCount',
  'knownCount',
  'unsubscribeCount',
  'misspeltCount',
] as const
