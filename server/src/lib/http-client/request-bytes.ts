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

/** The head and body of a request in one piece; undefined if the method or a header has a character that HTTP does not allow. */
export function requestBytes({ method, url, headers, body, isKept }: RequestParts): Buffer | undefined {
  if (!TOKEN.test(method)) return undefined
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n`
  for (const name in headers) {
    const value = headers[name]!
    if (!TOKEN.test(name) || BAD_VALUE.test(value)) return undefined
    head += `${name}: ${value}\r\n`
  }
  const size = body === undefined ? 0 : Buffer.byteLength(body)
  if (size || body !== undefined || WITH_BODY.has(method)) head += `content-length: ${size}\r\n`
  head += isKept ? '\r\n' : 'connection: close\r\n\r\n'
  const bytes = Buffer.allocUnsafe(head.length + size)
  bytes.write(head, 'latin1')
  if (typeof body === 'string') bytes.write(body, head.length, 'utf8')
  else body?.copy(bytes, head.length)
  return bytes
}
