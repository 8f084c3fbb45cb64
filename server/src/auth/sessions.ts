import type { FastifyReply, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import type { Tx } from '../db/index.ts'
import { writeSessionCookie } from '../http/session-cookie.ts'
import { networkOf } from '../lib/network.ts'
import { randomToken, type Secrets } from '../lib/secrets.ts'

const DAYS = 30
const MAX_AGENT = 300

/** Always issues a new token, so that a cookie set before sign-in cannot be reused (session fixation). */
export async function openSession(tx: Tx, secrets: Secrets, { userId, req }: { userId: string; req: FastifyRequest }) {
  const token = randomToken()
  await sql`
    insert into sessions (token_hash, user_id, network, user_agent, expires_at)
    values (${secrets.hash('session', token)}, ${userId}, ${networkOf(req.ip)}, ${req.headers['user-agent']?.slice(0, MAX_AGENT) ?? null}, now() + make_interval(days => ${DAYS}))
  `.execute(tx)
  return token
}

export const closeSession = (tx: Tx, tokenHash: Buffer) => sql`delete from sessions where token_hash = ${tokenHash}`.execute(tx)

/** After a password change no session opened with the old password stays valid. */
export const closeAllSessions = (tx: Tx, userId: string) => sql`delete from sessions where user_id = ${userId}`.execute(tx)

export const dropExpiredSessions = (tx: Tx) => sql`delete from sessions where expires_at < now()`.execute(tx)

export function setSessionCookie(reply: FastifyReply, publicUrl: string, token: string) {
  writeSessionCookie(reply, publicUrl, { value: token, maxAge: DAYS * 86_400 })
}

export function clearSessionCookie(reply: FastifyReply, publicUrl: string) {
  writeSessionCookie(reply, publicUrl, { value: '', maxAge: 0 })
}
