import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { KB, SECOND } from '../text/units.ts'
import type { ResponseHead } from './response-head.ts'
import { createResponseParser } from './response-parser.ts'

/**
 * Where to connect to. `servername`: the name that the certificate must have; without one, that is the address. `key`: all of it as one text.
 * `ca`: for tests, whose certificate no authority has signed.
 */
export type HttpTarget = { ip: string; port: number; isTls: boolean; servername: string | undefined; key: string; ca?: string }

export const httpTarget = (target: Omit<HttpTarget, 'key'>): HttpTarget => ({
  ...target,
  key: `${target.isTls} ${target.ip} ${target.port} ${target.servername}`,
})

/** `text`: the whole request; every character is a byte. `maxText`: bytes of the body to read, if any; otherwise the reply is known once its head is. */
export type Exchange = { text: string; isHead: boolean; timeoutMs: number; maxText?: number | undefined }
type HttpReply = Pick<ResponseHead, 'status' | 'retryAfter'> & { text?: string }
/** `isUnanswered`: the connection broke before a byte of the reply. */
export type HttpOutcome = { reply: HttpReply } | { error: { code: string }; isUnanswered: boolean }

/** Time and bytes allowed for a reply to end after its status; else its connection is closed instead of used again. */
const REST_MS = SECOND
const MAX_REST = 16 * KB
/** Interim replies after which nothing more is read: such a host runs out of time like one that says nothing. */
const MAX_INTERIMS = 100
const READ_BYTES = 4 * KB

export type HttpConnection = ReturnType<typeof openConnection>

/**
 * One connection for one request at a time. `onFree`: its reply is complete, and another request may follow; without it, the connection is
 * closed as soon as the reply is known. It keeps the process alive only while a request waits for its reply.
 */
export function openConnection(target: HttpTarget, { onFree, onClosed }: { onFree?: () => void; onClosed: () => void }) {
  /** The request under way. */
  let exchange: Exchange | undefined
  let done: ((outcome: HttpOutcome) => void) | undefined
  let hasBytes = false
  let head: ResponseHead | undefined
  /** Bytes of the body so far, and those that are kept. */
  let size = 0
  let chunks: Buffer[] = []
  let timer: NodeJS.Timeout | undefined
  let isResting = false
  let isReady = !target.isTls
  let isClosed = false
  const parser = createResponseParser({ onHead, onBody })
  const socket = open(target, receive)
  socket.unref()
  socket.on('error', (err: NodeJS.ErrnoException) => fail(err.code ?? 'FAILED'))
  socket.on('end', () => (exchange && hasBytes && parser.isWholeAtEnd() ? finish(false) : fail('CLOSED')))
  socket.on('close', () => fail('CLOSED'))
  // Nothing is sent to a host whose certificate was not checked.
  socket.on('secureConnect', () => {
    isReady = true
    if (exchange) socket.write(exchange.text, 'latin1')
  })

  function close() {
    clearTimeout(timer)
    if (isClosed) return
    isClosed = true
    socket.destroy()
    onClosed()
  }

  function answer(outcome: HttpOutcome) {
    const tell = done
    done = undefined
    tell?.(outcome)
  }

  function fail(code: string) {
    const isKnown = exchange?.maxText === undefined && head
    exchange = undefined
    close()
    answer(isKnown ? { reply: isKnown } : { error: { code }, isUnanswered: !hasBytes })
  }

  function onHead(found: ResponseHead) {
    head = found
  }

  function onBody(bytes: Buffer) {
    size += bytes.length
    const max = exchange?.maxText
    // The bytes are those of a buffer that is used again.
    if (max !== undefined && size <= max) chunks.push(Buffer.from(bytes))
  }

  function receive(bytes: Buffer, count: number) {
    if (isClosed) return
    // Nobody asked for it.
    if (!exchange) return close()
    hasBytes = true
    let used: number | undefined
    try {
      used = parser.push(bytes, count)
    } catch (err) {
      return fail((err as { code: string }).code)
    }
    if (used !== undefined) finish(used === count)
    else goOn(exchange)
  }

  /** The reply is not complete. */
  function goOn({ maxText }: Exchange) {
    if (size > (maxText ?? MAX_REST)) return fail('TEXT_TOO_LARGE')
    if (parser.interims() > MAX_INTERIMS) socket.pause()
    if (!head || maxText !== undefined) return
    if (onFree) rest()
    else close()
    answer({ reply: head })
  }

  /** Reads on, only to use the connection again. */
  function rest() {
    if (isResting) return
    isResting = true
    clearTimeout(timer)
    timer = setTimeout(close, REST_MS).unref()
  }

  /** The reply is complete. `isAlone`: no other bytes followed it. */
  function finish(isAlone: boolean) {
    const { maxText } = exchange!
    exchange = undefined
    clearTimeout(timer)
    const isUsable = isAlone && head!.isKept && socket.writableLength === 0
    if (onFree && isUsable) onFree()
    else close()
    if (maxText === undefined) answer({ reply: head! })
    else if (size > maxText) answer({ error: { code: 'TEXT_TOO_LARGE' }, isUnanswered: false })
    else answer({ reply: { ...head!, text: Buffer.concat(chunks).toString('latin1') } })
  }

  return {
    close,
    request(given: Exchange, tell: (outcome: HttpOutcome) => void) {
      exchange = given
      done = tell
      hasBytes = isResting = false
      head = undefined
      size = 0
      if (chunks.length) chunks = []
      parser.begin(given.isHead)
      timer = setTimeout(fail, given.timeoutMs, 'TIMED_OUT')
      if (isClosed) fail('CLOSED')
      else if (isReady) socket.write(given.text, 'latin1')
    },
  }
}

function open({ ip, port, isTls, servername, ca }: HttpTarget, receive: (bytes: Buffer, count: number) => void): Socket {
  const address = { host: ip, port, family: isIP(ip) }
  if (isTls) {
    const socket = connectTls({ ...address, ...(servername ? { servername } : {}), ...(ca ? { ca } : {}), ALPNProtocols: ['http/1.1'] })
    return socket.setNoDelay(true).on('data', (bytes: Buffer) => receive(bytes, bytes.length))
  }
  // One buffer for all reads: a buffer and an event for each would take as long as the rest of a request.
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
  const callback = (size: number) => {
    receive(buffer, size)
    return true
  }
  return connectTcp({ ...address, noDelay: true, onread: { buffer, callback } })
}
