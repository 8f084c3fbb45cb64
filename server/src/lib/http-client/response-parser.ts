import { KB } from '../text/units.ts'

/** What a caller learns of a response before its body has ended. */
export type ResponseHead = {
  status: number
  /** The first `Retry-After`. */
  retryAfter: string | undefined
  /** Whether the connection may be used again once the body has ended. */
  isKept: boolean
}
type Body = { is: 'none' } | { is: 'length'; bytes: number } | { is: 'chunked' } | { is: 'until-close' }
type Listeners = { onHead: (head: ResponseHead) => void; onBody: (bytes: Buffer) => void }

class BadResponse extends Error {
  readonly code: 'BAD_RESPONSE' | 'HEAD_TOO_LARGE'

  constructor(code: BadResponse['code']) {
    super(code)
    this.code = code
  }
}

/** Of one head, and of the trailers of a chunked body. */
const MAX_HEAD = 16 * KB
/** Of the line before a chunk: its size, and extensions that nobody uses. */
const MAX_CHUNK_LINE = KB
const START = Buffer.from('HTTP/1.')
const [LINE, HEAD] = ['\r\n', '\r\n\r\n']

/** Reads HTTP/1.x responses (RFC 9112), however their bytes are split. Interim responses are skipped. Throws a BadResponse. */
export function createResponseParser({ onHead, onBody }: Listeners) {
  let step: 'head' | 'length' | 'chunk' | 'chunk-data' | 'chunk-end' | 'trailers' | 'until-close' | 'done' = 'done'
  let isHeadRequest = false
  /** Bytes of a head or line that has not ended. */
  let pending: Buffer | undefined
  /** Bytes of the body, of a chunk, or of trailers that may still come. */
  let left = 0
  let interims = 0
  let at = 0

  /** The text before `end`, which `at` then follows; undefined if it has not ended. */
  function take(bytes: Buffer, end: string, max: number): string | undefined {
    const rest = at ? bytes.subarray(at) : bytes
    const all = pending ? Buffer.concat([pending, rest]) : rest
    const known = pending?.length ?? 0
    const found = all.indexOf(end, Math.max(0, known - end.length + 1), 'latin1')
    if (found > max || (found < 0 && all.length >= max + end.length))
      throw new BadResponse(step === 'head' ? 'HEAD_TOO_LARGE' : 'BAD_RESPONSE')
    if (found < 0) {
      pending = Buffer.from(all)
      at = bytes.length
      return undefined
    }
    pending = undefined
    at += found + end.length - known
    return all.toString('latin1', 0, found)
  }

  /** At once: a host that speaks another protocol may never send the end of a head. */
  function checkStart(bytes: Buffer) {
    const known = pending?.length ?? 0
    for (let n = known; n < START.length && at + n - known < bytes.length; n++)
      if (bytes[at + n - known] !== START[n]) throw new BadResponse('BAD_RESPONSE')
  }

  function readHead(bytes: Buffer) {
    checkStart(bytes)
    const text = take(bytes, HEAD, MAX_HEAD)
    if (text === undefined) return false
    const { body, ...head } = parseHead(text, isHeadRequest)
    // Nobody asked for another protocol.
    if (head.status === 101) throw new BadResponse('BAD_RESPONSE')
    if (head.status < 200) {
      interims++
      return true
    }
    onHead(head)
    step = body.is === 'chunked' ? 'chunk' : body.is === 'none' ? 'done' : body.is
    if (body.is === 'length') {
      left = body.bytes
      if (!left) step = 'done'
    }
    return true
  }

  function readData(bytes: Buffer, next: 'done' | 'chunk-end') {
    const end = Math.min(bytes.length, at + left)
    if (end > at) onBody(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))
    left -= end - at
    at = end
    if (left) return false
    step = next
    return true
  }

  function readChunkLine(bytes: Buffer) {
    const line = take(bytes, LINE, MAX_CHUNK_LINE)
    if (line === undefined) return false
    const [, size] = /^([0-9a-f]{1,8})[ \t]*(?:;[^\r\n]*)?$/i.exec(line) ?? []
    if (size === undefined) throw new BadResponse('BAD_RESPONSE')
    left = Number.parseInt(size, 16)
    step = left ? 'chunk-data' : 'trailers'
    if (!left) left = MAX_HEAD
    return true
  }

  function readChunkEnd(bytes: Buffer) {
    if (take(bytes, LINE, 0) === undefined) return false
    step = 'chunk'
    return true
  }

  function readTrailer(bytes: Buffer) {
    const line = take(bytes, LINE, left)
    if (line === undefined) return false
    left = Math.max(0, left - line.length - LINE.length)
    if (line === '') step = 'done'
    return true
  }

  /** Whether the step has ended, and the next one has bytes to read, perhaps none. */
  function read(bytes: Buffer): boolean {
    if (step === 'head') return readHead(bytes)
    if (step === 'length') return readData(bytes, 'done')
    if (step === 'chunk') return readChunkLine(bytes)
    if (step === 'chunk-data') return readData(bytes, 'chunk-end')
    if (step === 'chunk-end') return readChunkEnd(bytes)
    if (step === 'trailers') return readTrailer(bytes)
    if (at < bytes.length) onBody(bytes.subarray(at))
    at = bytes.length
    return false
  }

  return {
    /** Before the first byte of each response. `isHead`: of a request HEAD, whose response has no body. */
    begin(isHead: boolean) {
      step = 'head'
      isHeadRequest = isHead
      pending = undefined
      interims = 0
    },
    /** Returns the number of bytes that belong to the response once it is complete; until then undefined. The bytes are not kept. */
    push(bytes: Buffer): number | undefined {
      at = 0
      while (step !== 'done' && at < bytes.length) if (!read(bytes)) return undefined
      return step === 'done' ? at : undefined
    },
    /** Whether the response is complete now that the connection has ended. */
    isWholeAtEnd: () => step === 'done' || step === 'until-close',
    interims: () => interims,
  }
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\r\n]*)?$/
/** RFC 9110, section 5.6.2. */
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*/
const NO_TEXT = /[^\t\r\n\x20-\x7e\x80-\xff]/
const BARE = /\r(?!\n)|(?<!\r)\n/
const FOLDED = /\r\n[ \t]/
/** Fields that are read. */
const READ = new Set(['connection', 'content-length', 'transfer-encoding', 'retry-after'])

