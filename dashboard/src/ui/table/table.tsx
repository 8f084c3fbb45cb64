import type { ReactNode } from 'react'

/** A column without a heading holds buttons. */
type Column<Row> = { heading?: string; cell: (row: Row) => ReactNode }

type TableProps<Row> = { caption: string; rows: Row[]; rowKey: (row: Row) => string; columns: Column<Row>[] }

/** A short table without paging. On a phone each row becomes a card: the first cell on top, the others side by side below. */
export function Table<Row>({ caption, rows, rowKey, columns }: TableProps<Row>) {
  return (
    <div className="overflow-x-auto rounded-lg border border-line bg-surface">
      <table className="w-full text-left text-ui max-sm:block">
        <caption className="sr-only">{caption}</caption>
        <thead className="max-sm:sr-only">
          <tr className="border-line border-b text-muted text-xs">
            {columns.map(({ heading = '' }) => (
              <th key={heading} scope="col" className="h-9 px-3 font-medium first:pl-4 last:pr-4">
                {heading || <span className="sr-only">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line max-sm:block">
          {rows.map((row) => (
            <tr
              key={rowKey(row)}
              className="max-sm:flex max-sm:flex-wrap max-sm:items-center max-sm:justify-between max-sm:gap-2 max-sm:p-4"
            >
              {columns.map(({ heading = '', cell }) => (
                <td
                  key={heading}
                  className={`max-w-0 first:w-3/5 max-sm:max-w-full max-sm:first:w-full sm:px-3 sm:py-2 sm:last:pr-4 sm:first:pl-4 ${heading ? '' : 'text-right'}`}
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
