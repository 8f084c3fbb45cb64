type Cell = { weekday: number; hour: number; value: number }

const HOURS = Array.from({ length: 24 }, (_, hour) => hour)
const WEEKDAYS = [1, 2, 3, 4, 5, 6, 7]
/** 2026-01-05 is a Monday. */
const nameOf = (weekday: number) =>
  new Intl.DateTimeFormat(undefined, { weekday: 'short', timeZone: 'UTC' }).format(new Date(Date.UTC(2026, 0, 4 + weekday)))

/** Values by weekday and hour: the darker, the more. A table, so that every number can be read. */
export function Heat({ cells, unit }: { cells: Cell[]; unit: string }) {
  const largest = Math.max(1, ...cells.map(({ value }) => value))
  const valueAt = new Map(cells.map(({ weekday, hour, value }) => [`${weekday} ${hour}`, value]))
  return (
    <table className="w-full table-fixed text-xs">
      <caption className="sr-only">By weekday and hour</caption>
      <thead>
        <tr className="text-muted">
          <th scope="col" className="w-10 text-left font-normal">
            <span className="sr-only">Weekday</span>
          </th>
          {HOURS.map((hour) => (
            <th key={hour} scope="col" className="text-left font-normal">
              <span className={hour % 6 === 0 ? '' : 'sr-only'}>{hour}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {WEEKDAYS.map((weekday) => (
          <tr key={weekday}>
            <th scope="row" className="pr-2 text-left font-normal text-muted">
              {nameOf(weekday)}
            </th>
            {HOURS.map((hour) => {
              const value = valueAt.get(`${weekday} ${hour}`) ?? 0
              return (
                <td key={hour} className="p-px" title={`${nameOf(weekday)} ${hour}:00: ${value} ${unit}`}>
                  <div className="relative h-5 overflow-hidden rounded-sm bg-sunken">
                    <div className="absolute inset-0 bg-series-1" style={{ opacity: value / largest }} />
                    <span className="sr-only">{value}</span>
                  </div>
                </td>
              )
            })}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
