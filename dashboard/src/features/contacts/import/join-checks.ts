import type { Result } from '@sterna/sdk'

export type ImportCheck = Extract<Result<'POST /contacts/import'>, { dryRun: true }>

/** Rows of each kind to show. */
const SHOWN = 100

/** The check of a file that was sent in parts. An address that several parts have counts in each. */
export const joinChecks = ([first, ...others]: ImportCheck[]): ImportCheck => others.reduce(joinTwo, first!)

/** Rows of the parts that were checked, by which the rows of the next part are numbered. */
export const countRows = (checks: Pick<ImportCheck, 'totalRows'>[]) => checks.reduce((sum, { totalRows }) => sum + totalRows, 0)

function joinTwo(before: ImportCheck, next: ImportCheck): ImportCheck {
  const sum = (key: (typeof COUNTS)[number]) => [key, before[key] + next[key]] as const
  const join = <Row>(rows: Row[], more: Row[]) => [...rows, ...more].slice(0, SHOWN)
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
