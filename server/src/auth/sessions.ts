import type { FastifyReply, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import { countAffected, type Db, many, type Tx } from '../db/index.ts'
import { type Person, writeSessionCookie } from '../http/auth/session-cookie.ts'
import { Timestamp } from '../http/core/validate.ts'
import { networkOf } from '../lib/network/network.ts'
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

export const SessionView = z
  .object({
    id: z.string(),
    isCurrent: z.boolean().describe('The session of this request.'),
    network: z.string().describe('Where the session was opened.'),
    userAgent: z.string().nullable(),
    createdAt: Timestamp,
    expiresAt: Timestamp,
  })
  .meta({ id: 'Session' })

/** A session has no id besides the hash of its token, of which a part identifies it: without the key number, which is the first byte. */
const SESSION_ID = sql<string>`encode(substring(token_hash from 2 for 16), 'hex')`
const MAX_SESSIONS = 200

/** Newest first. */
export const listSessions = (db: Db, { userId, tokenHash }: Person) =>
  many<z.output<typeof SessionView>>(db)`
    select ${SESSION_ID} as id, token_hash = ${tokenHash} as "isCurrent", network, user_agent as "userAgent", created_at as "createdAt",
      expires_at as "expiresAt"
    from sessions where user_id = ${userId} and expires_at > now() order by created_at desc, 1 limit ${MAX_SESSIONS}
  `

/** False when the user has no such session. */
export const closeSessionById = async (tx: Tx, { userId }: Person, id: string) =>
  (await countAffected(tx)`delete from sessions where user_id = ${userId} and ${SESSION_ID} = ${id}`) > 0

/** Returns how many. */
export const closeOtherSessions = (tx: Tx, { userId, tokenHash }: Person) =>
  countAffected(tx)`delete from sessions where user_id = ${userId} and token_hash <> ${tokenHash}`

export const closeSession = (tx: Tx, tokenHashes: Buffer[]) => sql`delete from sessions where token_hash = any(${tokenHashes})`.execute(tx)

/** After a password change no session opened with the old password stays valid. */
export const closeAllSessions = (tx: Tx, userId: string) => sql`delete from sessions where user_id = ${userId}`.execute(tx)

export const dropExpiredSessions = (tx: Tx) => sql`delete from sessions where expires_at < now()`.execute(tx)

export function setSessionCookie(reply: FastifyReply, publicUrl: string, token: string) {
  writeSessionCookie(reply, publicUrl, { value: token, maxAge: DAYS * 86_400 })
}

export function clearSessionCookie(reply: FastifyReply, publicUrl: string) {
  writeSessionCookie(reply, publicUrl, { value: '', maxAge: 0 })
}
