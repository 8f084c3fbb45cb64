import { z } from 'zod'
import { type Db, scalar } from '../../db/index.ts'
import { tryLater } from '../../lib/errors/errors.ts'
import { createFairSemaphore } from '../../lib/fair/semaphore.ts'
import { isPersonal, loadSpelling } from '../../lib/network/mailbox-providers.ts'
import { type CsvRow, type Layout, readLayout, readRows } from './csv.ts'
import { inPieces, toUtf8 } from './csv-encoding.ts'
import type { ColumnMapping } from './csv-mapping.ts'
import { CsvUnreadable } from './csv-records.ts'

/** Rows of each kind in the answer. */
const SHOWN = 100
const CHUNK = 1_000

const Row = { row: z.int(), email: z.string() }

export const ImportCheck = z
  .object({
    dryRun: z.literal(true),
    totalRows: z.int(),
    validCount: z.int(),
    failureCount: z.int(),
    duplicateCount: z.int().describe('Valid rows whose address an earlier row has. Their values are merged.'),
    newCount: z.int().describe('Addresses that are no contacts yet.'),
    knownCount: z.int(),
    unsubscribeCount: z.int().describe('Valid rows that say that the contact is not subscribed.'),
    misspeltCount: z.int().describe('Valid rows whose domain looks like a misspelt provider. They are imported as they are.'),
    fileError: z.string().nullable().describe('Why the rest of the file cannot be read.'),
    columns: z.array(
      z.object({ column: z.string(), target: z.string().nullable().describe('`email`, `subscribed`, `data.<key>`, or null.') }),
    ),
    errors: z.array(z.object({ ...Row, error: z.string() })).describe(`The first ${SHOWN} invalid rows.`),
    duplicates: z.array(z.object(Row)).describe(`The first ${SHOWN}.`),
    misspelt: z.array(z.object({ ...Row, suggestion: z.string() })).describe(`The first ${SHOWN}.`),
  })
  .meta({ id: 'ImportCheck' })

type Check = z.output<typeof ImportCheck>
type Upload = { projectId: string; uploaded: Buffer; mapping?: ColumnMapping | undefined; rowsBefore: number }

/** A file of 5 MB takes seconds of CPU: two at a time on a node, one per project. */
const share = createFairSemaphore({
  slots: 2,
  each: 1,
  maxWaiting: 4,
  maxWaitMs: 10_000,
  refusal: () => tryLater('Too many files are being checked. Try again shortly.', 5),
})

/** Reads a whole file as an import would, and says what it would do. Writes nothing. */
export const checkImport = (db: Db, { projectId, uploaded, mapping, rowsBefore }: Upload): Promise<Check> =>
  share(projectId, async () => {
    const content = await toUtf8(uploaded)
    const layout = await readLayout(content, { mapping })
    const tally = createTally(await createSuggest(), rowsBefore)
    const isNew = createNewCounter(db, projectId)
    let fileError: string | null = null
    try {
      for await (const rows of readRows(inPieces(content.subarray(layout.header.byte)), layout, layout.header))
        for (const row of rows) if (tally.add(row)) await isNew.add(row.email)
    } catch (err) {
      if (!(err instanceof CsvUnreadable)) throw err
      fileError = err.message
    }
    const { distinct, ...counts } = tally.read()
    const knownCount = await isNew.knownCount()
    return { dryRun: true, ...counts, newCount: distinct - knownCount, knownCount, fileError, columns: targetsOf(layout) }
  })

function createTally(suggest: (email: string) => string | undefined, rowsBefore: number) {
  const seen = new Set<string>()
  const counts = { totalRows: 0, validCount: 0, failureCount: 0, duplicateCount: 0, unsubscribeCount: 0, misspeltCount: 0 }
  const shown: Pick<Check, 'errors' | 'duplicates' | 'misspelt'> = { errors: [], duplicates: [], misspelt: [] }
  const show = <Item extends { row: number }>(list: Item[], item: Item) =>
    void (list.length < SHOWN && list.push({ ...item, row: item.row + rowsBefore }))

  /** True for a valid row whose address was not seen before. */
  function add(row: CsvRow): boolean {
    counts.totalRows++
    if ('error' in row) {
      counts.failureCount++
      show(shown.errors, { row: row.row, email: row.email, error: row.error })
      return false
    }
    counts.validCount++
    if (row.subscribed === false) counts.unsubscribeCount++
    const suggestion = suggest(row.email)
    if (suggestion) {
      counts.misspeltCount++
      show(shown.misspelt, { row: row.row, email: row.email, suggestion })
    }
    if (!seen.has(row.email)) return Boolean(seen.add(row.email))
    counts.duplicateCount++
    show(shown.duplicates, { row: row.row, email: row.email })
    return false
  }

  return { add, read: () => ({ ...counts, ...shown, distinct: seen.size }) }
}

/** Suggests the well-known provider that the domain of an address may be a misspelling of. */
async function createSuggest() {
  const spell = await loadSpelling()
  const known = new Map<string, string | undefined>()
  return (email: string) => {
    const at = email.lastIndexOf('@')
    const domain = email.slice(at + 1)
    if (!known.has(domain)) known.set(domain, isPersonal(domain) ? undefined : providerOf(spell(domain)))
    const suggested = known.get(domain)
    return suggested && `${email.slice(0, at)}@${suggested}`
  }
}

const providerOf = (meant: { domain: string; isProvider: boolean } | undefined) => (meant?.isProvider ? meant.domain : undefined)

/** Counts the addresses that are contacts, many with one query. */
function createNewCounter(db: Db, projectId: string) {
  let waiting: string[] = []
  let known = 0

  async function look() {
    const emails = waiting
    waiting = []
    known += await scalar<number>(db)`
      select count(*)::int from contacts where project_id = ${projectId} and email = any(${emails}::text[])
    `
  }

  return {
    async add(email: string) {
      waiting.push(email)
      if (waiting.length === CHUNK) await look()
    },
    async knownCount() {
      if (waiting.length) await look()
      return known
    },
  }
}

const targetsOf = ({ columns, email, subscribed }: Layout) =>
  columns.map(({ name, header }, column) => ({
    column: header ?? name,
    target: column === email ? 'email' : column === subscribed ? 'subscribed' : name === '' ? null : `data.${name}`,
  }))
