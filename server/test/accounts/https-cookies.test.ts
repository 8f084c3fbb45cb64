import { describe, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'

const PUBLIC_URL = 'https://mail.example.com'
const sterna = useApp({ env: { PUBLIC_URL, TRUST_PROXY: '127.0.0.1' } })

const me = (cookie: string) => sterna.call('GET', '/users/@me', { cookie })
const setCookie = (header: unknown) => String(header).split('; ')

describe('on https', () => {
  test.each(['signup', 'login', 'change-password'])(
    '%s sets a cookie that no other host and no plain http can set or read',
    async (route) => {
      const { email, password, cookie } = await sterna.newPerson()
      const bodies: Record<string, object> = {
        signup: { email: `new-${email}`, password },
        login: { email, password },
        'change-password': { currentPassword: password, password },
      }
      const { status, headers } = await sterna.call('POST', `/auth/${route}`, { body: bodies[route], cookie })
      const [pair, ...flags] = setCookie(headers['set-cookie'])

      expect(status).toBe(200)
      expect(pair).toMatch(/^__Host-sterna_session=[\w-]{43}$/)
      expect(flags.sort()).toEqual(['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax', 'Secure'])
      expect((await me(pair!)).status).toBe(200)
    },
  )

  test('logout clears the cookie with the attributes that browsers require for its prefix', async () => {
    const { cookie } = await sterna.newPerson()
    const { headers } = await sterna.call('GET', '/auth/logout', { cookie })
    const [pair, ...flags] = setCookie(headers['set-cookie'])

    expect(pair).toBe('__Host-sterna_session=')
    expect(flags).toEqual(expect.arrayContaining(['Path=/', 'Secure', 'HttpOnly']))
    expect(flags.some((flag) => flag === 'Max-Age=0' || flag.startsWith('Expires=Thu, 01 Jan 1970'))).toBe(true)
    expect(flags.some((flag) => flag.startsWith('Domain'))).toBe(false)
    expect((await me(cookie)).status).toBe(401)
  })

  test('a session cookie without the prefix, which plain http could have set, is ignored', async () => {
    const { cookie } = await sterna.newPerson()
    const plain = cookie.replace('__Host-', '')
    expect((await me(plain)).status).toBe(401)
    expect((await me(`${plain}; ${cookie}`)).status).toBe(200)
  })

  test.each(['/health', '/users/@me', '/nowhere', '/openapi.json'])('%s has HSTS', async (path) => {
    const { headers } = await sterna.call('GET', path)
    expect(Number(/max-age=(\d+)/.exec(String(headers['strict-transport-security']))?.[1])).toBeGreaterThanOrEqual(15_552_000)
  })

  test('links in emails are https', async () => {
    const { email } = await sterna.newPerson()
    await sterna.call('POST', '/auth/request-password-reset', {
      body: { email },
      headers: { 'x-forwarded-proto': 'http', 'x-forwarded-host': 'evil.example' },
    })
    const links = (await sterna.accountEmailsTo(email)).map(({ text }) => /https?:\/\/[^/]+/.exec(text)?.[0])
    expect(links).toEqual([PUBLIC_URL, PUBLIC_URL])
  })

  const write = async (headers: Record<string, string>) => {
    const { cookie } = await sterna.newPerson()
    return (
      await sterna.call('POST', '/users/@me/projects', {
        cookie,
        body: { name: 'Shop' },
        headers: { host: 'mail.example.com', ...headers },
      })
    ).status
  }

  test.each<Record<string, string>>([{ origin: PUBLIC_URL }, { 'sec-fetch-site': 'same-origin' }])(
    'a write from our own page is accepted: %j',
    async (headers) => {
      expect(await write(headers)).toBe(201)
    },
  )

  test.each([
    'https://mail.example.com.evil.example',
    'https://evil.example',
    'https://mail.example.com:8443',
    'https://example.com',
    'null',
    '',
    'http://mail.example.com',
  ])('a write from %j is refused', async (origin) => {
    expect(await write({ origin })).toBe(403)
  })
})
