import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { pipeline as pipe, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { z } from 'zod'
import { MB } from '../lib/text/units.ts'

/**
 * The file of a project: lines of JSON, compressed by gzip. The first line is the header. Each table begins with a line of its name and columns,
 * one line per row follows. The last line has the number of rows by table, and a checksum of all lines before it: a file that was cut off or
 * changed is refused.
 */
const FORMAT = 1

const Header = z.object({
  sterna: z.literal('project'),
  format: z.literal(FORMAT),
  /** The version of Sterna that wrote the file. */
  version: z.string(),
  /** The last migration of its database: this installation must have it. */
  migration: z.string(),
  createdAt: z.iso.datetime(),
  project: z.object({ id: z.uuid(), name: z.string(), owner: z.string().nullable() }),
  /** Whether keys and secrets are in the file, readable. */
  secrets: z.boolean(),
  /** Where the URLs of images begin. */
  images: z.string().min(1),
  firstEventAt: z.iso.datetime().nullable(),
})
export type ProjectFileHeader = z.output<typeof Header>

const TableLine = z.object({ table: z.string(), columns: z.array(z.string()) })
const EndLine = z.object({ end: z.object({ rows: z.record(z.string(), z.int()), sha256: z.string() }) })

/** Number of rows by table. */
export type RowCounts = Record<string, number>

type Pages = AsyncIterable<string[]>
export type TableOfFile = { table: string; columns: string[]; pages: Pages }

/** Writes a file as fast as the disk takes it. Returns the number of rows by table. */
export async function writeProjectFile(
  path: string,
  header: Omit<ProjectFileHeader, 'sterna' | 'format'>,
  tables: AsyncIterable<TableOfFile>,
): Promise<RowCounts> {
  const rows: RowCounts = {}
  const hash = createHash('sha256')
  const add = (lines: string[]) => {
    const text = lines.map((line) => `${line}\n`).join('')
    hash.update(text)
    return text
  }
  async function* write() {
    yield add([JSON.stringify({ sterna: 'project', format: FORMAT, ...header } satisfies ProjectFileHeader)])
    for await (const { table, columns, pages } of tables) {
      yield add([JSON.stringify({ table, columns })])
      rows[table] = 0
      for await (const page of pages) {
        rows[table] += page.length
        yield add(page)
      }
    }
    yield `${JSON.stringify({ end: { rows, sha256: hash.digest('hex') } })}\n`
  }
  // It has personal data.
  await pipeline(Readable.from(write(), { objectMode: false }), createGzip(), createWriteStream(path, { mode: 0o600, flush: true }))
  return rows
}

type FileLine =
  | { is: 'header'; header: ProjectFileHeader }
  | { is: 'table'; table: string; columns: string[] }
  | { is: 'row'; row: string }
  | { is: 'end'; rows: RowCounts }

/** Rows of a table start with its first column, so that neither can begin one. */
const TABLE = '{"table":'
const END = '{"end":'

/** Reads a file line by line, with memory for one line. Fails at its end, if it is not complete and as it was written. */
export async function* readProjectFile(path: string): AsyncGenerator<FileLine> {
  const damaged = () => new Error(`${path} is incomplete or damaged: nothing was imported.`)
  const hash = createHash('sha256')
  const rows: RowCounts = {}
  let table: string | undefined
  let isFirst = true
  let end: z.output<typeof EndLine> | undefined
  for await (const line of linesOf(path, damaged)) {
    if (end) throw damaged()
    const text = line.toString('utf8')
    if (isFirst) {
      yield { is: 'header', header: readHeader(path, text) }
      isFirst = false
    } else if (text.startsWith(END)) {
      end = parseLine(EndLine, text) ?? fail(damaged())
      continue
    } else if (text.startsWith(TABLE)) {
      const given = parseLine(TableLine, text) ?? fail(damaged())
      table = given.table
      if (table in rows) throw damaged()
      rows[table] = 0
      yield { is: 'table', ...given }
    } else {
      rows[table ?? fail(damaged())]! += 1
      yield { is: 'row', row: text }
    }
    hash.update(line).update('\n')
  }
  if (!end || hash.digest('hex') !== end.end.sha256 || JSON.stringify(rows) !== JSON.stringify(end.end.rows)) throw damaged()
  yield { is: 'end', rows }
}

/** Reads a whole file to see that it is complete. Returns its header and the number of rows by table. */
export async function checkProjectFile(path: string): Promise<{ header: ProjectFileHeader; rows: RowCounts }> {
  let header: ProjectFileHeader | undefined
  let rows: RowCounts | undefined
  for await (const line of readProjectFile(path)) {
    if (line.is === 'header') header = line.header
    if (line.is === 'end') rows = line.rows
  }
  return { header: header!, rows: rows! }
}

function readHeader(path: string, text: string): ProjectFileHeader {
  const known = parseLine(z.object({ sterna: z.literal('project'), format: z.int() }), text)
  if (!known) throw new Error(`${path} is not the file of a project of Sterna.`)
  if (known.format !== FORMAT) throw new Error(`${path} has the format ${known.format}, which this version of Sterna does not know.`)
  return parseLine(Header, text) ?? fail(new Error(`${path} has a header that this version of Sterna does not understand.`))
}

const fail = (err: Error): never => {
  throw err
}

function parseLine<Value>(schema: z.ZodType<Value>, text: string): Value | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/** An image of 20 MB, in base64, is the longest. */
const MAX_LINE = 40 * MB
const NEWLINE = 10

async function* linesOf(path: string, damaged: () => Error): AsyncGenerator<Buffer> {
  let begun: Buffer[] = []
  let length = 0
  for await (const chunk of unpacked(path, damaged)) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      yield begun.length ? Buffer.concat([...begun, chunk.subarray(start, end)]) : chunk.subarray(start, end)
      begun = []
      length = 0
      start = end + 1
    }
    if (start < chunk.length) begun.push(chunk.subarray(start))
    length += chunk.length - start
    if (length > MAX_LINE) throw damaged()
  }
  if (begun.length) throw damaged()
}

async function* unpacked(path: string, damaged: () => Error): AsyncGenerator<Buffer> {
  const stream = createGunzip()
  // With a callback, which gets the error that the loop below throws.
  pipe(createReadStream(path), stream, () => {})
  try {
    yield* stream
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException
    throw code?.startsWith('Z_') ? damaged() : err
  }
}
