import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { probe } from '../support/api/probe.ts'
import { useApp } from '../support/app.ts'

/** Of several requests a lease, which is a twentieth. */
const LIMIT = 60
const GROUP = 50
const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: String(LIMIT) }, extend: probe })

const call = (sk: string, url = '/probe/secret') => sterna.call('GET', url, { key: sk })
/** Calls in groups: one by one, the thousands of this file take three times as long. */
async function callOften(count: number, ask: (n: number) => Promise<{ status: number }>) {
  const statuses: number[] = []
  for (let first = 0; first < count; first += GROUP) {
    const group = Array.from({ length: Math.min(GROUP, count - first) }, (_, index) => ask(first + index))
    statuses.push(...(await Promise.all(group)).map(({ status }) => status))
  }
  return statuses
}
const header = (answer: Awaited<ReturnType<typeof call>>, name: string) => Number(answer.headers[`ratelimit-${name}`])

test('the rate limit accepts exactly its number of requests in a window and refuses the next', async () => {
  const { sk } = await sterna.newProject()
  const begun = performance.now()
  const answers = []
  for (let n = 0; n < LIMIT + 1; n++) answers.push(await call(sk))

  expect(answers.map(({ status }) => status)).toEqual([...Array(LIMIT).fill(200), 429])
  expect(answers.map((answer) => header(answer, 'remaining')).slice(0, 3)).toEqual([LIMIT - 1, LIMIT - 2, LIMIT - 3])
  const refused = answers.at(-1)!
  expect(refused.body.error).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', details: { retryAfter: expect.any(Number) } })
  const secondsSince = Math.ceil((performance.now() - begun) / 1_000)
  expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(60 - secondsSince)
  expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
  expect([header(refused, 'limit'), header(refused, 'remaining')]).toEqual([LIMIT, 0])
})

test('the rate limit is exact for concurrent requests', async () => {
  const { sk } = await sterna.newProject()
  const answers = await Promise.all(Array.from({ length: LIMIT + 50 }, () => call(sk)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(LIMIT)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(50)
})

test('refused requests do not count, and a new window starts with the first request after the old one', async () => {
  const { sk, id } = await sterna.newProject()
  await callOften(LIMIT + 20, () => call(sk))
  const { rows } = await sql<{ leased: number }>`select leased from rate_windows where project_id = ${id}`.execute(sterna.db)
  expect(rows).toEqual([{ leased: LIMIT }])
})

test('a window ends when the clock of the database is set back', async () => {
  const { sk, id } = await sterna.newProject()
  await sql`insert into rate_windows (project_id, started_at, leased, granted) values (${id}, now() + interval '1 hour', ${LIMIT}, 0)`.execute(
    sterna.db,
  )
  const answer = await call(sk)
  expect([answer.status, header(answer, 'remaining')]).toEqual([200, LIMIT - 1])
  expect(header(answer, 'reset')).toBeLessThanOrEqual(60)
})

test('errors of a valid key count and have the rate limit headers; unknown keys have none', async () => {
  const { sk, pk } = await sterna.newProject()
  const invalid = await sterna.call('POST', '/probe/once', { key: sk, body: { fail: 1 } })
  expect([invalid.status, header(invalid, 'remaining')]).toEqual([422, LIMIT - 1])
  const track = await sterna.call('POST', '/probe/track', { key: pk, body: {} })
  expect([track.status, header(track, 'remaining')]).toEqual([200, LIMIT - 2])
  const unknown = await call(`sk_${'0'.repeat(64)}`)
  expect(unknown.status).toBe(401)
  expect(unknown.headers['ratelimit-limit']).toBeUndefined()
})

test('a project at its limit does not affect others', async () => {
  const [ours, theirs] = [await sterna.newProject(), await sterna.newProject()]
  expect((await callOften(LIMIT + 1, () => call(ours.sk))).filter((status) => status === 429)).toHaveLength(1)
  expect((await call(theirs.sk)).status).toBe(200)
})

test('session requests have no rate limit headers and do not count for the project', async () => {
  const { sk, id, owner } = await sterna.newProject()
  const answer = await owner.call('GET', '/probe/project', { headers: { 'x-project-id': id } })
  expect(answer.status).toBe(200)
  expect(answer.headers['ratelimit-limit']).toBeUndefined()
  expect(header(await call(sk), 'remaining')).toBe(LIMIT - 1)
})

test('a session is limited to 3,000 calls a minute', async () => {
  const { cookie } = await sterna.newPerson()
  // Without a project: it is refused after the session was counted, and reads only that.
  const ask = () => sterna.call('GET', '/probe/project', { cookie })
  expect((await callOften(2_999, ask)).every((status) => status === 400)).toBe(true)
  const list = () => sterna.call('GET', '/users/@me/projects', { cookie })
  expect([(await list()).status, (await list()).status]).toEqual([200, 429])
})

test('wrong keys are limited per IP, without refusing a key that was valid before', async () => {
  const { sk } = await sterna.newProject()
  await call(sk)
  const guess = (n: number) => call(`sk_${String(n).padStart(64, '0')}`)
  const statuses = await callOften(1_000, guess)
  expect(statuses.slice(0, 900).every((status) => status === 401)).toBe(true)
  expect((await guess(1_000)).status).toBe(429)
  expect((await call(sk)).status).toBe(200)
})
