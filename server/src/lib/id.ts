import { randomFillSync } from 'node:crypto'

/** Random digits are generated in bulk: one call for thousands is cheaper. */
const pool = Buffer.alloc(8_192)
let digits = ''
let used = 0
/** Random digits per id: 15 as they are, one for the variant, and three for the first sequence number of a millisecond. */
const DIGITS = 19

let lastTime = 0
let sequence = 0

/**
 * UUIDv7: sorts by creation time, so `id > cursor` is a valid page and index inserts stay local. Ids of one process increase within a
 * millisecond too, so that rows created shortly after each other are listed in order.
 */
export function newId(now = Date.now()) {
  const random = randomDigits(DIGITS)
  if (advance(now, random)) timeDigits = lastTime.toString(16).padStart(12, '0')
  const variant = VARIANTS[Number.parseInt(random[15]!, 16) & 3]
  return `${timeDigits.slice(0, 8)}-${timeDigits.slice(8)}-7${SEQUENCES[sequence]}-${variant}${random.slice(0, 3)}-${random.slice(3, 15)}`
}

/** Hexadecimal digits of a cryptographic generator. */
export function randomDigits(count: number) {
  if (used + count > digits.length) {
    digits = randomFillSync(pool).toString('hex')
    used = 0
  }
  used += count
  return digits.slice(used - count, used)
}

const VARIANTS = ['8', '9', 'a', 'b']
const SEQUENCES = Array.from({ length: 0x1000 }, (_, value) => value.toString(16).padStart(3, '0'))
let timeDigits = ''

/** A clock that was wrong by more than this is followed when it is set back: ids must not be of another time for hours. */
const MAX_AHEAD_MS = 60_000

/**
 * The sequence of a new millisecond starts at random in its lower half. When it is exhausted, or the clock steps back a little, the time of the
 * ids runs ahead of the clock. True when the time has changed.
 */
function advance(now: number, random: string) {
  if (now > lastTime || now < lastTime - MAX_AHEAD_MS) {
    lastTime = now
    sequence = Number.parseInt(random.slice(16), 16) & 0x7ff
    return true
  }
  if (sequence < 0xfff) {
    sequence++
    return false
  }
  lastTime++
  sequence = 0
  return true
}

/** The smallest UUIDv7 of that moment: its first 48 bits are milliseconds. */
export function lowestId(at: Date) {
  const hex = at.getTime().toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

/** The time in a UUIDv7, in milliseconds; the SQL function `id_time` reads the same. */
export const idTime = (id: string) => new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))

/** Lower than every id. */
export const NIL_ID = '00000000-0000-0000-0000-000000000000'

/** 32 hexadecimal digits as an id. */
export const uuidFromHex = (hex: string) =>
  [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isId = (value: unknown): value is string => typeof value === 'string' && UUID.test(value)
