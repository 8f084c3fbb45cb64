const [NUL, LF, CR] = [0, 0x0a, 0x0d]

/**
 * Looks at the bytes of a message while they arrive. A line end other than CRLF is the same message for one server and two for another (SMTP
 * smuggling), and programs cut text at NUL.
 */
export function createByteCheck() {
  let previous = 0
  let bits = 0
  let problem: string | undefined

  return {
    read(chunk: Buffer) {
      if (problem) return
      for (let at = 0; at < chunk.length; at++) {
        const byte = chunk[at]!
        if (byte === NUL) problem = 'The message contains NUL'
        else if ((previous === CR) !== (byte === LF)) problem = previous === CR ? BARE_CR : 'The message contains a bare LF'
        if (problem) return
        bits |= byte
        previous = byte
      }
    },
    /** Why the message is refused; undefined when it is not. */
    problem: () => problem ?? (previous === CR ? BARE_CR : undefined),
    is8bit: () => bits > 0x7f,
  }
}

const BARE_CR = 'The message contains a bare CR'

export function isAscii(bytes: Uint8Array) {
  let bits = 0
  for (let at = 0; at < bytes.length; at++) bits |= bytes[at]!
  return bits <= 0x7f
}
