import { isAscii } from 'node:buffer'

const [NUL, LF, CR] = [0, 0x0a, 0x0d]

/**
 * Looks at the bytes of a message while they arrive. A line end other than CRLF is the same message for one server and two for another (SMTP
 * smuggling), and programs cut text at NUL.
 */
export function createByteCheck() {
  /** The last byte of the chunk before. */
  let last = 0
  let is8bit = false
  let problem: string | undefined

  return {
    read(chunk: Buffer) {
      problem ??= problemIn(chunk, last)
      if (chunk.length) last = chunk[chunk.length - 1]!
      is8bit ||= !isAscii(chunk)
    },
    /** Why the message is refused; undefined when it is not. */
    problem: () => problem ?? (last === CR ? BARE_CR : undefined),
    is8bit: () => is8bit,
  }
}

function problemIn(chunk: Buffer, last: number): string | undefined {
  if (chunk.includes(NUL)) return 'The message contains NUL'
  if (last === CR && chunk.length && chunk[0] !== LF) return BARE_CR
  let cr = indexFrom(chunk, CR, 0)
  for (let lf = indexFrom(chunk, LF, 0); lf >= 0; lf = indexFrom(chunk, LF, lf + 1)) {
    const before = lf === 0 ? last : chunk[lf - 1]
    if (before !== CR) return 'The message contains a bare LF'
    if (lf > 0 && cr !== lf - 1) return BARE_CR
    if (lf > 0) cr = indexFrom(chunk, CR, lf + 1)
  }
  return cr >= 0 && cr < chunk.length - 1 ? BARE_CR : undefined
}

const NEAR = 24

/** A call of `indexOf` takes as long as a look at some twenty bytes, and is faster beyond them. A message may consist of empty lines. */
function indexFrom(chunk: Buffer, byte: number, from: number): number {
  const near = Math.min(from + NEAR, chunk.length)
  for (let at = from; at < near; at++) if (chunk[at] === byte) return at
  return near < chunk.length ? chunk.indexOf(byte, near) : -1
}

const BARE_CR = 'The message contains a bare CR'
