import { randomFillSync } from 'node:crypto'

/** Random bytes are cheaper by the thousand. */
const pool = Buffer.alloc(8_192)
let used = pool.length

let lastTime = 0
let sequence = 0

/**
 * UUIDv7: sorts by creation time, so `id > cursor` is a valid page and index inserts stay local. Ids of one process count up
 * also within a millisecond, so that what follows each other closely is listed in its order.
 */
export function newId(now = Date.now()) {
  if (used + 10 > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const random = pool.subarray(used, used + 8)
  advance(now, pool.readUInt16BE(used + 8))
  used += 10
  const time = lastTime.toString(16).padStart(12, '0')
  const high = ((random[0]! & 0x3f) | 0x80).toString(16)
  const low = random.toString('hex', 1)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence.toString(16).padStart(3, '0')}-${high}${low.slice(0, 2)}-${low.slice(2)}`
}

/** A new millisecond starts at random, with room above; when the room is used up, or the clock steps back, time runs ahead. */
function advance(now: number, start: number) {
  if (now > lastTime) {
    lastTime = now
    sequence = start & 0x7ff
  } else if (sequence < 0xfff) sequence++
  else {
    lastTime++
    sequence = 0
  }
}

/** The smallest UUIDv7 of that moment: its first 48 bits are milliseconds. */
export function lowestId(at: Date) {
  const hex = at.getTime().toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isId = (value: unknown): value is string => typeof value === 'string' && UUID.test(value)
