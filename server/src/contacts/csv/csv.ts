import { readStorableJson } from '../../http/core/json.ts'
import { readAddress } from '../../lib/text/address.ts'
import { type DataPatch, readData } from '../record/data.ts'
import { findAddressColumn, optOutReader } from './csv-columns.ts'
import { inPieces } from './csv-encoding.ts'
import { type ColumnMapping, fieldOfTarget, findTarget, refuseUnknownColumns } from './csv-mapping.ts'
import { type CsvRecord, CsvUnreadable, readRecords } from './csv-records.ts'
import { readYesOrNo } from './csv-words.ts'

/** One data row, or the reason why it is invalid. */
export type CsvRow = FilePosition & ({ email: string; subscribed?: boolean; patch: DataPatch } | { email: string; error: string })
/** Number of rows and lines read, and the offset of the next row. Row 1 is the header. */
export type FilePosition = { row: number; byte: number; line?: number }
/** Structure of a file, read from its beginning. */
export type Layout = { delimiter: string; columns: Column[]; email: number; subscribed: number; header: FilePosition }
/** `name` is the key of the field; a column without one is skipped. A row with a value in a column that has a `problem` is invalid. */
type Column = {
  name: string
  problem?: string
  /** Text of the header, where a mapping gives the column another name. */
  header?: string
}

/** Bounds the invalid rows of a file, which are all stored. The largest file with only addresses has about half as many rows. */
export const MAX_ROWS = 500_000
const DELIMITERS = [',', ';', '\t']
const MAX_COLUMNS = 1_000
const MAX_CELL = 65_536
const SHOWN_COLUMNS = 20
const NUMBER = /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/
const NUL = 'contains the character U+0000'

/** Reads the header only. */
export async function readLayout(content: Buffer, { pieces = inPieces, mapping }: LayoutOptions = {}): Promise<Layout> {
  const start = content.toString('utf8', 0, 10_000)
  const separator = SEPARATOR_LINE.exec(start)
  const byte = separator ? Buffer.byteLength(separator[0]) : 0
  const line = separator ? 1 : 0
  const delimiter = separator?.[1] ?? delimiterOf(start)
  for await (const [record] of readRecords(pieces(content.subarray(byte)), { delimiter, byte, line }))
    return { ...readHeader(record!, mapping), delimiter, header: { row: 1, byte: record!.end, line: record!.line } }
  throw new CsvUnreadable('The file is empty.')
}

type LayoutOptions = { pieces?: typeof inPieces; mapping?: ColumnMapping | undefined }

/** Excel's line before the header that names the delimiter. */
const SEPARATOR_LINE = /^"?sep=([^\w\s"\u0080-\uffff]|\t)"?[ \t]*(?:\r\n|\r|\n)/i

/** Reads the rows after a position; `pieces` start there. Yields some at a time, never none. */
export async function* readRows(pieces: AsyncIterable<Buffer>, layout: Layout, after: FilePosition): AsyncGenerator<CsvRow[]> {
  const { delimiter } = layout
  const readRow = rowReader(layout)
  let row = after.row
  for await (const records of readRecords(pieces, { delimiter, byte: after.byte, line: after.line ?? after.row })) {
    const allowed = records.slice(0, Math.max(0, MAX_ROWS + 1 - row))
    if (allowed.length) yield allowed.map((record) => ({ ...readRow(record), row: ++row, byte: record.end, line: record.line }))
    if (allowed.length < records.length) throw new CsvUnreadable(TOO_MANY_ROWS)
  }
}
const TOO_MANY_ROWS = `The file has more than ${MAX_ROWS.toLocaleString('en')} rows. Those were imported; upload the others as another file.`

/** The delimiter that occurs most in the header, outside quotes. */
function delimiterOf(text: string) {
  const line =
    text
      .replace(/"[^"]*"/g, '')
      .split(/\r\n|\r|\n/)
      .find((candidate) => candidate.trim() !== '') ?? ''
  const [most] = DELIMITERS.map((delimiter) => ({ delimiter, count: line.split(delimiter).length })).sort((a, b) => b.count - a.count)
  return most!.count === 1 && line.includes('|') ? '|' : most!.delimiter
}

function readHeader({ cells, problem }: CsvRecord, mapping: ColumnMapping = NO_MAPPING) {
  if (problem) throw new CsvUnreadable(`The file is not CSV. ${problem}.`)
  const names = cells.map((cell) => cell.trim())
  if (names.length > MAX_COLUMNS) throw new CsvUnreadable(`The file has more than ${MAX_COLUMNS} columns.`)
  refuseUnknownColumns(names, mapping)
  // Columns of the mapping are no longer found by their names.
  const others = names.map((name) => (mapping.has(name) ? '' : name))
  const email = orElse(findTarget(names, mapping, 'email'), () => findAddressColumn(others))
  if (email === -1) throw new CsvUnreadable(explainNoAddress(names))
  const subscribed = orElse(findTarget(names, mapping, 'subscribed'), () => findSubscribedColumn(others))
  return { columns: names.map((name) => (mapping.has(name) ? mappedColumn(name, mapping.get(name)!) : readName(name))), email, subscribed }
}

