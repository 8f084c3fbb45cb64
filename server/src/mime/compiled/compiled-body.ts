import { BOUNDARY, LONGEST_PLAIN, normaliseLines } from '../encoding/encode.ts'
import { boundOfQuoted, MAX_COLUMN, type QuotedWriter, writeQuoted } from '../encoding/quoted-printable.ts'
import { backgroundPixel, hiddenLink, MAX_LINKS, pixel, trackableTarget } from '../html/rewrite-links.ts'
import type { CompiledHtml, HtmlPiece } from './compiled-html.ts'
import { type Filling, fill } from './slotted-html.ts'

/**
 * The body of a message as bytes that are the same for all recipients, already encoded, with values between them. Writing a body is copying:
 * nothing is laid out, encoded or searched again for each recipient.
 */
export type CompiledBody = {
  write(values: BodyValues): Buffer
  /** Size in memory, roughly. */
  bytes: number
}

/** Values escaped for HTML, and as shown: all of them simple. `targets`: those of `BodyShape`. */
type BodyValues = {
  id: string
  escaped: string[]
  plain: string[]
  targets: (string | undefined)[]
  tokens?: MessageTokens | undefined
}
/** Tokens of the tracked links of one message. `email` is the start of all of them, `open` the token of the pixel. */
type MessageTokens = { email: string; open: string }

/** How links are tracked. `targetToken` is the rest of a token, which is the same for all messages of a content. */
export type BodyTracking = {
  publicUrl: string
  /** Links with one of these prefixes are left as they are. */
  untracked: string[]
  targetToken: (position: number, target: string) => string
  tokenLengths: Record<keyof MessageTokens, number>
}

/** Properties of a body that depend on values, beside its words: the kind of its pixel, and which links with values are tracked, by their targets. */
export type BodyShape = { isShort: boolean; targets: (string | undefined)[] }

/** Undefined when these values cannot be filled in: the message is then built in another way. */
export function shapeOf(html: CompiledHtml, plain: string[], tracking: BodyTracking | undefined): BodyShape | undefined {
  if (!html.mayFill(plain)) return undefined
  if (!tracking) return { isShort: false, targets: [] }
  const { untracked } = tracking
  const targets = html.linksWithValues.map((target) => {
    const address = trackableTarget(fill(target, plain))
    return address === undefined || untracked.some((start) => address.startsWith(start)) ? undefined : address
  })
  return { isShort: html.isShort(plain), targets }
}

/** A piece of a part before encoding. `link`: the number of a tracked link whose target has values of the recipient. */
type PartPiece = { text: string } | { slot: number } | { token: keyof MessageTokens } | { link: number; position: number }

type Op =
  | { op: 'bytes'; bytes: Buffer }
  | { op: 'id' }
  | { op: 'plain'; slot: number }
  /** Quoted-printable from a column on; `isShown`: as shown, not escaped. `breaks`: followed by a soft break, so that what follows begins a line. */
  | { op: 'quoted'; slot: number; isShown: boolean; column: number; breaks: boolean }
  | { op: 'token'; token: keyof MessageTokens }
  | { op: 'link'; link: number; position: number; column: number; breaks: boolean }

const SOFT_BREAK = '=\r\n'
/** Most bytes of quoted-printable for a character: three bytes of UTF-8 at three characters each, and soft breaks. */
const BYTES_PER_CHARACTER = 10

/**
 * True for a value of one line without leading, trailing or double spaces, which cannot change the layout of the text. Line breaks, tabs and
 * unusual spaces are laid out again for each recipient.
 */
export const isSimpleValue = (value: string) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are removed from a message
  value !== '' && !/^ | $| {2}|[^\S ]|[\x00-\x08\x0e-\x1f\x7f]/.test(value)

/** Undefined when the parts cannot be encoded in advance. */
export function compileBody(html: CompiledHtml, tracking: BodyTracking | undefined, shape: BodyShape): CompiledBody | undefined {
  const htmlPieces = tracking ? trackedPieces(html, tracking, shape) : untrackedPieces(html)
  if (!htmlPieces) return undefined
  const textPieces = piecesOf(html.text)
  const htmlOps = quotedOps(htmlPieces, { isShown: false, tracking })
  const quotedBody = bodyOps('quoted-printable', quotedOps(textPieces, { isShown: true, tracking }), htmlOps)
  const plain = plainText(textPieces)
  const plainBody = plain && bodyOps('7bit', plain.ops, htmlOps)
  return {
    write(values) {
      const ops = plainBody && plain.mayHold(values.plain) ? plainBody : quotedBody
      const out = Buffer.allocUnsafe(boundOf(ops, values))
      return out.subarray(0, writeOps(ops, out, values, tracking))
    },
    bytes: 2 * sizeOf(quotedBody),
  }
}

