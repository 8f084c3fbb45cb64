/** The file, or the rest of it, cannot be parsed. */
export class CsvUnreadable extends Error {}

/** A row of the file. `end` is the offset after its last byte, `line` the number of lines up to there. */
export type CsvRecord = { cells: string[]; end: number; line: number; problem?: string }
type Start = { delimiter: string; byte: number; line: number }

/** A longer row is assumed to have an unclosed quote. */
const MAX_RECORD_BYTES = 1_000_000
/** Rows parsed at once, which takes a millisecond or two. One at a time, the promises of each took longer than the parsing. */
const AT_ONCE = 200
const [QUOTE, CR, LF] = [0x22, 0x0d, 0x0a]

/**
 * Parses the rows of a file, given in pieces from offset `byte` on; skips blank rows. Yields some at a time, never none. Holds these, one unfinished row
 * and one piece in memory. A row with a misplaced quote has a `problem`; parsing continues after it.
 */
export async function* readRecords(pieces: AsyncIterable<Buffer>, { delimiter, byte, line }: Start): AsyncGenerator<CsvRecord[]> {
  const scan = createScan(delimiter.charCodeAt(0))
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of thenEnd(pieces)) {
    const isEnd = piece === END
    if (!isEnd) rest = rest.length ? Buffer.concat([rest, piece]) : piece
    let from = 0
    let records: CsvRecord[] = []
    for (let found = scan(rest, from, isEnd); found; found = scan(rest, from, isEnd)) {
      const { cells, end, lines, problem } = found
      if (problem || !isBlank(cells))
        records.push({ cells, end: byte + end, line: line + lines, ...(problem ? { problem: `${problem}, in line ${line + 1}` } : {}) })
      from = end
      line += lines
      if (records.length === AT_ONCE) {
        yield records
        records = []
      }
    }
    if (records.length) yield records
    byte += from
    rest = rest.subarray(from)
    if (isEnd && rest.length) throw new CsvUnreadable(`Line ${line + 1} opens a quote that is never closed.`)
    if (rest.length > MAX_RECORD_BYTES) throw new CsvUnreadable(`The row in line ${line + 1} is too long; is a quote not closed?`)
  }
}

const END = Symbol('end of the file')
async function* thenEnd(pieces: AsyncIterable<Buffer>) {
  yield* pieces
  yield END
}

const isBlank = (cells: string[]) => cells.every((cell) => cell.trim() === '')

type Found = { cells: string[]; end: number; lines: number; problem?: string }

/** Parses the row that starts at offset `from`. Returns undefined if there is none, or if it may continue after these bytes. */
const createScan = (delimiter: number) => {
  const endsCell = (byte: number | undefined) => byte === undefined || byte === delimiter || byte === CR || byte === LF

  return (bytes: Buffer, from: number, isEnd: boolean): Found | undefined => {
    if (from >= bytes.length) return undefined
    const cells: string[] = []
    let lines = 0
    let problem: string | undefined
    for (let at = from; ; at++) {
      const start = at
      if (bytes[at] === QUOTE) {
        const close = closingQuote(bytes, at + 1)
        if (close === -1) return undefined
        cells.push(bytes.toString('utf8', at + 1, close).replaceAll('""', '"'))
        lines += countLineBreaks(bytes, at + 1, close)
        at = close + 1
        if (!endsCell(bytes[at])) problem ??= 'Text follows a closing quote'
        while (!endsCell(bytes[at])) at++
      } else {
        for (; !endsCell(bytes[at]); at++) if (bytes[at] === QUOTE) problem ??= 'A quote is in the middle of a cell'
        cells.push(bytes.toString('utf8', start, at))
      }
      if (bytes[at] === delimiter) continue
      // The next piece may continue with a line feed, the second quote of a pair or more of the cell.
      if (!isEnd && at + (bytes[at] === CR ? 1 : 0) >= bytes.length) return undefined
      if (at < bytes.length) lines++
      const end = Math.min(bytes.length, at + (bytes[at] === CR && bytes[at + 1] === LF ? 2 : 1))
      return { cells, end, lines, ...(problem ? { problem } : {}) }
    }
  }
}

/** Offset of the next quote that is not part of a pair, or -1. */
function closingQuote(bytes: Buffer, from: number) {
  let at = bytes.indexOf(QUOTE, from)
  while (at !== -1 && bytes[at + 1] === QUOTE) at = bytes.indexOf(QUOTE, at + 2)
  return at
}

function countLineBreaks(bytes: Buffer, from: number, to: number) {
  let count = 0
  for (let at = from; at < to; at++) if (bytes[at] === LF || (bytes[at] === CR && bytes[at + 1] !== LF)) count++
  return count
}
