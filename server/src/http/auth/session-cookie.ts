import { parse, type SerializeOptions, serialize } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { maybeOne } from '../../db/index.ts'
import type { Deps } from '../core/types.ts'

/** On https the `__Host-` prefix makes browsers refuse the cookie from any other host, path or plain http. */
function sessionCookie(publicUrl: string): { name: string; options: SerializeOptions } {
  const secure = publicUrl.startsWith('https://')
  return { name: secure ? '__Host-sterna_session' : 'sterna_session', options: { httpOnly: true, sameSite: 'lax', path: '/', secure } }
}

/** Parsed on demand: most requests have a key and no cookie. */
export const readSessionCookie = ({ headers }: FastifyRequest, publicUrl: string): string | undefined =>
  headers.cookie === undefined ? undefined : parse(headers.cookie)[sessionCookie(publicUrl).name]

export type Person = { userId: string; tokenHash: Buffer }

/** The session of a cookie; the database stores only its hash. Undefined when there is none, or when it has expired. */
export async function findSession(req: FastifyRequest, { db, secrets, config: { publicUrl } }: Deps): Promise<Person | undefined> {
  const token = readSessionCookie(req, publicUrl)
  if (!token) return undefined
  return maybeOne<Person>(db)`
    select user_id as "userId", token_hash as "tokenHash" from sessions
    where token_hash = any(${secrets.hashes('session', token)}) and expires_at > now()
  `
}

export function writeSessionCookie(reply: FastifyReply, publicUrl: string, { value, maxAge }: { value: string; maxAge: number }) {
  const { name, options } = sessionCookie(publicUrl)
  reply.header('set-cookie', serialize(name, value, { ...options, maxAge }))
}
