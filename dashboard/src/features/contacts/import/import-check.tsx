import type { ReactNode } from 'react'
import { Banner } from '../../../ui/notice/banner.tsx'
import { Card } from '../../../ui/page/card.tsx'
import { Count } from '../../../ui/text/count.tsx'
import type { ImportCheck } from './join-checks.ts'

/** A dry run: the changes that an import of this file would make. */
export function CheckResult({ check }: { check: ImportCheck }) {
  return (
    <Card title="Check" description="This is what an import would do. Nothing was changed.">
      <div className="space-y-4">
        {check.fileError && <Banner tone="danger">{check.fileError}</Banner>}
        <dl className="grid grid-cols-2 gap-x-4 gap-y-3 sm:grid-cols-4">
          <Figure label="Rows" value={check.totalRows} />
          <Figure label="New contacts" value={check.newCount} />
          <Figure label="Known contacts" value={check.knownCount} />
          <Figure label="Invalid rows" value={check.failureCount} />
          <Figure label="Repeated addresses" value={check.duplicateCount} />
          <Figure label="Misspelt addresses" value={check.misspeltCount} />
          <Figure label="Unsubscribed" value={check.unsubscribeCount} />
        </dl>
        <Rows
          title="Invalid rows, which are left out"
          total={check.failureCount}
          rows={check.errors.map(({ error, ...row }) => ({ ...row, note: error }))}
        />
        <Rows
          title="Perhaps misspelt, imported as they are"
          total={check.misspeltCount}
          rows={check.misspelt.map(({ suggestion, ...row }) => ({ ...row, note: `Perhaps ${suggestion}` }))}
        />
        <Rows
          title="Repeated addresses, whose values are merged"
          total={check.duplicateCount}
          rows={check.duplicates.map((row) => ({ ...row, note: 'An earlier row has this address' }))}
        />
      </div>
    </Card>
  )
}

function Figure({ label, value }: { label: string; value: number }) {
  return (
    <div className="min-w-0">
      <dt className="text-muted text-xs">{label}</dt>
      <dd className="font-semibold text-title">
        <Count value={value} />
      </dd>
    </div>
  )
}

type RowNote = { row: number; email: string; note: string }

/** Folded, except when it is short: the numbers above say how many. */
function Rows({ title, rows, total }: { title: string; rows: RowNote[]; total: number }): ReactNode {
  if (rows.length === 0) return null
  return (
    <details open={rows.length <= 5}>
      <summary className="w-fit rounded-sm py-1 font-medium text-ui">{title}</summary>
      <RowTable caption={title} rows={rows} total={total} />
    </details>
  )
}

/** Rows of the file by their numbers, with what is wrong with each. */
export function RowTable({ caption, rows, total }: { caption: string; rows: RowNote[]; total: number }) {
  return (
    <>
      <table className="mt-2 w-full table-fixed text-left text-ui">
        <caption className="sr-only">{caption}</caption>
        <thead>
          <tr className="border-line border-b text-muted text-xs">
            <th scope="col" className="h-8 w-16 font-medium">
              Row
            </th>
            <th scope="col" className="font-medium">
              Address
            </th>
            <th scope="col" className="font-medium">
              Reason
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ row, email, note }) => (
            <tr key={row} className="border-line border-b align-top">
              <td className="py-1.5 tabular-nums">{row}</td>
              <td className="wrap-break-word py-1.5 pr-3">{email || <span className="text-muted">None</span>}</td>
              <td className="wrap-break-word py-1.5">{note}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {total > rows.length && (
        <p className="mt-2 text-muted text-ui">
          The first {rows.length} of <Count value={total} />.
        </p>
      )}
    </>
  )
}
