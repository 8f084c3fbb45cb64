import { sql } from 'kysely'
import { expect } from 'vitest'
import type { Parts } from '../../src/app.ts'
import { sendReset } from '../../src/auth/accounts.ts'
import { many, transact } from '../../src/db/index.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { type Answer, useApp } from '../support/app.ts'

/** An app, and the requests that a browser makes about accounts. Call at the top level, as `useApp`. */
export function useAccounts(parts: Parts = {}) {
  // Behind a proxy, so that every test can come from an IP of its own: limits per IP must not leak between tests.
  const sterna = useApp({ env: { TRUST_PROXY: '127.0.0.1' }, ...parts })

  let addresses = 0
  const newIp = () => `10.0.${Math.floor(++addresses / 250)}.${(addresses % 250) + 1}`
  const from = (ip = newIp()) => ({ 'x-forwarded-for': ip })
  const newEmail = () => `account${++addresses}@example.com`

  const signUp = (body: Record<string, unknown>, headers = from()) => sterna.call('POST', '/auth/signup', { body, headers })
  const logIn = (email: string, password: string, headers: Record<string, string> = from()) =>
    sterna.call('POST', '/auth/login', { body: { email, password }, headers })
  const requestReset = (email: unknown, headers: Record<string, string> = from()) =>
    sterna.call('POST', '/auth/request-password-reset', { body: { email }, headers })
  const reset = (token: string, password: string, headers = from()) =>
    sterna.call('POST', '/auth/reset-password', { body: { token, password }, headers })
  const verify = (token: string, headers = from()) => sterna.call('POST', '/auth/verify-email', { body: { token }, headers })
  const me = (cookie: string) => sterna.call('GET', '/users/@me', { cookie })

  const emailsLike = (email: string) => many(sterna.db, sql<{ email: string }>`select email from users where email = ${email}`)

  /** Writes a reset token like a request does, without its constant response time. */
  async function resetTokenFor(email: string) {
    await transact(sterna.db, (tx) => sendReset(tx, accountEmailDeps(), email))
    return sterna.tokenFor(email)
  }

  const accountEmailDeps = () => ({
    secrets: sterna.secrets,
    log: createLog('silent'),
    publicUrl: 'http://localhost:3000',
    isDelivered: false,
  })

  /** Adds attempts to a counter: a real attempt costs a password hash. */
  const addAttempts = async (scope: string, subject: string, count: number) => {
    const hash = sterna.secrets.hash('attempt', subject)
    const { numAffectedRows } =
      await sql`update attempts set count = count + ${count} where scope = ${scope} and subject = ${hash}`.execute(sterna.db)
    expect(numAffectedRows).toBe(1n)
  }

  return {
    sterna,
    newIp,
    from,
    newEmail,
    signUp,
    logIn,
    requestReset,
    reset,
    verify,
    me,
    emailsLike,
    resetTokenFor,
    accountEmailDeps,
    addAttempts,
  }
}

/** An error without the fields that differ per request. */
export const essence = ({ status, body }: Answer) => ({ status, error: { ...body.error, requestId: '' } })

export function expectToWait(answer: Answer, atMost: number) {
  expect([answer.status, answer.body.error.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED'])
  const seconds = Number(answer.headers['retry-after'])
  expect(seconds).toBeGreaterThan(0)
  expect(seconds).toBeLessThanOrEqual(atMost)
  expect(answer.body.error.details.retryAfter).toBe(seconds)
}

export async function timed(work: () => Promise<unknown>) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

export const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!
