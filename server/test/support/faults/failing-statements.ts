import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import pg from 'pg'

/** How a statement fails: the connection is lost before it is sent, or after it was carried out; or PostgreSQL gives it up. */
export const FAULTS = ['unsent', 'unanswered', 'given up'] as const
export type Fault = (typeof FAULTS)[number]

type Query = (this: pg.Client, ...args: unknown[]) => Promise<unknown>

/** Whether a statement is sent on behalf of the work, not in the background. */
const isOfWork = new AsyncLocalStorage<true>()

/** Lets the n-th statement of `work` fail. Returns its result, and whether there was such a statement. */
export async function withFailingStatement<T>(n: number, fault: Fault, work: () => Promise<T>): Promise<{ result: T; failed: boolean }> {
  const prototype = pg.Client.prototype as unknown as { query: Query }
  const { query } = prototype
  let sent = 0
  prototype.query = function (...args) {
    // PostgreSQL does not give up a `begin`: it takes no time.
    if (!isOfWork.getStore() || (fault === 'given up' && args[0] === 'begin') || ++sent !== n) return query.apply(this, args)
    if (fault === 'given up') return Promise.reject(Object.assign(new Error('canceling statement'), { code: '57014', severity: 'ERROR' }))
    if (fault === 'unsent') streamOf(this).destroy()
    const answer = query.apply(this, args)
    return fault === 'unsent' ? answer : answer.then(() => lose(this))
  }
  try {
    return { result: await isOfWork.run(true, work), failed: sent >= n }
  } finally {
    prototype.query = query
  }
}

const streamOf = (client: pg.Client) => (client as unknown as { connection: { stream: Socket } }).connection.stream

async function lose(client: pg.Client): Promise<never> {
  const closed = once(streamOf(client), 'close')
  streamOf(client).destroy()
  await closed
  throw new Error('Connection terminated unexpectedly')
}
