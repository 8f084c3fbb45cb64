import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many, one } from '../../../src/db/index.ts'
import { SUBSCRIPTION_CHANGES_PER_MINUTE } from '../../../src/track/limits.ts'
import { statuses } from '../../support/answers.ts'
import { type Answer, useApp } from '../../support/app.ts'
import { times } from '../../support/times.ts'

const ADA = 'ada@example.com'

describe('the rate limits of track', () => {
  const LIMIT = 40
  const limited = useApp({ env: { RATE_LIMIT_PER_MINUTE: String(LIMIT), TRUST_PROXY: '127.0.0.1' } })
  let addresses = 0
  const newIp = () => `5.9.${Math.floor(++addresses / 250)}.${addresses % 250}`
  const track = (
    pk: string,
    { email = `c${addresses}@example.com`, ip = newIp(), ...more }: { email?: string; ip?: string; subscribed?: boolean } = {},
  ) => limited.call('POST', '/v1/track', { key: pk, body: { email, event: 'e', ...more }, headers: { 'x-forwarded-for': ip } })
  const inTurn = async (count: number, send: (n: number) => Promise<Answer>) => {
    const answers: Answer[] = []
    for (let n = 0; n < count; n++) answers.push(await send(n))
    return answers
  }
  /** `begun` is before the first request of the window. */
  const expectRefusal = ({ status, headers, body }: Answer, begun: number) => {
    expect([status, body.error.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED'])
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(60 - Math.ceil((performance.now() - begun) / 1_000))
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60)
    expect(body.error.details.retryAfter).toBe(Number(headers['retry-after']))
    expect(headers['access-control-allow-origin']).toBe('*')
  }
  const countEvents = async (projectId: string) =>
    (await one(limited.db, sql<{ n: number }>`select count(*)::int as n from events where project_id = ${projectId}`)).n

  test('limit the requests of a project', async () => {
    const { id, pk, sk } = await limited.newProject()
    const begun = performance.now()
    const answers = await inTurn(LIMIT + 1, () => track(pk))
    expect(answers.map(({ status }) => status)).toEqual([...Array(LIMIT).fill(200), 429])
    expect(answers[0]!.headers).toMatchObject({ 'ratelimit-limit': String(LIMIT), 'ratelimit-remaining': String(LIMIT - 1) })
    expectRefusal(answers.at(-1)!, begun)
    expect((await limited.call('GET', '/events', { key: sk })).status).toBe(429)
    expect(await countEvents(id)).toBe(LIMIT)
  })

  test('do not limit a contact or a network beyond the project', async () => {
    const projects = await Promise.all(times(3, () => limited.newProject()))
    const ip = newIp()
    for (const { id, pk } of projects) {
      const answers = await inTurn(LIMIT + 1, (n) => track(pk, { email: n % 2 ? ADA : 'ADA@example.com', ip }))
      expect(answers.map(({ status }) => status)).toEqual([...Array(LIMIT).fill(200), 429])
      expect(await countEvents(id)).toBe(LIMIT)
    }
  })

  test('limit subscription changes of one contact, and refused changes do not count for the project', async () => {
    const [{ id, pk }, other] = [await limited.newProject(), await limited.newProject()]
    const change = (n: number) => track(pk, { email: n % 2 ? ADA : 'ADA@example.com', subscribed: n % 2 === 1 })
    const begun = performance.now()
    const answers = await inTurn(SUBSCRIPTION_CHANGES_PER_MINUTE + 20, change)
    expect(answers.map(({ status }) => status)).toEqual([...Array(SUBSCRIPTION_CHANGES_PER_MINUTE).fill(200), ...Array(20).fill(429)])
    expectRefusal(answers.at(-1)!, begun)
    const left = LIMIT - SUBSCRIPTION_CHANGES_PER_MINUTE
    expect(answers.at(-1)!.headers['ratelimit-remaining']).toBe(String(left))
    expect((await track(pk, { subscribed: false })).status).toBe(200)
    expect((await track(other.pk, { email: ADA, subscribed: false })).status).toBe(200)
    const rest = await inTurn(left, () => track(pk, { email: ADA }))
    expect(rest.map(({ status }) => status)).toEqual([...Array(left - 1).fill(200), 429])
    const [contact] = await many(
      limited.db,
      sql<{ subscribed: boolean }>`select subscribed from contacts where project_id = ${id} and email = ${ADA}`,
    )
    expect(contact!.subscribed).toBe(true)
  })

  test('do not limit subscription changes with the secret key', async () => {
    const { sk } = await limited.newProject()
    const body = { email: ADA, event: 'e' }
    const answers = await inTurn(SUBSCRIPTION_CHANGES_PER_MINUTE + 2, (n) =>
      limited.call('POST', '/events/track', { key: sk, body: { ...body, subscribed: n % 2 === 0 } }),
    )
    expect(new Set(statuses(answers))).toEqual(new Set([200]))
  })
})
