import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect } from 'vitest'
import { Sterna, SternaError, type SternaOptions } from '../../src/index.ts'

/** `hang`: no response. `drop`: the connection breaks. `half`: it breaks in the middle of the body. */
export type Reply = 'hang' | 'drop' | 'half' | { status: number; body?: unknown; headers?: Record<string, string> }
export type Received = { line: string; headers: Record<string, unknown>; body: string }

/** Call at the top level of a test file. Returns a function that starts a server for one test. */
export function useReplies() {
  const servers: Server[] = []
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      server.close()
    }
  })

  /** A server that gives these replies in order (the last one repeatedly) and records its requests, and a client for it. */
  return async function serve(replies: Reply[], options: SternaOptions = {}) {
    const requests: Received[] = []
    const server = createServer(async (req, res) => {
      let body = ''
      for await (const chunk of req) body += chunk
      requests.push({ line: `${req.method} ${req.url}`, headers: req.headers, body })
      const reply = replies[requests.length - 1] ?? replies.at(-1)!
      if (reply === 'hang') return
      if (reply === 'drop') return req.socket.destroy()
      if (reply === 'half') {
        res.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
        res.write('{"data":')
        return setImmediate(() => req.socket.destroy())
      }
      res.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers })
      res.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body))
    })
    servers.push(server)
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
    const { port } = server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}`
    return { requests, url, client: new Sterna({ baseUrl: `${url}/`, ...options }) }
  }
}

export async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => expect.unreachable(),
    (reason) => reason,
  )
}

export async function errorOf(call: Promise<unknown>): Promise<SternaError> {
  const error = await failureOf(call)
  expect(error).toBeInstanceOf(SternaError)
  return error as SternaError
}

export const ok = (body: unknown): Reply => ({ status: 200, body })

export const refusal = (status: number, code: string, more: { retryAfter?: number; details?: object } = {}): Reply => ({
  status,
  body: { success: false, error: { code, message: 'Refused.', statusCode: status, requestId: 'r1', details: more.details } },
  ...(more.retryAfter !== undefined && { headers: { 'retry-after': String(more.retryAfter) } }),
})

/** A 503 that asks for a retry at once. */
export const busy = refusal(503, 'SERVICE_UNAVAILABLE', { retryAfter: 0 })
