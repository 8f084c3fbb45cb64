import { KB } from '../text/units.ts'
import { BadResponse, parseHead, type ResponseHead } from './response-head.ts'

type Listeners = { onHead: (head: ResponseHead) => void; onBody: (bytes: Buffer) => void }

/** Of one head, and of the trailers of a chunked body. */
const MAX_HEAD = 16 * KB
/** Of the line before a chunk: its size, and extensions that nobody uses. */
const MAX_CHUNK_LINE = KB
const START = Buffer.from('HTTP/1.')
const EMPTY = Buffer.alloc(0)
const LINE = Buffer.from('\r\n')
const HEAD = Buffer.from('\r\n\r\n')

/** Reads HTTP/1.x responses (RFC 9112), however their bytes are split. Interim responses are skipped. Throws a BadResponse. */
export function createResponseParser({ onHead, onBody }: Listeners) {
  let step: 'head' | 'length' | 'chunk' | 'chunk-data' | 'chunk-end' | 'trailers' | 'until-close' | 'done' = 'done'
  let isHeadRequest = false
  /** Bytes of a head or line that has not ended. */
  let pending: Buffer | undefined
  /** Bytes of the body, of a chunk, or of trailers that may still come. */
  let left = 0
  let interims = 0
  /** The bytes that are being read, of which only the first `size` count, and the place in them. */
  let bytes: Buffer = EMPTY
  let size = 0
  let at = 0

  /** The text before `end`, which `at` then follows; undefined if it has not ended. */
  function take(end: Buffer, max: number): string | undefined {
    if (pending) return takeOn(pending, end, max)
    const found = bytes.indexOf(end, at)
    const isFound = found >= 0 && found + end.length <= size
    if (isFound ? found - at > max : size - at >= max + end.length) throw tooLong()
    if (!isFound) {
      pending = Buffer.from(bytes.subarray(at, size))
      at = size
      return undefined
    }
    const text = bytes.toString('latin1', at, found)
    at = found + end.length
    return text
  }

  /** The same for text of which some was there before. */
  function takeOn(known: Buffer, end: Buffer, max: number): string | undefined {
    const all = Buffer.concat([known, bytes.subarray(at, size)])
    const found = all.indexOf(end, Math.max(0, known.length - end.length + 1))
    if (found > max || (found < 0 && all.length >= max + end.length)) throw tooLong()
    pending = found < 0 ? all : undefined
    at = found < 0 ? size : at + found + end.length - known.length
    return found < 0 ? undefined : all.toString('latin1', 0, found)
  }

  const tooLong = () => new BadResponse(step === 'head' ? 'HEAD_TOO_LARGE' : 'BAD_RESPONSE')

  function readHead() {
    checkStart(bytes, at, size, pending?.length ?? 0)
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
    const end = Math.min(size, at + left)
    if (end > at) onBody(bytes.subarray(at, end))
    left -= end - at
    at = end
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

  /** Whether the step has ended, and the next one has bytes to read, perhaps none. */
  function read(): boolean {
    if (step === 'head') return readHead()
    if (step === 'length') return readData('done')
    if (step === 'chunk') return readChunkLine()
    if (step === 'chunk-data') return readData('chunk-end')
    if (step === 'chunk-end') return readChunkEnd()
    if (step === 'trailers') return readTrailer()
    onBody(bytes.subarray(at, size))
    at = size
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
    /**
     * Reads the first `count` of the bytes, and keeps none of them. Returns the number that belongs to the response once it is complete; until
     * then undefined.
     */
    push(given: Buffer, count: number): number | undefined {
      bytes = given
      size = count
      at = 0
      while (step !== 'done' && at < size) if (!read()) return undefined
      return step === 'done' ? at : undefined
    },
    /** Whether the response is complete now that the connection has ended. */
    isWholeAtEnd: () => step === 'done' || step === 'until-close',
    interims: () => interims,
  }
}

/** At once: a host that speaks another protocol may never send the end of a head. `known`: bytes of the head before these. */
function checkStart(bytes: Buffer, at: number, size: number, known: number) {
  for (let n = known; n < START.length && at + n - known < size; n++)
    if (bytes[at + n - known] !== START[n]) throw new BadResponse('BAD_RESPONSE')
}

function chunkSizeOf(line: string) {
  const [, size] = /^([0-9a-f]{1,8})[ \t]*(?:;[^\r\n]*)?$/i.exec(line) ?? []
  if (size === undefined) throw new BadResponse('BAD_RESPONSE')
  return Number.parseInt(size, 16)
}
