const EMPTY = Buffer.alloc(0)

/** Reads text up to a mark, and data, from the pieces of a stream. A piece is a buffer of which only the first `count` bytes count. */
export function createByteReader() {
  let bytes: Buffer = EMPTY
  let size = 0
  let at = 0
  /** Bytes of a text that has not ended. */
  let pending: Buffer | undefined

  function takeAtOnce(end: Buffer, max: number): string | undefined | null {
    const found = bytes.indexOf(end, at)
    if (found >= 0 && found + end.length <= size) {
      const text = found - at > max ? null : bytes.toString('latin1', at, found)
      at = found + end.length
      return text
    }
    if (size - at >= max + end.length) return null
    pending = Buffer.from(bytes.subarray(at, size))
    at = size
    return undefined
  }

  function takeOn(known: Buffer, end: Buffer, max: number): string | undefined | null {
    const all = Buffer.concat([known, bytes.subarray(at, size)])
    const found = all.indexOf(end, Math.max(0, known.length - end.length + 1))
    if (found > max || (found < 0 && all.length >= max + end.length)) return null
    pending = found < 0 ? all : undefined
    at = found < 0 ? size : at + found + end.length - known.length
    return found < 0 ? undefined : all.toString('latin1', 0, found)
  }

  return {
    /** Before the first piece of a stream. */
    begin() {
      pending = undefined
    },
    /** The next piece. It is read until `isEmpty`, and not kept. */
    load(piece: Buffer, count: number) {
      bytes = piece
      size = count
      at = 0
    },
    isEmpty: () => at >= size,
    /** Bytes of the piece that were read. */
    count: () => at,
    /** The text before a mark (latin1); undefined if it has not ended, null if it has more than `max` bytes. */
    take: (end: Buffer, max: number) => (pending ? takeOn(pending, end, max) : takeAtOnce(end, max)),
    /** Up to `max` bytes of the piece. */
    takeData(max: number) {
      const data = bytes.subarray(at, Math.min(size, at + max))
      at += data.length
      return data
    },
    /** Whether the text that is to be taken begins like that, as far as it is known. */
    beginsWith(start: Buffer) {
      const known = pending?.length ?? 0
      for (let n = known; n < start.length && at + n - known < size; n++) if (bytes[at + n - known] !== start[n]) return false
      return true
    },
  }
}
