/** The largest file that the server takes. A larger one is sent in parts. */
const MAX_PART_BYTES = 5 * 1024 * 1024
/** The server takes at most ten imports of a project at a time. */
export const MAX_FILE_BYTES = 8 * MAX_PART_BYTES
/** Rows read for the samples. */
const MAX_ROWS = 100
const MAX_SAMPLES = 5
/** Bytes examined to detect UTF-16 without a byte order mark. */
const EXAMINED = 512

export type CsvColumn = {
  name: string
  /** The first different values. */
  samples: string[]
}

export type CsvFile = {
  name: string
  bytes: number
  /** The parts to upload: the file itself, its text below an added header, or slices of it, each below the header. */
  parts: Blob[]
  encoding: string
  separator: string
  columns: CsvColumn[]
  /** The first row held an address, so the columns were named here. */
  isHeaderAdded: boolean
}

/** Reads the beginning of a file as the server reads all of it. The server validates its rows. */
export function readCsvFile(name: string, bytes: Uint8Array<ArrayBuffer>, maxPartBytes = MAX_PART_BYTES): CsvFile {
  const { text, encoding } = decode(bytes)
  const { separator, start } = separatorOf(text)
  const rows = readRows(text.slice(start), separator, MAX_ROWS + 1)
  const isHeaderAdded = rows[0]?.some(isAddress) ?? false
  const header = isHeaderAdded ? namesFor(rows[0]!) : (rows[0] ?? []).map((cell) => cell.trim())
  const body = isHeaderAdded ? rows : rows.slice(1)
  const whole = isHeaderAdded ? `${header.join(separator)}\n${text.slice(start)}` : text
  const parts = bytes.length > maxPartBytes ? splitText(whole, isHeaderAdded ? 0 : start, maxPartBytes) : [isHeaderAdded ? whole : bytes]
  const columns = header.map((each, index) => ({ name: each, samples: samplesOf(body.map((row) => row[index] ?? '')) }))
  return {
    name,
    bytes: bytes.length,
    parts: parts.map((part) => new Blob([part], { type: 'text/csv' })),
    encoding,
    separator,
    columns,
    isHeaderAdded,
  }
}

const isAddress = (cell: string) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(cell.trim())

const namesFor = (row: string[]) => {
  const email = row.findIndex(isAddress)
  return row.map((_, index) => (index === email ? 'email' : `column ${index + 1}`))
}

const samplesOf = (values: string[]) => [...new Set(values.map((value) => value.trim()).filter(Boolean))].slice(0, MAX_SAMPLES)

export function decode(bytes: Uint8Array): { text: string; encoding: string } {
  const utf16 = utf16Of(bytes)
  if (utf16) return { text: new TextDecoder(utf16).decode(bytes), encoding: 'UTF-16' }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), encoding: 'UTF-8' }
  } catch {
    return { text: new TextDecoder('windows-1252').decode(bytes), encoding: 'Windows-1252' }
  }
}

/** Latin text in UTF-16 has a zero in every second byte. */
function utf16Of(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  const sample = bytes.subarray(0, EXAMINED)
  const zeros = [0, 0] as [even: number, odd: number]
  for (const [at, byte] of sample.entries()) if (byte === 0) zeros[at % 2 === 0 ? 0 : 1]++
  const [even, odd] = zeros
  if (Math.max(even, odd) * 4 < sample.length || Math.min(even, odd) * 10 > Math.max(even, odd)) return undefined
  return even > odd ? 'utf-16be' : 'utf-16le'
}

const SEPARATORS = [',', ';', '\t']
const SEPARATOR_NAMES: Record<string, string> = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'vertical bar' }

export const nameOfSeparator = (separator: string) => SEPARATOR_NAMES[separator] ?? separator

/** Excel's line before the header that names the separator. */
const SEPARATOR_LINE = /^"?sep=([^\w\s"\u0080-\uffff]|\t)"?[ \t]*(?:\r\n|\r|\n)/i

function separatorOf(text: string): { separator: string; start: number } {
  const named = SEPARATOR_LINE.exec(text)
  if (named) return { separator: named[1]!, start: named[0].length }
  const lines = text
    .slice(0, 10_000)
    .replace(/"[^"]*"/g, '')
    .split(/\r\n|\r|\n/)
  const line = lines.find((each) => each.trim() !== '') ?? ''
  const counts = SEPARATORS.map((separator) => ({ separator, count: line.split(separator).length }))
  const most = counts.reduce((best, each) => (each.count > best.count ? each : best))
  return { separator: most.count === 1 && line.includes('|') ? '|' : most.separator, start: 0 }
}

/** Parts of at most `maxBytes`, each with the header on top. `start` is where the header begins. A single longer row is a part of its own. */
export function splitText(text: string, start: number, maxBytes: number): string[] {
  const parts: string[] = []
  let [header, headerBytes] = ['', 0]
  let [from, bytes] = [0, 0]
  for (const row of rowsOf(text, start)) {
    if (header === '') {
      ;[header, headerBytes] = [text.slice(0, row.end), start + row.bytes]
      ;[from, bytes] = [row.end, headerBytes]
      continue
    }
    if (bytes + row.bytes > maxBytes && row.begin > from) {
      parts.push(header + text.slice(from, row.begin))
      ;[from, bytes] = [row.begin, headerBytes]
    }
    bytes += row.bytes
  }
  return [...parts, header + text.slice(from)]
}

/** The rows of a text, which end at line breaks that are not in quotes. `bytes` is the length in UTF-8. */
function* rowsOf(text: string, start: number): Generator<{ begin: number; end: number; bytes: number }> {
  let [begin, bytes, isQuoted] = [start, 0, false]
  for (let at = start; at < text.length; at++) {
    const character = text.charCodeAt(at)
    bytes += utf8Length(character)
    if (character === 0x22) isQuoted = !isQuoted
    const isBreak = character === 0x0a || (character === 0x0d && text.charCodeAt(at + 1) !== 0x0a)
    if (isQuoted || !isBreak) continue
    yield { begin, end: at + 1, bytes }
    begin = at + 1
    bytes = 0
  }
  if (begin < text.length) yield { begin, end: text.length, bytes }
}

/** A character beyond U+FFFF is two code units, of two bytes each. */
const utf8Length = (codeUnit: number) => (codeUnit < 0x80 ? 1 : codeUnit < 0x800 || (codeUnit >= 0xd800 && codeUnit < 0xe000) ? 2 : 3)

/** The first rows, without blank ones. A quote that is never closed ends with the text. */
export function readRows(text: string, separator: string, max: number): string[][] {
  const rows: string[][] = []
  let [row, cell, isQuoted] = [[] as string[], '', false]
  const endRow = () => {
    row.push(cell)
    if (row.some((each) => each.trim() !== '')) rows.push(row)
    row = []
    cell = ''
  }
  for (let at = 0; at < text.length && rows.length < max; at++) {
    const character = text[at]!
    if (isQuoted) {
      if (character !== '"') cell += character
      else if (text[at + 1] === '"') cell += text[at++]
      else isQuoted = false
    } else if (character === '"' && cell === '') isQuoted = true
    else if (character === separator) {
      row.push(cell)
      cell = ''
    } else if (character === '\n' || character === '\r') endRow()
    else cell += character
  }
  if (rows.length < max) endRow()
  return rows
}
