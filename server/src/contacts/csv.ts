import { Readable } from 'node:stream'
import { type CsvError, parse } from 'csv-parse'
import { readAddress } from '../lib/address.ts'
import { type DataPatch, readData } from './data.ts'

/** One data row, read; or what is wrong with it. Row 2 is the first after the header. */
export type CsvRow = { row: number; email: string; subscribed?: boolean; patch: DataPatch } | { row: number; email: string; error: string }

/** The file as a whole cannot be read. */
export class CsvUnreadable extends Error {}

const DELIMITERS = [',', ';', '\t']
const MAX_COLUMNS = 1_000
const MAX_CELL = 65_536
const NUMBER = /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/
const TRUE = new Set(['true', '1', 'yes'])

/** Reads row by row; the whole file is never held as objects. */
export async function* readCsv(content: Buffer): AsyncGenerator<CsvRow> {
  const text = decode(content)
  const parser = parse({
    delimiter: delimiterOf(text),
    bom: true,
    relaxColumnCount: true,
    skipEmptyLines: true,
    skipRecordsWithEmptyValues: true,
    maxRecordSize: 1_000_000,
  })
  let header: Header | undefined
  let row = 1
  try {
    for await (const cells of Readable.from(slices(text)).pipe(parser) as AsyncIterable<string[]>) {
      if (!header) header = readHeader(cells)
      else yield readRow(header, cells, ++row)
    }
  } catch (err) {
    throw err instanceof CsvUnreadable ? err : new CsvUnreadable(explain(err as CsvError))
  }
  if (!header) throw new CsvUnreadable('The file is empty.')
}

/** In pieces, so that parsing gives way to other work; never between the halves of a surrogate pair. */
function* slices(text: string) {
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = from + 65_536
    if (text.charCodeAt(to - 1) >> 10 === 0x36) to++
    yield text.slice(from, to)
  }
}

export function decode(content: Buffer) {
  const utf16 = content[0] === 0xff && content[1] === 0xfe
  if (utf16) return content.toString('utf16le')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content)
  } catch {
    throw new CsvUnreadable('The file is not UTF-8 text.')
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

type Header = { names: string[]; email: number; subscribed: number }

function readHeader(cells: string[]): Header {
  const names = cells.map((cell) => cell.trim())
  if (names.length > MAX_COLUMNS) throw new CsvUnreadable(`The file has more than ${MAX_COLUMNS} columns.`)
  const find = (name: string) => names.findIndex((cell) => cell.toLowerCase() === name)
  if (find('email') === -1) throw new CsvUnreadable('The file has no column "email".')
  return { names, email: find('email'), subscribed: find('subscribed') }
}

function readRow({ names, email, subscribed }: Header, cells: string[], row: number): CsvRow {
  const given = (cells[email] ?? '').trim()
  const address = readAddress(given)
  // As much of it as can be stored and shown.
  const fail = (error: string) => ({ row, email: given.slice(0, 320).replaceAll('\0', '').toWellFormed(), error })
  if (given === '') return fail('No email address')
  if (!address) return fail('Not a valid email address')

  const data: Record<string, unknown> = Object.create(null)
  for (const [column, name] of names.entries()) {
    const cell = cells[column] ?? ''
    if (column === email || column === subscribed || name === '' || name === '__proto__' || cell === '') continue
    if (cell.includes('\0') || name.includes('\0')) return fail(`The column "${name.replaceAll('\0', '')}" contains the character U+0000`)
    if (cell.length > MAX_CELL) return fail(`The column "${name}" is longer than ${MAX_CELL} characters`)
    if (Buffer.byteLength(name) > 255) return fail('A column name is longer than 255 bytes')
    data[name] = name === 'locale' ? cell : readCell(cell)
  }
  const choice = (cells[subscribed] ?? '').trim().toLowerCase()
  return { row, email: address, patch: readData(data), ...(choice === '' ? {} : { subscribed: TRUE.has(choice) }) }
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
