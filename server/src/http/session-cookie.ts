import type { CookieSerializeOptions } from '@fastify/cookie'

/** On https the `__Host-` prefix makes browsers refuse it from any other host, path or plain http. */
export function sessionCookie(publicUrl: string): { name: string; options: CookieSerializeOptions } {
  const secure = publicUrl.startsWith('https://')
  return { name: secure ? '__Host-sterna_session' : 'sterna_session', options: { httpOnly: true, sameSite: 'lax', path: '/', secure } }
}