// Pieces ---------------------------------------------------------------------------------------------------------------

const piecesOf = ({ texts, slots }: Filling): PartPiece[] =>
  texts.flatMap((text, index) => [...(text ? [{ text }] : []), ...(index < slots.length ? [{ slot: slots[index]! }] : [])])

const untrackedPieces = ({ pieces: { before, after } }: CompiledHtml) =>
  [...before, ...after].flatMap((piece) => piecesOf('texts' in piece ? piece : piece.attribute))

/** As `rewriteLinks` does. Undefined when there are too many links to number them in advance. */
function trackedPieces({ pieces: { before, after } }: CompiledHtml, tracking: BodyTracking, shape: BodyShape): PartPiece[] | undefined {
  const { publicUrl, untracked, targetToken } = tracking
  let position = 0
  let link = -1
  const address = (rest: PartPiece): PartPiece[] => [{ text: `${publicUrl}/t/c/` }, { token: 'email' }, rest]
  const addressOf = (target: string | Filling | undefined): PartPiece[] | undefined => {
    if (typeof target === 'object') return shape.targets[++link] === undefined ? undefined : address({ link, position: ++position })
    if (target === undefined || untracked.some((start) => target.startsWith(start))) return undefined
    return address({ text: targetToken(++position, target) })
  }
  const rewrite = (piece: HtmlPiece) => {
    if ('texts' in piece) return piecesOf(piece)
    const tracked = addressOf(piece.target)
    return tracked ? [{ text: 'href="' }, ...tracked, { text: '"' }] : piecesOf(piece.attribute)
  }
  const start = before.flatMap(rewrite)
  const rest = after.flatMap(rewrite)
  // Within a quoted URL.
  if (position > MAX_LINKS || publicUrl.includes("'")) return undefined
  return [
    ...start,
    ...(position ? around(hiddenLink, address({ text: targetToken(0, '') })) : []),
    ...around(shape.isShort ? backgroundPixel : pixel, [{ text: `${publicUrl}/t/o/` }, { token: 'open' }]),
    ...rest,
  ]
}

/** The markup of a link or pixel with these pieces as its address. */
const around = (markup: (url: string) => string, address: PartPiece[]): PartPiece[] =>
  markup('\0')
    .split('\0')
    .flatMap((text, index) => [...(index ? address : []), { text }])

// Encoding -------------------------------------------------------------------------------------------------------------

const bytesOp = (text: string): Op => ({ op: 'bytes', bytes: Buffer.from(text, 'latin1') })

function bodyOps(encoding: string, text: Op[], html: Op[]) {
  const part = (kind: string, how: string) =>
    bytesOp(`-a\r\nContent-Type: text/${kind}; charset=utf-8\r\nContent-Transfer-Encoding: ${how}\r\n\r\n`)
  const delimiter: Op[] = [bytesOp(`--${BOUNDARY}`), { op: 'id' }]
  return merged([
    ...delimiter,
    part('plain', encoding),
    ...text,
    bytesOp('\r\n'),
    ...delimiter,
    part('html', 'quoted-printable'),
    ...html,
    bytesOp('\r\n'),
    ...delimiter,
    bytesOp('-a--\r\n'),
  ])
}

/** Adjacent bytes as one. */
function merged(ops: Op[]) {
  const out: Op[] = []
  for (const each of ops) {
    const last = out.at(-1)
    if (each.op === 'bytes' && last?.op === 'bytes') out[out.length - 1] = { op: 'bytes', bytes: Buffer.concat([last.bytes, each.bytes]) }
    else out.push(each)
  }
  return out
}

/** The text without encoding, and for which values that is allowed: the rules of `encodeBody`. Undefined when it is for none. */
function plainText(pieces: PartPiece[]) {
  const joined = joinedTexts(pieces)
  const shape = joined.map((piece) => ('text' in piece ? piece.text : '_')).join('')
  // With double spaces the bytes would not be in the relaxed form of DKIM.
  if (!/^[\x20-\x7e\r\n]*$/.test(shape) || / {2}| \r|=_|\r\n\./.test(shape) || /^\.| $/.test(shape)) return undefined
  const longest = Math.max(...shape.split('\r\n').map((line) => line.length))
  const slots = joined.flatMap((piece) => ('slot' in piece ? [piece.slot] : []))
  return {
    ops: joined.map((piece): Op => ('text' in piece ? bytesOp(piece.text) : { op: 'plain', slot: (piece as { slot: number }).slot })),
    mayHold(values: string[]) {
      let length = longest
      for (const slot of slots) {
        const value = values[slot]!
        length += value.length
        // No dot at the start of a line, and no "=" that could begin a boundary.
        if (!/^(?!\.)[\x20-\x3c\x3e-\x7e]*$/.test(value)) return false
      }
      return length <= LONGEST_PLAIN
    },
  }
}

