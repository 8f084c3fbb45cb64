import { isServerUnavailable } from './sql-state.ts'

const CONNECTION_LOST = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN', 'ENOTFOUND']
/** Messages without codes: those of pg, and of the liveness connection. */
const NO_REPLY =
  /^(timeout exceeded when trying to connect|timeout expired|Connection terminated|Query read timeout|Client has encountered a connection error|no reply in time)/

/** The database cannot be reached or does not respond in time: the caller may try again. */
export function isDatabaseUnavailable(err: unknown) {
  const { code = '', message = '', syscall } = err as NodeJS.ErrnoException
  return syscall === 'connect' || CONNECTION_LOST.includes(code) || NO_REPLY.test(message) || isServerUnavailable(err)
}
