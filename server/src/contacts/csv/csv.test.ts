import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CsvRow, MAX_ROWS, readLayout, readRows } from './csv.ts'
import { inPieces } from './csv-encoding.ts'
import { type CsvRecord, readRecords } from './csv-records.ts'

async function* cut(bytes: Buffer, size: number) {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size)
}

async function collect<Item>(batches: AsyncIterable<Item[]>) {
  const collected: Item[] = []
  for await (const batch of batches) collected.push(...batch)
  return collected
}

const START = { byte: 0, line: 0 }
const cell = fc.string({ unit: fc.constantFrom('a', 'é', '😀', ' ', '"', ',', ';', '\n', '\r', '\r\n'), maxLength: 6 })
const quote = (text: string) => (/[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
const table = fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { maxLength: 8 })
const isBlank = (cells: string[]) => cells.every((text) => text.trim() === '')

describe('the rows of a CSV file', () => {
  test('equal the written rows, with pieces of any size and from any row on', async () => {
    await fc.assert(
      fc.asyncProperty(
        table,
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.constantFrom(',', ';'),
        fc.integer({ min: 1, max: 9 }),
        async (rows, newline, delimiter, size) => {
          const file = Buffer.from(rows.map((cells) => cells.map(quote).join(delimiter) + newline).join(''))
          const expected = rows.filter((cells) => !isBlank(cells))
          const records = await collect(readRecords(cut(file, size), { delimiter, ...START }))
          expect(records.map(({ cells, problem }) => ({ cells, problem }))).toEqual(expected.map((cells) => ({ cells })))
          for (const [n, { end, line }] of records.entries()) {
            const rest = await collect(readRecords(cut(file.subarray(end), size), { delimiter, byte: end, line }))
            expect(rest).toEqual(records.slice(n + 1))
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  test('equal those of another parser', async () => {
    const soup = fc.string({ unit: fc.constantFrom('a', '"', '""', ',', '\n', '\r\n', 'é'), maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(soup, fc.integer({ min: 1, max: 5 }), async (text, size) => {
        const other = readByOther(text)
        const ours = await collect(readRecords(cut(Buffer.from(text), size), { delimiter: ',', ...START })).catch(
          () => 'unreadable' as const,
        )
        if (other === 'unreadable') expect(ours === 'unreadable' || ours.some(({ problem }) => problem)).toBe(true)
        else expect((ours as CsvRecord[]).map(({ cells }) => cells)).toEqual(other)
      }),
      { numRuns: 1_000 },
    )
  })

  const readByOther = (text: string): string[][] | 'unreadable' => {
    try {
      return (parse(text, { relax_column_count: true, record_delimiter: ['\r\n', '\n', '\r'] }) as string[][]).filter(
        (cells) => !isBlank(cells),
      )
    } catch {
      return 'unreadable'
    }
  }

  test('have line numbers that count quoted line breaks and blank lines', async () => {
    const file = Buffer.from('email,note\n\n"a","x\ny\r\nz"\r\nb,1\n\n\nc,d"\ne,"')
    const records: CsvRecord[] = []
    const reading = (async () => {
      for await (const some of readRecords(cut(file, 3), { delimiter: ',', ...START })) records.push(...some)
    })()
    await expect(reading).rejects.toThrow('Line 10 opens a quote that is never closed.')
    expect(records.map(({ line }) => line)).toEqual([1, 5, 6, 9])
    expect(records.at(-1)!.problem).toBe('A quote is in the middle of a cell, in line 9')
  })

  test('end with an error at a row longer than a megabyte', async () => {
    const file = Buffer.from(`email,note\na,b\nc,"${'x'.repeat(2_000_000)}`)
    await expect(collect(readRecords(inPieces(file), { delimiter: ',', ...START }))).rejects.toThrow(/row in line 3 is too long/)
  })

  test('are limited to 500,000, and the error says so', async () => {
    const layout = await readLayout(Buffer.from('email\n'))
    const rows: CsvRow[] = []
    const reading = (async () => {
      const file = Buffer.from('a@example.com\n'.repeat(3))
      for await (const some of readRows(inPieces(file), layout, { row: MAX_ROWS - 1, byte: 6 })) rows.push(...some)
    })()
    await expect(reading).rejects.toThrow(/more than 500,000 rows/)
    expect(rows.map(({ row }) => row)).toEqual([MAX_ROWS, MAX_ROWS + 1])
  })
})

describe('the layout of a CSV file', () => {
  test('is read from the first piece, however large the file is', async () => {
    const file = Buffer.from(`email,name\n${'ada@example.com,Ada\n'.repeat(250_000)}`)
    let read = 0
    const pieces: typeof inPieces = async function* (content) {
      for await (const piece of inPieces(content)) {
        read += piece.length
        yield piece
      }
    }
    const layout = await readLayout(file, { pieces })
    expect(layout).toMatchObject({ delimiter: ',', email: 0, header: { row: 1, byte: 11, line: 1 } })
    expect(read).toBe(64 * 1024)
  })
})
