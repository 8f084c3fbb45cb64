const [LF, CR, DOT] = [0x0a, 0x0d, 0x2e]

/** The message as it is between DATA and the final dot: lines end with CRLF, the last one too, and leading dots are doubled. */
export function toWireForm(message: Buffer): Buffer {
  if (isWireForm(message)) return message
  const text = message
    .toString('latin1')
    .replace(/\r\n?|\n/g, '\r\n')
    .replace(/^\./gm, '..')
  return Buffer.from(text.endsWith('\r\n') ? text : `${text}\r\n`, 'latin1')
}

function isWireForm(message: Uint8Array) {
  if (message[0] === DOT || message[message.length - 1] !== LF) return false
  for (let at = 0; at < message.length; at++) {
    const byte = message[at]!
    if (byte > CR) continue
    if (byte === LF) return false
    if (byte === CR) {
      if (message[at + 1] !== LF || message[at + 2] === DOT) return false
      at++
    }
  }
  return true
}
