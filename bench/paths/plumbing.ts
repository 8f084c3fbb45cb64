import { z } from 'zod'
import type { Path } from '../run.ts'

export const EchoBody = z.object({ email: z.email(), event: z.string().min(1), data: z.record(z.string(), z.unknown()).optional() })
export const ECHO_BODY = JSON.stringify({ email: 'ada@example.com', event: 'signed up', data: { plan: 'pro', seats: 3 } })

/** What our own plumbing costs: the same echo behind key authentication, rate limit, request id and security headers. */
export const plumbing: Path = {
  name: 'plumbing: echo with a secret key',
  target: ({ url, secretKey }) => ({
    url: `${url}/bench/echo`,
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${secretKey}` },
    body: ECHO_BODY,
  }),
}
