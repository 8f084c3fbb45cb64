import { Readable } from 'node:stream'
import type { RowError } from '../jobs/job.ts'

/** What a spreadsheet would run as a formula is prefixed so that it stays text. */
const cell = (value: string) => `"${(/^[=+\-@\t\r\0]/.test(value) ? `'${value}` : value).replaceAll('"', '""').replaceAll('\0', '')}"`

/** A page at a time: a file of errors only may be as long as the file that was imported. */
export const printErrors = (nextPage: (after: number) => Promise<RowError[]>) =>
  Readable.from(
    (async function* () {
      yield 'row,email,error\r\n'
      for (let after = 0; ; ) {
        const page = await nextPage(after)
        if (!page.length) return
        yield page.map(({ row, subject, error }) => `${row},${cell(subject)},${cell(error)}\r\n`).join('')
        after = page.at(-1)!.row
      }
    })(),
  )
