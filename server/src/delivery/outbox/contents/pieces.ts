import type { sql } from 'kysely'
import { type Db, maybeOne, maybeScalar } from '../../../db/index.ts'
import { MB } from '../../../lib/text/units.ts'

type Sql = ReturnType<typeof sql>
/** Where bytes are stored: a column of one row. */
type Place = { column: Sql; row: Sql }

/**
 * Bytes per query. The driver gets them as text of twice the size and decodes it on the main thread: 40 MB at once would take 300 MB of memory,
 * and all requests would wait. The columns are stored uncompressed, so that reading a piece does not read what is before it.
 */
const PIECE = MB

/** In memory of their own, which can go to a thread. Undefined when they were deleted meanwhile. */
export async function readPieces(db: Db, { column, row, size }: Place & { size: number }): Promise<Buffer | undefined> {
  const bytes = Buffer.allocUnsafeSlow(size)
  for (let at = 0; at < size; at += PIECE) {
    const found = await maybeOne<{ piece: Buffer | null }>(
      db,
    )`select substring(${column} from ${at + 1}::int for ${PIECE}::int) as piece ${row}`
    if (found?.piece?.length !== Math.min(PIECE, size - at)) return undefined
    found.piece.copy(bytes, at)
  }
  return bytes
}

/** Undefined when there are none. */
export async function findBytes(db: Db, place: Place): Promise<Buffer | undefined> {
  const size = await maybeScalar<number | null>(db)`select octet_length(${place.column}) ${place.row}`
  return typeof size === 'number' ? readPieces(db, { ...place, size }) : undefined
}
