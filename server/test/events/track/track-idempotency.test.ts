import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { many, type Tx, transact } from '../../../src/db/index.ts'
import { outcome, statuses } from '../../support/answers.ts'
import { type Answer, startApp, useApp } from '../../support/app.ts'
import { times } from '../../support/times.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })
const newProject = async () => sterna.newProject(await sterna.sharedOwner())
type Project = Awaited<ReturnType<typeof newProject>>

/** Another node on the same database. */
let second: Awaited<ReturnType<typeof startApp>>
beforeAll(async () => {
  second = await startApp(sterna.url, { env: { RATE_LIMIT_PER_MINUTE: '0' } })
})
afterAll(() => second.close())

const ADA = 'ada@example.com'

/** Waits until a session of this database waits for a lock. */
const lockWaiter = () =>
  expect
    .poll(() => many(sterna.db, sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`), {
      interval: 5,
    })
    .not.toEqual([])
describe('an Idempotency-Key of /v1/track', () => {
  const body = { email: ADA, event: 'bought', data: { n: 1 } }

  test('makes a repeat a 409 with the result of the first request, without effect', async () => {
    const project = await newProject()
    const first = await project.track(body, { key: 'order 1' })
    const repeat = await project.track({ email: 'other@example.com', event: 'other', subscribed: false }, { key: 'order 1' })
    expect(first.status).toBe(200)
    expect(repeat.status).toBe(409)
    expect(repeat.body.error).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED', statusCode: 409 })
    expect(repeat.body.error.details).toEqual({
      key: 'order 1',
      originalRequest: 'POST /v1/track',
      originalRequestAt: first.body.data.timestamp,
      originalStatusCode: 200,
      event: first.body.data.event,
      bodyDiffers: true,
    })
    expect(await project.events.names()).toEqual(['bought'])
    expect((await project.contacts.list()).total).toBe(1)
    expect((await project.track(body, { key: 'order 2' })).status).toBe(200)
    expect((await project.track(body)).status).toBe(200)
    expect(await project.idempotencyKeys()).toEqual(['order 1', 'order 2'])
  })

  test.each([1, 2])('is accepted once for 50 concurrent requests on %i nodes; the others get its event id', async (nodes) => {
    const project = await newProject()
    const at = (n: number) => (n % nodes ? second.sterna : sterna)
    const answers = await Promise.all(times(50, (n) => project.track({ ...body, data: { n } }, { key: 'same', at: at(n) })))
    expect(statuses(answers)).toEqual([200, ...Array(49).fill(409)])
    const winner = answers.find(({ status }) => status === 200)!.body.data.event
    for (const { status, body: refusal } of answers) {
      if (status === 409) expect(refusal.error.details).toMatchObject({ key: 'same', originalStatusCode: 200, event: winner })
    }
    expect((await project.events.list()).map(({ id }) => id)).toEqual([winner])
    const won = answers.findIndex(({ status }) => status === 200)
    expect((await project.contacts.find(ADA)).data).toEqual({ n: won })
  })

  test('is accepted once each in mixed batches', async () => {
    const project = await newProject()
    const answers = await Promise.all(
      times(200, (n) =>
        project.track(
          { email: `c${n % 7}@example.com`, event: `e${n % 3}` },
          { ...(n % 5 ? { key: `k${n % 20}` } : {}), at: n % 2 ? second.sterna : sterna },
        ),
      ),
    )
    const keyed = answers.filter((_, n) => n % 5)
    expect(keyed.filter(({ status }) => status === 200)).toHaveLength(16)
    expect(keyed.filter(({ status }) => status === 409)).toHaveLength(160 - 16)
    expect(statuses(answers.filter((_, n) => n % 5 === 0))).toEqual(Array(40).fill(200))
    expect((await project.call('GET', '/events')).body.total).toBe(56)
  })

  test.each<[string, string]>([
    ['nothing', ''],
    ['256 characters', 'k'.repeat(256)],
    ['a tab', 'a\tb'],
    ['DEL', 'a\x7f'],
    ['an umlaut', 'ä'],
  ])('of %s is a 400, and nothing is stored', async (_, key) => {
    const project = await newProject()
    expect(outcome(await project.track(body, { key }))).toEqual([400, 'BAD_REQUEST'])
    expect((await project.contacts.list()).total).toBe(0)
    expect(await project.idempotencyKeys()).toEqual([])
  })

  test.each(['k'.repeat(255), '~', `a b"'\\;{}$1`])('may be %j', async (key) => {
    const project = await newProject()
    expect((await project.track(body, { key })).status).toBe(200)
    const repeat = await project.track(body, { key })
    expect([repeat.status, repeat.body.error.details.key]).toEqual([409, key])
  })

  test('is not used by a refused request', async () => {
    const project = await newProject()
    const large = Object.fromEntries(times(5, (n) => [`k${n}`, 'x'.repeat(65_000)]))
    const refused = [
      await project.track({ ...body, event: 'email.x' }, { key: 'k' }),
      await project.track({ ...body, data: { a: '\0' } }, { key: 'k' }),
      await project.track('{', { key: 'k' }),
      await project.track({ ...body, data: large }, { key: 'k' }),
      await project.track(body, { key: 'k', pk: project.sk }),
      await project.track(body, { key: 'k', headers: { 'content-type': 'text/plain' } }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([422, 422, 400, 422, 401, 415])
    expect(await project.idempotencyKeys()).toEqual([])
    expect((await project.track(body, { key: 'k' })).status).toBe(200)
    expect((await project.track(body, { key: 'k' })).status).toBe(409)
  })

  test('belongs to its project', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const answers = await Promise.all([project, other, project, other].map((each) => each.track(body, { key: 'same' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 409, 409])
    expect([await project.events.names(), await other.events.names()]).toEqual([['bought'], ['bought']])
    for (const { status, body: refusal } of answers.filter((__, n) => n % 2)) {
      if (status === 409) expect(refusal.error.details.event).toBe((await other.events.list())[0]!.id)
    }
  })

  test('can be used again after a day, for another day', async () => {
    const project = await newProject()
    const age = (hours: number) =>
      sql`update idempotency_keys set created_at = created_at - make_interval(hours => ${hours}) where project_id = ${project.id}`.execute(
        sterna.db,
      )
    const first = await project.track(body, { key: 'k' })
    await age(23)
    expect((await project.track(body, { key: 'k' })).status).toBe(409)
    await age(1)
    const answers = await Promise.all(times(10, (n) => project.track(body, { key: 'k', at: n % 2 ? second.sterna : sterna })))
    expect(statuses(answers)).toEqual([200, ...Array(9).fill(409)])
    const again = answers.find(({ status }) => status === 200)!.body.data
    expect(again.event).not.toBe(first.body.data.event)
    const { details } = (await project.track(body, { key: 'k' })).body.error
    expect(details).toMatchObject({ event: again.event, originalRequestAt: again.timestamp })
    expect(await project.events.names()).toEqual(['bought', 'bought'])
  })

  test('has no effect on /events/track', async () => {
    const project = await newProject()
    const send = () => sterna.call('POST', '/events/track', { key: project.sk, body, headers: { 'idempotency-key': 'k' } })
    expect([(await send()).status, (await send()).status]).toEqual([200, 200])
    expect(await project.idempotencyKeys()).toEqual([])
  })

  /** Holds a key like a node that has not committed yet. */
  const holding = (project: Project, key: string, work: (tx: Tx) => Promise<void>) =>
    transact(sterna.db, async (tx) => {
      await sql`insert into idempotency_keys (project_id, key, request, status_code) values (${project.id}, ${key}, 'POST /v1/track', 200)`.execute(
        tx,
      )
      await work(tx)
      throw new Error('rolled back')
    }).catch((err: Error) => expect(err.message).toBe('rolled back'))

  test('held by another node is waited for, and free if that node rolls back', async () => {
    const project = await newProject()
    let waiting: Promise<Answer>
    await holding(project, 'k', async () => {
      waiting = project.track(body, { key: 'k' })
      await lockWaiter()
    })
    expect((await waiting!).status).toBe(200)
  })

  test('held by another node does not delay the other requests of the batch', async () => {
    const [project, other] = [await newProject(), await newProject()]
    let waiting: Promise<Answer>
    await holding(project, 'k', async () => {
      const others = times(6, (n) => (n % 2 ? project : other).track({ email: `c${n}@example.com`, event: 'e' }))
      waiting = project.track(body, { key: 'k' })
      expect((await Promise.all(others)).map(outcome)).toEqual(Array(6).fill([200]))
    })
    expect((await waiting!).status).toBe(200)
  })

  test('held by another node for too long is a 409 with Retry-After', async () => {
    const project = await newProject()
    await holding(project, 'k', async () => {
      const answer = await project.track(body, { key: 'k' })
      expect(outcome(answer)).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
      expect(answer.body.error.details).toMatchObject({
        key: 'k',
        originalRequest: 'POST /v1/track',
        originalRequestAt: null,
        originalStatusCode: null,
      })
      expect(answer.headers['retry-after']).toBe('1')
    })
  })
})
