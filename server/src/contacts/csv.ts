import { isUtf8 } from 'node:buffer'
import { pipeline, Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { readAddress } from '../lib/address.ts'
import { type DataPatch, readData } from './data.ts'

/** One data row, read; or what is wrong with it. */
export type CsvRow = Place & ({ email: string; subscribed?: boolean; patch: DataPatch } | { email: string; error: string })
/** After which row, and at which byte the next one starts. Row 1 is the header. */
export type Place = { row: number; byte: number }
/** What the beginning of a file tells about the rest of it. */
export type Layout = { delimiter: string; columns: Column[]; email: number; subscribed: number; header: Place }
/** With a problem, whatever a row has there cannot be stored. */
type Column = { name: string; problem?: string }

/** The file as a whole cannot be read. */
export class CsvUnreadable extends Error {}

const DELIMITERS = [',', ';', '\t']
const MAX_COLUMNS = 1_000
const MAX_CELL = 65_536
const NUMBER = /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/
const NUL = 'contains the character U+0000'
const TRUE = new Set(['true', '1', 'yes'])

/** As UTF-8 without a byte order mark, so that a place in it is a number of bytes. */
export function toUtf8(content: Buffer) {
  if (content[0] === 0xff && content[1] === 0xfe) return Buffer.from(content.toString('utf16le', 2))
  if (!isUtf8(content)) throw new CsvUnreadable('The file is not UTF-8 text.')
  return content.subarray(0, 3).equals(BOM) ? content.subarray(3) : content
}
const BOM = Buffer.from([0xef, 0xbb, 0xbf])

export async function readLayout(content: Buffer): Promise<Layout> {
  const delimiter = delimiterOf(content.toString('utf8', 0, 10_000))
  for await (const { record, info } of parseFrom([content], delimiter))
    return { ...readHeader(record), delimiter, header: { row: 1, byte: info.bytes } }
  throw new CsvUnreadable('The file is empty.')
}

/** The rows after a place, from the pieces of the file after it; never more than a piece of them is held. */
export async function* readRows(pieces: AsyncIterable<Buffer>, layout: Layout, after: Place): AsyncGenerator<CsvRow> {
  let row = after.row
  for await (const { record, info } of parseFrom(pieces, layout.delimiter)) {
    yield { ...readRow(layout, record), row: ++row, byte: after.byte + info.bytes }
  }
}

type Parsed = { record: string[]; info: { bytes: number } }

async function* parseFrom(pieces: Iterable<Buffer> | AsyncIterable<Buffer>, delimiter: string): AsyncGenerator<Parsed> {
  const parser = parse({
    delimiter,
    info: true,
    relaxColumnCount: true,
    skipEmptyLines: true,
    skipRecordsWithEmptyValues: true,
    maxRecordSize: 1_000_000,
  })
  try {
    // Whoever stops reading, or fails, ends both: the error arrives through the parser.
    yield* pipeline(Readable.from(pieces), parser, () => {}) as AsyncIterable<Parsed>
  } catch (err) {
    throw err instanceof CsvError ? new CsvUnreadable(explain(err)) : err
  }
}

/** The one that the header uses most, outside quotes. */
function delimiterOf(text: string) {
  const line =
    text
      .slice(0, 10_000)
      .replace(/"[^"]*"/g, '')
      .split(/\r?\n/, 1)[0] ?? ''
  const [first] = DELIMITERS.map((delimiter) => ({ delimiter, count: line.split(delimiter).length })).sort((a, b) => b.count - a.count)
  return first!.delimiter
}

function readHeader(cells: string[]) {
  const names = cells.map((cell) => cell.trim())
  if (names.length > MAX_COLUMNS) throw new CsvUnreadable(`The file has more than ${MAX_COLUMNS} columns.`)
  const find = (name: string) => names.findIndex((cell) => cell.toLowerCase() === name)
  if (find('email') === -1) throw new CsvUnreadable('The file has no column "email".')
  return { columns: names.map(readName), email: find('email'), subscribed: find('subscribed') }
}

function readName(name: string): Column {
  if (name.includes('\0')) return { name: name.replaceAll('\0', ''), problem: NUL }
  return Buffer.byteLength(name) > 255 ? { name: name.slice(0, 255), problem: 'has a name longer than 255 bytes' } : { name }
}

function readRow({ columns, email, subscribed }: Layout, cells: string[]) {
  const given = (cells[email] ?? '').trim()
  const address = readAddress(given)
  // As much of it as can be stored and shown.
  const fail = (error: string) => ({ email: given.slice(0, 320).replaceAll('\0', '').toWellFormed(), error })
  if (given === '') return fail('No email address')
  if (!address) return fail('Not a valid email address')

  const data: Record<string, unknown> = Object.create(null)
  for (const [column, { name, problem = problemOf(cells[column]) }] of columns.entries()) {
    const cell = cells[column] ?? ''
    if (column === email || column === subscribed || name === '' || name === '__proto__' || cell === '') continue
    if (problem) return fail(`The column "${name}" ${problem}`)
    data[name] = name === 'locale' ? cell : readCell(cell)
  }
  const choice = (cells[subscribed] ?? '').trim().toLowerCase()
  return { email: address, patch: readData(data), ...(choice === '' ? {} : { subscribed: TRUE.has(choice) }) }
}

function problemOf(cell = '') {
  if (cell.includes('\0')) return NUL
  return cell.length > MAX_CELL ? `is longer than ${MAX_CELL} characters` : undefined
}

/** `00123` and `+49…` are codes and phone numbers, not numbers. */
function readCell(cell: string): string | number | boolean {
  const trimmed = cell.trim()
  if (trimmed === 'true' || trimmed === 'false') return trimmed === 'true'
  return NUMBER.test(trimmed) && Number.isSafeInteger(Math.trunc(Number(trimmed))) ? Number(trimmed) : cell
}

function explain({ code, message, lines }: CsvError) {
  if (code === 'CSV_MAX_RECORD_SIZE') return `A row near line ${lines} is too long; is a quote missing?`
  return `The file is not CSV: ${message.slice(0, 200)}`
}
