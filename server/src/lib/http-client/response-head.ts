const LINE = '\r\n'

/** What a caller learns of a response before its body has ended. */
export type ResponseHead = {
  status: number
  /** The first `Retry-After`. */
  retryAfter: string | undefined
  /** Whether the connection may be used again once the body has ended. */
  isKept: boolean
}
type Body = { is: 'none' } | { is: 'length'; bytes: number } | { is: 'chunked' } | { is: 'until-close' }
export class BadResponse extends Error {
  readonly code: 'BAD_RESPONSE' | 'HEAD_TOO_LARGE'

  constructor(code: BadResponse['code']) {
    super(code)
    this.code = code
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

/** Reads the lines before the empty one. Throws a BadResponse. */
export function parseHead(text: string, isHeadRequest: boolean): ResponseHead & { body: Body } {
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
