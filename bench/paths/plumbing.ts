import { type Measured, measure, type Scale } from '../load.ts'
import type { Product } from './contacts.ts'

export const ECHO_BODY = JSON.stringify({ email: 'ada@example.com', event: 'signed up', data: { plan: 'pro', seats: 3 } })

/** The cost of our HTTP layer: the same echo behind key authentication, rate limit, request id and security headers. */
export const measurePlumbing = async ({ url, pid, secretKey }: Product, scale: Scale): Promise<[string, Measured]> => [
  'plumbing: echo with a secret key',
  await measure(
    pid,
    {
      url: `${url}/bench/echo`,
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secretKey}` },
      body: ECHO_BODY,
    },
    scale,
  ),
]
