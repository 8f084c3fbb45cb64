const EXCEL = 'This is an Excel workbook; save it as CSV UTF-8.'
const PACKED = 'This is a compressed file; unpack it and upload the CSV file in it.'
const IMAGE = 'This is an image, not CSV.'

/** File signatures in hexadecimal. */
const BY_BYTES: [prefix: string, problem: string][] = [
  ['d0cf11e0a1b11ae1', EXCEL],
  ['504b0506', PACKED],
  ['1f8b', PACKED],
  ['377abcaf271c', PACKED],
  ['526172211a07', PACKED],
  ['255044462d', 'This is a PDF document, not CSV.'],
  ['89504e47', IMAGE],
  ['ffd8ff', IMAGE],
  ['47494638', IMAGE],
]

const BY_TEXT: [beginning: RegExp, problem: string][] = [
  [/^\{\\rtf/, 'This is an RTF document, not CSV.'],
  [/^<\?xml/i, 'This is an XML file, not CSV.'],
  [/^<(!doctype|html|head|body|table|meta)\b/i, 'This is an HTML page, not CSV.'],
  [/^(\[\s*)?\{\s*"/, 'This is JSON, not CSV.'],
  [/^BEGIN:VCARD/i, 'These are vCards, not CSV.'],
]

/** Explains what to do with a file of another format that is often uploaded instead of CSV. Undefined for all other files. */
export function explainOtherFormat(content: Buffer): string | undefined {
  const hex = content.toString('hex', 0, 8)
  if (hex.startsWith('504b0304')) return problemOfZip(content)
  const byBytes = BY_BYTES.find(([prefix]) => hex.startsWith(prefix))
  if (byBytes) return byBytes[1]
  const text = content
    .toString('utf8', 0, 200)
    .replace(/^\ufeff/, '')
    .trimStart()
  return BY_TEXT.find(([beginning]) => beginning.test(text))?.[1]
}

/** Reads the name of the first entry, which follows its header of 30 bytes. */
function problemOfZip(content: Buffer) {
  const name = content.toString('latin1', 30, 30 + content.subarray(26, 28).reduceRight((length, byte) => length * 256 + byte, 0))
  if (/\.(csv|txt|tsv)$/i.test(name)) return PACKED
  if (name === 'mimetype') return 'This is an OpenDocument file; save it as CSV in UTF-8.'
  return EXCEL
}
