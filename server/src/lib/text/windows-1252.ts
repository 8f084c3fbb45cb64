/** The characters of 0x80 to 0x9f; the five bytes without one stay control characters, as the WHATWG encoding standard says. */
const HIGH_CONTROLS = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'

/** Node 20's `TextDecoder` decodes `windows-1252` as latin1, so a euro sign or a curly quote becomes a control character. */
export const decodeWindows1252 = (bytes: Uint8Array) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString('latin1')
    .replace(/[\x80-\x9f]/g, (char) => HIGH_CONTROLS[char.charCodeAt(0) - 0x80]!)
