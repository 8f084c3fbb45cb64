/** The part of a response that a caller gets before its body has ended. */
export type ResponseHead = {
  status: number
  /** The first `Retry-After`. */
  retryAfter: string | undefined
  /** Whether the connection may be used again once the body has ended. */
  isKept: boolean
}
/** How the end of the body is found. */
type Body = { is: 'none' } | { is: 'length'; bytes: number } | { is: 'chunked' } | { is: 'until-close' }

export class BadResponse extends Error {
  readonly code: 'BAD_RESPONSE' | 'HEAD_TOO_LARGE'

  constructor(code: BadResponse['code']) {
    super(code)
    this.code = code
  }
}

/** RFC 9112, sections 4 and 5: a status line, and lines of a name (a token of RFC 9110) and a value without control characters. */
const HEAD = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?((?:\r\n[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*)*)$/
/** A line that continues the one before (RFC 9112, section 5.2). */
const FOLDED = /\r\n[ \t]+/g

/** Reads the lines before the empty one. Throws a BadResponse. */
export function parseHead(text: string, isHeadRequest: boolean): { head: ResponseHead; body: Body } {
  const [, minor, digits, lines] = HEAD.exec(text.includes('\r\n ') || text.includes('\r\n\t') ? text.replace(FOLDED, ' ') : text) ?? []
  if (digits === undefined || lines === undefined) throw new BadResponse('BAD_RESPONSE')
  const status = Number(digits)
  const fields = readFields(lines)
  const body = bodyOf(status, isHeadRequest, fields)
  const isPersistent = minor === '1' ? !hasOption(fields.connection, 'close') : hasOption(fields.connection, 'keep-alive')
  return { head: { status, retryAfter: fields['retry-after']?.[0], isKept: isPersistent && body.is !== 'until-close' }, body }
}

const hasOption = (values: string[] | undefined, option: string) =>
  values?.some((value) => value.toLowerCase().split(',').map(trimmed).includes(option)) ?? false

type Fields = { connection?: string[]; 'content-length'?: string[]; 'transfer-encoding'?: string[]; 'retry-after'?: string[] }
/** Fields that are read, by the length of their names. */
const READ: Record<number, keyof Fields> = { 10: 'connection', 11: 'retry-after', 14: 'content-length', 17: 'transfer-encoding' }

/** `lines`: each after a line end. */
function readFields(lines: string): Fields {
  const fields: Fields = {}
  for (let start = 2; start < lines.length; ) {
    const next = lines.indexOf('\r\n', start)
    const end = next < 0 ? lines.length : next
    const colon = lines.indexOf(':', start)
    const name = READ[colon - start]
    if (name && lines.slice(start, colon).toLowerCase() === name)
      fields[name] = [...(fields[name] ?? []), trimmed(lines.slice(colon + 1, end))]
    start = end + 2
  }
  return fields
}

/** By hand: a search for blanks at the end begins again at every blank. */
function trimmed(value: string) {
  let [start, end] = [0, value.length]
  while (start < end && isBlank(value[start])) start++
  while (end > start && isBlank(value[end - 1])) end--
  return value.slice(start, end)
}

const isBlank = (character: string | undefined) => character === ' ' || character === '\t'

const NO_BODY: Body = { is: 'none' }
const CHUNKED: Body = { is: 'chunked' }
const UNTIL_CLOSE: Body = { is: 'until-close' }

/** RFC 9112, section 6.3. Two lengths, or a length beside another encoding, are an error: there is no telling which is right. */
function bodyOf(status: number, isHeadRequest: boolean, { 'content-length': lengths, 'transfer-encoding': codings }: Fields): Body {
  if (lengths && (codings || lengths.length > 1 || !/^\d{1,15}$/.test(lengths[0]!))) throw new BadResponse('BAD_RESPONSE')
  if (isHeadRequest || status < 200 || status === 204 || status === 304) return NO_BODY
  if (codings) return /(?:^|,)[ \t]*chunked$/i.test(codings.join()) ? CHUNKED : UNTIL_CLOSE
  return lengths ? { is: 'length', bytes: Number(lengths[0]) } : UNTIL_CLOSE
}
