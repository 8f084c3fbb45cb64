import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { KB, SECOND } from '../text/units.ts'
import type { ResponseHead } from './response-head.ts'
import { createResponseParser } from './response-parser.ts'

/** Where to connect to. `servername`: the name that the certificate must have; without one, that is the address. */
export type HttpTarget = { ip: string; port: number; isTls: boolean; servername: string | undefined }

/** `bytes`: the whole request. `maxText`: bytes of the body to read, if any; otherwise the reply is known once its head is. */
export type Exchange = { bytes: Buffer; isHead: boolean; timeoutMs: number; maxText?: number | undefined }
type HttpReply = { status: number; retryAfter: string | undefined; text?: string }
/** `isUnanswered`: the connection broke before a byte of the reply. */
export type HttpOutcome = { reply: HttpReply } | { error: { code: string }; isUnanswered: boolean }

/** A reply whose status is known has this long, and so many bytes, to end: then its connection can be used again, otherwise it is closed. */
const REST_MS = SECOND
const MAX_REST = 16 * KB
/** Interim replies after which nothing more is read: such a host runs out of time like one that says nothing. */
const MAX_INTERIMS = 100
const READ_BYTES = 4 * KB

type Current = Exchange & {
  resolve: (outcome: HttpOutcome) => void
  hasBytes: boolean
  head: ResponseHead | undefined
  isAnswered: boolean
  /** Its status is known, and the rest of it is read only to use the connection again. */
  isResting: boolean
  /** Bytes of the body so far. */
  size: number
  chunks: Buffer[]
}

export type HttpConnection = ReturnType<typeof openConnection>

/**
 * One connection for one request at a time. `onFree`: its reply is complete, and another request may follow; without it, the connection is
 * closed as soon as the reply is known. It keeps the process alive only while a request waits for its reply.
 */
export function openConnection(target: HttpTarget, { onFree, onClosed }: { onFree?: () => void; onClosed: () => void }) {
  let current: Current | undefined
  let timer: NodeJS.Timeout | undefined
  let isReady = !target.isTls
  let isClosed = false
  const parser = createResponseParser({ onHead, onBody })
  const socket = open(target, receive)
  socket.unref()
  socket.on('error', (err: NodeJS.ErrnoException) => fail(err.code ?? 'FAILED'))
  socket.on('end', () => (current?.hasBytes && parser.isWholeAtEnd() ? finish(false) : fail('CLOSED')))
  socket.on('close', () => fail('CLOSED'))
  // Nothing is sent to a host whose certificate was not checked.
  socket.on('secureConnect', () => {
    isReady = true
    if (current) socket.write(current.bytes)
  })

  function close() {
    if (isClosed) return
    isClosed = true
    clearTimeout(timer)
    socket.destroy()
    onClosed()
  }

  function answer(outcome: HttpOutcome) {
    if (!current || current.isAnswered) return
    current.isAnswered = true
    current.resolve(outcome)
  }

  function fail(code: string) {
    clearTimeout(timer)
    answer({ error: { code }, isUnanswered: !current?.hasBytes })
    current = undefined
    close()
  }

  function onHead(head: ResponseHead) {
    current!.head = head
    if (current!.maxText === undefined) answer({ reply: { status: head.status, retryAfter: head.retryAfter } })
  }

  function onBody(bytes: Buffer) {
    const { maxText } = current!
    current!.size += bytes.length
    // The bytes are those of a buffer that is used again.
    if (maxText !== undefined && current!.size <= maxText) current!.chunks.push(Buffer.from(bytes))
  }

  function receive(bytes: Buffer) {
    if (isClosed) return
    // Nobody asked for it.
    if (!current) return close()
    current.hasBytes = true
    let used: number | undefined
    try {
      used = parser.push(bytes)
    } catch (err) {
      return fail((err as { code: string }).code)
    }
    if (current.size > (current.maxText ?? MAX_REST)) return fail('TEXT_TOO_LARGE')
    if (used !== undefined) return finish(used === bytes.length)
    if (parser.interims() > MAX_INTERIMS) socket.pause()
    else if (current.isAnswered && !onFree) close()
    else if (current.isAnswered && !current.isResting) rest(current)
  }

  function rest(exchange: Current) {
    exchange.isResting = true
    clearTimeout(timer)
    timer = setTimeout(close, REST_MS).unref()
  }

  /** The reply is complete. `isAlone`: no other bytes followed it. */
  function finish(isAlone: boolean) {
    const { head, isAnswered, chunks } = current!
    const { status, retryAfter, isKept } = head!
    clearTimeout(timer)
    if (!isAnswered) answer({ reply: { status, retryAfter, text: Buffer.concat(chunks).toString('latin1') } })
    current = undefined
    if (onFree && isAlone && isKept && socket.writableLength === 0) onFree()
    else close()
  }

  return {
    close,
    request(exchange: Exchange) {
      return new Promise<HttpOutcome>((resolve) => {
        current = { ...exchange, resolve, hasBytes: false, head: undefined, isAnswered: false, isResting: false, size: 0, chunks: [] }
        timer = setTimeout(() => fail('TIMED_OUT'), exchange.timeoutMs)
        parser.begin(exchange.isHead)
        if (isClosed) fail('CLOSED')
        else if (isReady) socket.write(exchange.bytes)
      })
    },
  }
}

function open({ ip, port, isTls, servername }: HttpTarget, receive: (bytes: Buffer) => void): Socket {
  const address = { host: ip, port, family: isIP(ip) }
  if (isTls) {
    const socket = connectTls({ ...address, ...(servername ? { servername } : {}), ALPNProtocols: ['http/1.1'] })
    return socket.setNoDelay(true).on('data', receive)
  }
  // One buffer for all reads: a buffer and an event for each would take as long as the rest of a request.
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
  const callback = (size: number) => {
    receive(buffer.subarray(0, size))
    return true
  }
  return connectTcp({ ...address, noDelay: true, onread: { buffer, callback } })
}
