import type { ReactNode } from 'react'

/** A column without a heading holds buttons. */
type Column<Row> = { heading?: string; cell: (row: Row) => ReactNode }

type TableProps<Row> = { caption: string; rows: Row[]; rowKey: (row: Row) => string; columns: Column<Row>[] }

/** On a phone each row becomes a card: the first cell on top, the others side by side below. */
export function Table<Row>({ caption, rows, rowKey, columns }: TableProps<Row>) {
  return (
    <div className="overflow-x-auto rounded-xl border border-line bg-surface shadow-card">
      <table className="w-full text-left text-sm max-sm:block">
        <caption className="sr-only">{caption}</caption>
        <thead className="max-sm:sr-only">
          <tr className="border-line border-b text-muted text-xs">
            {columns.map(({ heading = '' }) => (
              <th key={heading} scope="col" className="px-4 py-3 font-medium first:pl-6 last:pr-6">
                {heading || <span className="sr-only">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line max-sm:block">
          {rows.map((row) => (
            <tr
              key={rowKey(row)}
              className="max-sm:flex max-sm:flex-wrap max-sm:items-center max-sm:justify-between max-sm:gap-3 max-sm:p-5"
            >
              {columns.map(({ heading = '', cell }) => (
                <td
                  key={heading}
                  className={`max-w-0 first:w-3/5 max-sm:max-w-full max-sm:first:w-full sm:px-4 sm:py-3 sm:last:pr-6 sm:first:pl-6 ${heading ? '' : 'text-right'}`}
                >
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
