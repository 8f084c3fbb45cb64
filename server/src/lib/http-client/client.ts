import { SECOND } from '../text/units.ts'
import { type Exchange, type HttpConnection, type HttpOutcome, type HttpTarget, openConnection } from './connection.ts'

/** Below the five seconds after which many servers close an idle connection. */
const IDLE_MS = 4 * SECOND
const SWEEP_MS = SECOND
/** Idle connections that are kept: to one target, and altogether. */
const MAX_IDLE_OF_TARGET = 64
const MAX_IDLE = 512
/** Errors of a connection that the other side has closed. */
const BROKEN = new Set(['CLOSED', 'ECONNRESET', 'EPIPE'])

type Idle = { connection: HttpConnection; key: string; since: number }

/**
 * A client for many small requests, in HTTP/1.1. Everything that a request needs is one write and, mostly, one read; the general clients take
 * several times as long. It knows no redirects, cookies, proxies, compression or pipelining.
 */
export function createHttpClient({ idleMs = IDLE_MS } = {}) {
  /** By target, the last used first. */
  const idle = new Map<string, Idle[]>()
  let count = 0
  let sweeping: NodeJS.Timeout | undefined

  function keep(each: Idle) {
    const known = idle.get(each.key) ?? []
    if (count >= MAX_IDLE || known.length >= MAX_IDLE_OF_TARGET) return each.connection.close()
    known.push(each)
    idle.set(each.key, known)
    count++
    sweeping ??= setInterval(sweep, SWEEP_MS).unref()
  }

  function forget(each: Idle) {
    const known = idle.get(each.key)
    const at = known?.indexOf(each) ?? -1
    if (!known || at < 0) return
    known.splice(at, 1)
    count--
    if (!known.length) idle.delete(each.key)
  }

  function sweep() {
    const before = performance.now() - idleMs
    for (const known of idle.values()) for (const each of [...known]) if (each.since < before) each.connection.close()
    if (count) return
    clearInterval(sweeping)
    sweeping = undefined
  }

  function openKept(target: HttpTarget) {
    const each: Idle = {
      key: target.key,
      since: 0,
      connection: openConnection(target, {
        onFree() {
          each.since = performance.now()
          keep(each)
        },
        onClosed: () => forget(each),
      }),
    }
    return each.connection
  }

  function takeIdle(key: string) {
    const last = idle.get(key)?.at(-1)
    if (last) forget(last)
    return last?.connection
  }

  return {
    /**
     * `mayRepeat`: the receiver may get the request twice. Only such a request uses a connection again: the other side may have closed it, and
     * a request that finds it closed is made once more, on a new one.
     */
    request(target: HttpTarget, exchange: Exchange, mayRepeat: boolean): Promise<HttpOutcome> {
      return new Promise((resolve) => {
        if (!mayRepeat) return openConnection(target, { onClosed: () => {} }).request(exchange, resolve)
        const used = takeIdle(target.key)
        if (!used) return openKept(target).request(exchange, resolve)
        const began = performance.now()
        used.request(exchange, (outcome) => {
          const timeoutMs = exchange.timeoutMs - (performance.now() - began)
          if (wasClosed(outcome) && timeoutMs > 0) openKept(target).request({ ...exchange, timeoutMs }, resolve)
          else resolve(outcome)
        })
      })
    },
  }
}

const wasClosed = (outcome: HttpOutcome) => 'error' in outcome && outcome.isUnanswered && BROKEN.has(outcome.error.code)

export type HttpClient = ReturnType<typeof createHttpClient>
