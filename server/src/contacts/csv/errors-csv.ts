import { Readable } from 'node:stream'
import type { RowError } from '../../jobs/job.ts'
import { csvCell } from '../../lib/text/csv-cell.ts'

/** Streamed page by page: with only invalid rows the result is as long as the imported file. */
export const printErrors = (nextPage: (after: number) => Promise<RowError[]>) =>
  Readable.from(
    (async function* () {
      yield 'row,email,error\r\n'
      for (let after = 0; ; ) {
        const page = await nextPage(after)
        if (!page.length) return
        yield page.map(({ row, subject, error }) => `${row},${csvCell(subject)},${csvCell(error)}\r\n`).join('')
        after = page.at(-1)!.row
      }
    })(),
  )