/** Adjacent texts as one, with CRLF line ends and without control characters. */
function joinedTexts(pieces: PartPiece[]) {
  const out: PartPiece[] = []
  for (const piece of pieces) {
    const last = out.at(-1)
    if ('text' in piece && last && 'text' in last) out[out.length - 1] = { text: last.text + piece.text }
    else out.push(piece)
  }
  // A byte order mark is removed at the start only.
  return out.map((piece, index) =>
    'text' in piece ? { text: normaliseLines(index ? `x${piece.text}` : piece.text).slice(index ? 1 : 0) } : piece,
  )
}

/** `isShown`: values are written as shown, not escaped for HTML. */
function quotedOps(pieces: PartPiece[], { isShown, tracking }: { isShown: boolean; tracking: BodyTracking | undefined }): Op[] {
  const ops: Op[] = []
  const joined = joinedTexts(pieces)
  let column = 0
  for (const [index, piece] of joined.entries()) {
    if ('text' in piece) {
      const encoded = quotedText(piece.text, column)
      ops.push({ op: 'bytes', bytes: encoded.bytes })
      column = encoded.column
    } else if ('token' in piece) {
      // A known length: the text after it begins at a known column.
      const length = tracking!.tokenLengths[piece.token]
      if (column + length > MAX_COLUMN) ops.push(bytesOp(SOFT_BREAK))
      ops.push({ op: 'token', token: piece.token })
      column = column + length > MAX_COLUMN ? length : column + length
    } else {
      const next = joined[index + 1]
      const place = { column, breaks: next !== undefined && !('text' in next && next.text.startsWith('\r\n')) }
      ops.push('slot' in piece ? { op: 'quoted', slot: piece.slot, isShown, ...place } : { op: 'link', ...piece, ...place })
      column = 0
    }
  }
  return ops
}

/** Quoted-printable of constant text, from a column on. */
function quotedText(text: string, from: number) {
  const bytes = Buffer.from(text)
  const out = Buffer.allocUnsafe(boundOfQuoted(bytes.length))
  const writer = { out, at: 0, column: from }
  writeQuoted(writer, bytes, 'relaxed')
  return { bytes: Buffer.from(out.subarray(0, writer.at)), column: writer.column }
}

// Writing --------------------------------------------------------------------------------------------------------------

const sizeOf = (ops: Op[]) => ops.reduce((sum, each) => sum + (each.op === 'bytes' ? each.bytes.length : 200), 0)

function boundOf(ops: Op[], { id, escaped, tokens }: BodyValues) {
  let bound = 0
  for (const each of ops) {
    if (each.op === 'bytes') bound += each.bytes.length
    else if (each.op === 'id') bound += id.length
    else if (each.op === 'token') bound += tokens![each.token].length
    else if (each.op === 'link') bound += MAX_LINK_TOKEN
    else bound += BYTES_PER_CHARACTER * escaped[each.slot]!.length + 6
  }
  return bound
}

/** Bytes of a token with a target of 1,400 bytes, with soft breaks. */
const MAX_LINK_TOKEN = 2_500

function writeOps(ops: Op[], out: Buffer, values: BodyValues, tracking: BodyTracking | undefined) {
  const writer: QuotedWriter = { out, at: 0, column: 0 }
  const write = (text: string) => {
    writer.at += out.write(text, writer.at, 'latin1')
  }
  const quote = (text: string, { column, breaks }: { column: number; breaks: boolean }) => {
    writer.column = column
    writeQuoted(writer, Buffer.from(text), 'relaxed')
    if (breaks) write(SOFT_BREAK)
  }
  for (const each of ops) {
    if (each.op === 'bytes') {
      out.set(each.bytes, writer.at)
      writer.at += each.bytes.length
    } else if (each.op === 'token') write(values.tokens![each.token])
    else if (each.op === 'quoted') quote((each.isShown ? values.plain : values.escaped)[each.slot]!, each)
    else if (each.op === 'link') quote(tracking!.targetToken(each.position, values.targets[each.link]!), each)
    else write(each.op === 'id' ? values.id : values.plain[each.slot]!)
  }
  return writer.at
}
