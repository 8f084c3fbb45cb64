import { saveFile } from './save-file.ts'

type Cell = string | number | null

/** As in the exports of the server: blanks before a sign do not help, and full-width signs count. */
const FORMULA = /^(?:[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]|[\t\r\n\0])/u

/** Rows as CSV. A text that a spreadsheet would take for a formula gets an apostrophe. */
export function toCsv(headings: string[], rows: Cell[][]): string {
  return [headings, ...rows].map((row) => row.map(quote).join(',')).join('\r\n')
}

function quote(cell: Cell): string {
  if (typeof cell === 'number') return String(cell)
  const safe = FORMULA.test(cell ?? '') ? `'${cell}` : (cell ?? '')
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export const saveCsv = (name: string, headings: string[], rows: Cell[][]) =>
  saveFile(new Blob([toCsv(headings, rows)], { type: 'text/csv' }), `${name}.csv`)
