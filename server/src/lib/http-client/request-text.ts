const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]/
/** Requests of these methods say how long their body is, even if there is none (RFC 9110, section 8.6). */
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH'])

type RequestParts = {
  method: string
  url: URL
  headers: Record<string, string>
  body: string | Buffer | undefined
  /** Otherwise the other side is asked to close the connection. */
  isKept: boolean
}

/**
 * The head and body of a request as one text, in which every character is a byte (latin1): writing it takes no buffer. Undefined if the method
 * or a header has a character that HTTP does not allow.
 */
export function requestText({ method, url, headers, body, isKept }: RequestParts): string | undefined {
  if (!TOKEN.test(method)) return undefined
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n`
  for (const name in headers) {
    const value = headers[name]!
    if (!TOKEN.test(name) || BAD_VALUE.test(value)) return undefined
    head += `${name}: ${value}\r\n`
  }
  const bytes = body === undefined ? '' : (typeof body === 'string' ? Buffer.from(body) : body).toString('latin1')
  if (body !== undefined || WITH_BODY.has(method)) head += `content-length: ${bytes.length}\r\n`
  return `${head}${isKept ? '' : 'connection: close\r\n'}\r\n${bytes}`
}
