import { expect, test } from 'vitest'
import { cookieOf, useSharedApp } from '../support/app.ts'

const sterna = useSharedApp()

type Session = { id: string; isCurrent: boolean; userAgent: string | null }
type Person = Awaited<ReturnType<typeof sterna.newPerson>>

const signIn = async ({ email, password }: Person, agent: string) =>
  cookieOf(await sterna.call('POST', '/auth/login', { body: { email, password }, headers: { 'user-agent': agent } }))
const sessionsOf = async (cookie: string): Promise<Session[]> => (await sterna.call('GET', '/users/@me/sessions', { cookie })).body
const isSignedIn = async (cookie: string) => (await sterna.call('GET', '/users/@me', { cookie })).status === 200

test('a person sees their sessions, and which one is the current', async () => {
  const ada = await sterna.newPerson()
  const phone = await signIn(ada, 'Phone')
  const sessions = await sessionsOf(phone)
  expect(sessions.map(({ isCurrent, userAgent }) => [isCurrent, userAgent])).toEqual([
    [true, 'Phone'],
    [false, expect.any(String)],
  ])
  expect(JSON.stringify(sessions)).not.toContain(phone.split('=')[1])
})

test('a session can be ended from another one', async () => {
  const ada = await sterna.newPerson()
  const phone = await signIn(ada, 'Phone')
  const { id } = (await sessionsOf(ada.cookie)).find(({ userAgent }) => userAgent === 'Phone')!
  expect((await ada.call('DELETE', `/users/@me/sessions/${id}`)).status).toBe(204)
  expect([await isSignedIn(phone), await isSignedIn(ada.cookie)]).toEqual([false, true])
  expect((await ada.call('DELETE', `/users/@me/sessions/${id}`)).status).toBe(404)
})

test('all other sessions can be ended at once', async () => {
  const ada = await sterna.newPerson()
  const [phone, tablet] = [await signIn(ada, 'Phone'), await signIn(ada, 'Tablet')]
  expect((await sterna.call('DELETE', '/users/@me/sessions', { cookie: phone })).body).toEqual({ endedCount: 2 })
  expect([await isSignedIn(phone), await isSignedIn(tablet), await isSignedIn(ada.cookie)]).toEqual([true, false, false])
})

test('a person cannot end the session of another one', async () => {
  const [ada, bob] = [await sterna.newPerson(), await sterna.newPerson()]
  const [session] = await sessionsOf(bob.cookie)
  expect((await ada.call('DELETE', `/users/@me/sessions/${session!.id}`)).status).toBe(404)
  expect(await isSignedIn(bob.cookie)).toBe(true)
})

test('a visitor learns whether they are signed in, without an error', async () => {
  const ada = await sterna.newPerson()
  const userOf = async (cookie?: string) => {
    const { status, body } = await sterna.call('GET', '/auth/session', cookie ? { cookie } : {})
    return [status, body.user?.email ?? body.user]
  }
  expect(await userOf(ada.cookie)).toEqual([200, ada.email])
  expect((await sterna.call('GET', '/auth/session', { cookie: ada.cookie })).body.user).toEqual((await ada.call('GET', '/users/@me')).body)
  expect(await userOf()).toEqual([200, null])
  expect(await userOf('sterna_session=made-up')).toEqual([200, null])
  await sterna.call('GET', '/auth/logout', { cookie: ada.cookie })
  expect(await userOf(ada.cookie)).toEqual([200, null])
})
