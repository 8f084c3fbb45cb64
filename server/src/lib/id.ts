import { randomFillSync } from 'node:crypto'

/** Random digits are cheaper by the thousand. */
const pool = Buffer.alloc(8_192)
let digits = ''
let used = 0
/** Of an id: 15 digits as they are, one of which only four are allowed, and three to start a millisecond with. */
const DIGITS = 19

let lastTime = 0
let sequence = 0

/**
 * UUIDv7: sorts by creation time, so `id > cursor` is a valid page and index inserts stay local. Ids of one process count up
 * also within a millisecond, so that what follows each other closely is listed in its order.
 */
export function newId(now = Date.now()) {
  const random = randomDigits(DIGITS)
  if (advance(now, random)) timeDigits = lastTime.toString(16).padStart(12, '0')
  const variant = VARIANTS[Number.parseInt(random[15]!, 16) & 3]
  return `${timeDigits.slice(0, 8)}-${timeDigits.slice(8)}-7${SEQUENCES[sequence]}-${variant}${random.slice(0, 3)}-${random.slice(3, 15)}`
}

/** So many hexadecimal digits that nobody can guess. */
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

/**
 * A new millisecond starts at random, with room above; when the room is used up, or the clock steps back, time runs ahead.
 * True when the time has changed.
 */
function advance(now: number, random: string) {
  if (now > lastTime) {
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

/** Lower than every id. */
export const NIL_ID = '00000000-0000-0000-0000-000000000000'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isId = (value: unknown): value is string => typeof value === 'string' && UUID.test(value)
