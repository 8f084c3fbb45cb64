import { KB } from '../text/units.ts'
import { BadResponse, parseHead, type ResponseHead } from './response-head.ts'

type Listeners = { onHead: (head: ResponseHead) => void; onBody: (bytes: Buffer) => void }

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

  function readHead(bytes: Buffer) {
    checkStart(bytes, at, pending?.length ?? 0)
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
    left = chunkSizeOf(line)
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

/** At once: a host that speaks another protocol may never send the end of a head. `known`: bytes of the head before these. */
function checkStart(bytes: Buffer, at: number, known: number) {
  for (let n = known; n < START.length && at + n - known < bytes.length; n++)
    if (bytes[at + n - known] !== START[n]) throw new BadResponse('BAD_RESPONSE')
}

function chunkSizeOf(line: string) {
  const [, size] = /^([0-9a-f]{1,8})[ \t]*(?:;[^\r\n]*)?$/i.exec(line) ?? []
  if (size === undefined) throw new BadResponse('BAD_RESPONSE')
  return Number.parseInt(size, 16)
}