const NO_MAPPING: ColumnMapping = new Map()
const orElse = (column: number, find: () => number) => (column === -1 ? find() : column)

function findSubscribedColumn(names: string[]) {
  const [column = -1, ...more] = names.flatMap((name, index) => (name.toLowerCase() === 'subscribed' ? index : []))
  if (more.length) throw new CsvUnreadable('The file has more than one column "subscribed".')
  return column
}

/** A skipped column has no name. */
const mappedColumn = (header: string, target: string | null): Column =>
  target === null ? { name: '', header } : { ...readName(fieldOfTarget(target)), header: readName(header).name }

function explainNoAddress(names: string[]) {
  if (names.some((name) => readAddress(name))) return 'The first row must name the columns, one of them "email"; it holds an email address.'
  const shown = names.slice(0, SHOWN_COLUMNS).map((name) => `"${name.slice(0, 50).replaceAll('\0', '').toWellFormed()}"`)
  return `The file has no column "email". Its columns are ${shown.join(', ')}${names.length > SHOWN_COLUMNS ? ' and others' : ''}.`
}

function readName(name: string): Column {
  if (name.includes('\0')) return { name: name.replaceAll('\0', ''), problem: NUL }
  return Buffer.byteLength(name) > 255 ? { name: name.slice(0, 255), problem: 'has a name longer than 255 bytes' } : { name }
}

function rowReader({ columns, email, subscribed }: Layout) {
  const optOuts = columns.flatMap(({ name, header = name }, column) => {
    const isOptOut = column !== subscribed && name !== '' && optOutReader(header)
    return isOptOut ? { column, isOptOut } : []
  })
  /** Index of the first column of another tool that marks the contact as opted out. These columns can only unsubscribe. */
  const findOptOut = (cells: string[]) => optOuts.find(({ column, isOptOut }) => isOptOut(cells[column] ?? ''))?.column

  return ({ cells, problem }: CsvRecord) => {
    const given = (cells[email] ?? '').trim()
    // Truncated to what can be stored and shown.
    const fail = (error: string) => ({ email: given.slice(0, 320).replaceAll('\0', '').toWellFormed(), error })
    if (problem) return fail(problem)
    if (given === '') return fail('No email address')
    const address = readAddress(given)
    if (!address) return fail('Not a valid email address')

    const data: Record<string, unknown> = Object.create(null)
    for (const [column, { name, problem = problemOf(cells[column]) }] of columns.entries()) {
      const cell = cells[column] ?? ''
      if (column === email || column === subscribed || name === '' || name === '__proto__' || cell === '') continue
      if (problem) return fail(`The column "${name}" ${problem}`)
      data[name] = name === 'locale' ? cell : readCell(name, cell)
    }
    const cell = (cells[subscribed] ?? '').trim()
    const choice = cell === '' ? undefined : readYesOrNo(cell)
    if (cell !== '' && choice === undefined) return fail(`"${printable(cell)}" in the column "subscribed" means neither yes nor no`)
    const optOut = findOptOut(cells)
    if (choice && optOut !== undefined)
      return fail(`The column "subscribed" says yes, but the column "${columns[optOut]!.name}" says that the contact opted out`)
    const isSubscribed = optOut === undefined ? choice : false
    return { email: address, patch: readData(data), ...(isSubscribed === undefined ? {} : { subscribed: isSubscribed }) }
  }
}

const printable = (word: string) => word.slice(0, 100).replaceAll('\0', '').toWellFormed()

function problemOf(cell = '') {
  if (cell.includes('\0')) return NUL
  return cell.length > MAX_CELL ? `is longer than ${MAX_CELL} characters` : undefined
}

/** `00123` and `+49…` stay text: they are codes and phone numbers. */
function readCell(name: string, cell: string): unknown {
  const trimmed = cell.trim()
  if (trimmed === 'true' || trimmed === 'false') return trimmed === 'true'
  if (trimmed.startsWith('{') && name.toLowerCase() === 'attributes') return readAttributes(trimmed) ?? cell
  return NUMBER.test(trimmed) && Number.isSafeInteger(Math.trunc(Number(trimmed))) ? Number(trimmed) : cell
}

/** listmonk exports the custom fields of a contact as one JSON object. */
function readAttributes(cell: string) {
  try {
    return readStorableJson(Buffer.from(cell))
  } catch {
    return undefined
  }
}
