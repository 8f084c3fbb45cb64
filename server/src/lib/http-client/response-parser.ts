import { KB } from '../text/units.ts'
import { createByteReader } from './byte-reader.ts'
import { BadResponse, parseHead, type ResponseHead } from './response-head.ts'

type Listeners = { onHead: (head: ResponseHead) => void; onBody: (bytes: Buffer) => void }

/** Bytes of one head, and of the trailers of a chunked body. */
const MAX_HEAD = 16 * KB
/** Bytes of the line before a chunk: its size, and extensions that nobody uses. */
const MAX_CHUNK_LINE = KB
const START = Buffer.from('HTTP/1.')
const LINE = Buffer.from('\r\n')
const HEAD = Buffer.from('\r\n\r\n')

/** Reads HTTP/1.x responses (RFC 9112), however their bytes are split. Interim responses are skipped. Throws a BadResponse. */
export function createResponseParser({ onHead, onBody }: Listeners) {
  let step: 'head' | 'length' | 'chunk' | 'chunk-data' | 'chunk-end' | 'trailers' | 'until-close' | 'done' = 'done'
  let isHeadRequest = false
  /** Bytes of the body, of a chunk, or of trailers that may still come. */
  let left = 0
  let interims = 0
  const reader = createByteReader()

  function take(end: Buffer, max: number) {
    const text = reader.take(end, max)
    if (text === null) throw new BadResponse(step === 'head' ? 'HEAD_TOO_LARGE' : 'BAD_RESPONSE')
    return text
  }

  function readHead() {
    // At once: a host that speaks another protocol may never send the end of a head.
    if (!reader.beginsWith(START)) throw new BadResponse('BAD_RESPONSE')
    const text = take(HEAD, MAX_HEAD)
    if (text === undefined) return false
    const { head, body } = parseHead(text, isHeadRequest)
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

  function readData(next: 'done' | 'chunk-end') {
    const data = reader.takeData(left)
    onBody(data)
    left -= data.length
    if (left) return false
    step = next
    return true
  }

  function readChunkLine() {
    const line = take(LINE, MAX_CHUNK_LINE)
    if (line === undefined) return false
    left = chunkSizeOf(line)
    step = left ? 'chunk-data' : 'trailers'
    if (!left) left = MAX_HEAD
    return true
  }

  function readChunkEnd() {
    if (take(LINE, 0) === undefined) return false
    step = 'chunk'
    return true
  }

  function readTrailer() {
    const line = take(LINE, left)
    if (line === undefined) return false
    left = Math.max(0, left - line.length - LINE.length)
    if (line === '') step = 'done'
    return true
  }

  /** Whether the step has ended. */
  function read(): boolean {
    if (step === 'head') return readHead()
    if (step === 'length') return readData('done')
    if (step === 'chunk') return readChunkLine()
    if (step === 'chunk-data') return readData('chunk-end')
    if (step === 'chunk-end') return readChunkEnd()
    if (step === 'trailers') return readTrailer()
    onBody(reader.takeData(Number.POSITIVE_INFINITY))
    return false
  }

  return {
    /** Before the first byte of each response. `isHead`: of a request HEAD, whose response has no body. */
    begin(isHead: boolean) {
      step = 'head'
      isHeadRequest = isHead
      interims = 0
      reader.begin()
    },
    /**
     * Reads the first `count` of the bytes, and keeps none of them. Returns the number that belongs to the response once it is complete; until
     * then undefined.
     */
    push(bytes: Buffer, count: number): number | undefined {
      reader.load(bytes, count)
      while (step !== 'done' && !reader.isEmpty()) if (!read()) return undefined
      return step === 'done' ? reader.count() : undefined
    },
    /** Whether the response is complete now that the connection has ended. */
    isWholeAtEnd: () => step === 'done' || step === 'until-close',
    interims: () => interims,
  }
}

function chunkSizeOf(line: string) {
  const [, size] = /^([0-9a-f]{1,8})[ \t]*(?:;[^\r\n]*)?$/i.exec(line) ?? []
  if (size === undefined) throw new BadResponse('BAD_RESPONSE')
  return Number.parseInt(size, 16)
}
