import type { FastifyReply, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import type { Tx } from '../db/index.ts'
import { writeSessionCookie } from '../http/session-cookie.ts'
import { networkOf } from '../lib/network.ts'
import { randomToken, type Secrets } from '../lib/secrets.ts'

const DAYS = 30
const MAX_AGENT = 300

/** Always a new token: whatever cookie the browser brought along before signing in is worth nothing. */
export async function openSession(tx: Tx, secrets: Secrets, { userId, req }: { userId: string; req: FastifyRequest }) {
  const token = randomToken()
  await sql`
    insert into sessions (token_hash, user_id, network, user_agent, expires_at)
    values (${secrets.hash('session', token)}, ${userId}, ${networkOf(req.ip)}, ${req.headers['user-agent']?.slice(0, MAX_AGENT) ?? null}, now() + make_interval(days => ${DAYS}))
  `.execute(tx)
  return token
}

export const closeSession = (tx: Tx, tokenHash: Buffer) => sql`delete from sessions where token_hash = ${tokenHash}`.execute(tx)

/** Every door at once: after a new password nothing signed in with the old one stays signed in. */
export const closeAllSessions = (tx: Tx, userId: string) => sql`delete from sessions where user_id = ${userId}`.execute(tx)

export const dropExpiredSessions = (tx: Tx) => sql`delete from sessions where expires_at < now()`.execute(tx)

export function setSessionCookie(reply: FastifyReply, publicUrl: string, token: string) {
  writeSessionCookie(reply, publicUrl, { value: token, maxAge: DAYS * 86_400 })
}

export function clearSessionCookie(reply: FastifyReply, publicUrl: string) {
  writeSessionCookie(reply, publicUrl, { value: '', maxAge: 0 })
}
