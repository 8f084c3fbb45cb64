/** `{ id: name }`, as the options of a select take it. */
export const namesById = (rows: { id: string; name: string }[]): Record<string, string> =>
  Object.fromEntries(rows.map(({ id, name }) => [id, name]))

export const byName = <Row extends { name: string }>(rows: Row[]): Row[] => rows.toSorted((a, b) => a.name.localeCompare(b.name))