function parseHead(text: string, isHeadRequest: boolean): ResponseHead & { body: Body } {
  if (NO_TEXT.test(text) || BARE.test(text)) throw new BadResponse('BAD_RESPONSE')
  const [first, ...lines] = (FOLDED.test(text) ? text.replace(/\r\n[ \t]+/g, ' ') : text).split(LINE)
  const [, minor, status] = STATUS_LINE.exec(first!) ?? []
  if (status === undefined) throw new BadResponse('BAD_RESPONSE')
  const fields = readFields(lines)
  const body = bodyOf(Number(status), isHeadRequest, fields)
  const connection = (fields.get('connection') ?? []).flatMap((value) => value.toLowerCase().split(/[ \t]*,[ \t]*/))
  const isPersistent = minor === '1' ? !connection.includes('close') : connection.includes('keep-alive')
  return {
    status: Number(status),
    retryAfter: fields.get('retry-after')?.[0],
    isKept: isPersistent && body.is !== 'until-close',
    body,
  }
}

function readFields(lines: string[]) {
  const fields = new Map<string, string[]>()
  for (const line of lines) {
    const [whole, given] = FIELD.exec(line) ?? []
    if (whole === undefined || given === undefined) throw new BadResponse('BAD_RESPONSE')
    const name = given.toLowerCase()
    if (!READ.has(name)) continue
    const value = line.slice(whole.length).replace(/[ \t]+$/, '')
    const known = fields.get(name)
    if (known) known.push(value)
    else fields.set(name, [value])
  }
  return fields
}

/** RFC 9112, section 6.3. Two lengths, or a length beside another encoding, are an error: there is no telling which is right. */
function bodyOf(status: number, isHeadRequest: boolean, fields: Map<string, string[]>): Body {
  const lengths = fields.get('content-length')
  const codings = fields.get('transfer-encoding')
  if (lengths && (codings || lengths.length > 1 || !/^\d{1,15}$/.test(lengths[0]!))) throw new BadResponse('BAD_RESPONSE')
  if (isHeadRequest || status < 200 || status === 204 || status === 304) return { is: 'none' }
  if (codings) return { is: /(?:^|,)[ \t]*chunked$/i.test(codings.join()) ? 'chunked' : 'until-close' }
  return lengths ? { is: 'length', bytes: Number(lengths[0]) } : { is: 'until-close' }
}
