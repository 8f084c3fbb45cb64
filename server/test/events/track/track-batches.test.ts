import { Readable } from 'node:stream'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { many, transact } from '../../../src/db/index.ts'
import { issues, statuses } from '../../support/answers.ts'
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

describe('a batch of tracked events', () => {
  const large = Object.fromEntries(times(4, (n) => [`k${n}`, 'x'.repeat(65_000)]))

  test('refuses a request with too much data for its contact and accepts the others', async () => {
    const project = await newProject()
    expect((await project.call('POST', '/contacts', { email: 'full@example.com', data: large })).status).toBe(201)
    const bad = (n: number) => n % 17 === 3
    const answers = await Promise.all(
      times(150, (n) =>
        project.track(
          bad(n)
            ? { email: 'full@example.com', event: 'bad', subscribed: false, data: { [`more${n}`]: 'x'.repeat(5_000) } }
            : { email: `c${n % 20}@example.com`, event: 'good', data: { n } },
          { key: `k${n}` },
        ),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(times(150, (n) => (bad(n) ? 422 : 200)))
    for (const answer of answers.filter((_, n) => bad(n))) expect(issues(answer)).toEqual([['data', 'too_big']])
    const { body } = await project.call('GET', '/events/stats')
    expect(body).toEqual([{ name: 'good', count: answers.filter(({ status }) => status === 200).length }])
    const full = await project.contacts.find('full@example.com')
    expect([full.subscribed, Object.keys(full.data).sort()]).toEqual([true, Object.keys(large)])
    expect(await project.idempotencyKeys()).toEqual(
      times(150, (n) => n)
        .filter((n) => !bad(n))
        .map((n) => `k${n}`)
        .sort(),
    )
    expect(await project.contacts.counts()).toEqual({ total: 21, subscribed: 21 })
  })

  test('accepts the valid requests even if nearly all others are refused', async () => {
    const project = await newProject()
    await project.call('POST', '/contacts', { email: 'full@example.com', data: large })
    const good = (n: number) => n % 20 === 7
    const answers = await Promise.all(
      times(60, (n) =>
        project.track(
          good(n)
            ? { email: `c${n}@example.com`, event: 'good' }
            : { email: 'full@example.com', event: 'bad', data: { [`more${n}`]: 'x'.repeat(5_000) } },
        ),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(times(60, (n) => (good(n) ? 200 : 422)))
    expect((await project.call('GET', '/events/stats')).body).toEqual([{ name: 'good', count: 3 }])
  })

  test('accepts one of two requests whose data together is too much', async () => {
    const project = await newProject()
    const most = Object.fromEntries(times(4, (n) => [`k${n}`, 'x'.repeat(55_000)]))
    await project.call('POST', '/contacts', { email: ADA, data: most })
    const half = (name: string) => ({ [name]: 'x'.repeat(25_000) })
    const answers = await Promise.all(['a', 'b'].map((name) => project.track({ email: ADA, event: name, data: half(name) })))
    expect(statuses(answers)).toEqual([200, 422])
    const kept = answers[0]!.status === 200 ? 'a' : 'b'
    expect(Object.keys((await project.contacts.find(ADA)).data).sort()).toEqual([kept, ...Object.keys(most)])
    expect(await project.events.names()).toEqual([kept])
  })

  test('waits for a locked contact only with the requests of that contact', async () => {
    const project = await newProject()
    const { contact } = (await project.track({ email: ADA, event: 'e' })).body.data
    let held: Promise<Answer>
    await transact(sterna.db, async (tx) => {
      await sql`select 1 from contacts where project_id = ${project.id} and id = ${contact} for update`.execute(tx)
      const others = times(20, (n) => project.track({ email: `c${n}@example.com`, event: 'e' }))
      held = project.track({ email: ADA, event: 'held' })
      expect(new Set(statuses(await Promise.all(others)))).toEqual(new Set([200]))
      expect(await project.events.names()).not.toContain('held')
    })
    expect((await held!).status).toBe(200)
  })
})
describe('track under overload', () => {
  /** Slightly more than 16 MB. */
  const SENT = 560

  test('answers large bodies with 503 and Retry-After, also chunked ones, and records the rest', async () => {
    const project = await newProject()
    const data = { k: { value: 'x'.repeat(32_000), persistent: false } }
    const text = JSON.stringify({ email: ADA, event: 'large', data })
    const send = () =>
      sterna.app.inject({
        method: 'POST',
        url: '/v1/track',
        payload: Readable.from([text.slice(0, 9), text.slice(9)]),
        headers: { authorization: `Bearer ${project.pk}`, 'content-type': 'application/json' },
      })
    await project.track({ email: ADA, event: 'first' })
    let sent: ReturnType<typeof send>[] = []
    await transact(sterna.db, async (tx) => {
      await sql`select 1 from contacts where project_id = ${project.id} for update`.execute(tx)
      sent = times(SENT, send)
      // At least one request is refused while no write is possible.
      await Promise.race(sent)
    })
    const answers = (await Promise.all(sent)).map((answer) => ({ status: answer.statusCode, headers: answer.headers, body: answer.json() }))
    const refused = answers.filter(({ status }) => status === 503)
    expect(refused.length).toBeGreaterThanOrEqual(3)
    for (const { body, headers } of refused) {
      expect(body.error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', message: expect.stringContaining('Too much is waiting') })
      expect(headers['retry-after']).toBe('1')
    }
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(SENT - refused.length)
    expect((await project.call('GET', '/events/large/usage')).body.totalCount).toBe(SENT - refused.length)
  })
})
describe('concurrent tracking', () => {
  type Sent = { email: string; key?: string; subscribed?: boolean; data: Record<string, unknown>; event: string; node: number; n: number }
  const value = fc.oneof(
    fc.constant(null),
    fc.constantFrom<unknown>(1, 'x', false, [1], { y: null }),
    fc.constantFrom<unknown>('', { value: 'v', persistent: false }, { value: 2, persistent: true }, { value: null, persistent: true }),
  )
  const sent = fc.record(
    {
      email: fc.constantFrom('a@example.com', 'b@example.com', 'c@example.com'),
      key: fc.constantFrom('k1', 'k2', 'k3'),
      subscribed: fc.boolean(),
      data: fc.dictionary(fc.constantFrom('x', 'y', 'constructor'), value, { minKeys: 1 }),
      event: fc.constantFrom('one', 'two', 'three'),
      node: fc.nat(1),
    },
    { requiredKeys: ['email', 'data', 'event', 'node'] },
  )

  /** Existing contacts and their subscription. */
  const known = fc.dictionary(fc.constantFrom('a@example.com', 'b@example.com'), fc.boolean())
  const BEFORE = { x: 0, y: 0 }

  /** Every state of a contact, in the order of the locks on its row. */
  beforeAll(async () => {
    await sql`
      create table contact_states (seq bigserial primary key, project_id uuid, email text, data jsonb);
      create function record_state() returns trigger language plpgsql as $$
        begin insert into contact_states (project_id, email, data) values (new.project_id, new.email, new.data); return null; end $$;
      create trigger record_state after insert or update on contacts for each row execute function record_state()
    `.execute(sterna.db)
  })
  afterAll(() => sql`drop trigger record_state on contacts; drop function record_state; drop table contact_states`.execute(sterna.db))

  const merge = (before: Record<string, unknown>, patch: Record<string, unknown>) => {
    const after = new Map(Object.entries(before))
    for (const [key, given] of Object.entries(patch)) {
      const wrapped = given as { value?: unknown; persistent?: boolean } | null
      if (wrapped?.persistent === false) continue
      const to = wrapped?.persistent === true ? wrapped.value : given
      if (to === null) after.delete(key)
      else if (to !== '') after.set(key, to)
    }
    return Object.fromEntries(after)
  }

  /** The order in which requests took effect: batches by their lock on the contact, requests in a batch by their event id. */
  async function orderOf(project: Project, email: string, accepted: (Sent & { eventId: string })[]) {
    const states = await many(
      sterna.db,
      sql<{
        data: Record<string, unknown>
      }>`select data from contact_states where project_id = ${project.id} and email = ${email} order by seq`,
    )
    const steps = states.map(({ data }) => new Set(Object.keys(data).filter((key) => key.startsWith('request '))))
    const stepOf = ({ n }: Sent) => steps.findIndex((markers) => markers.has(`request ${n}`))
    const ordered = [...accepted].sort((a, b) => stepOf(a) - stepOf(b) || (a.eventId < b.eventId ? -1 : 1))
    expect(ordered.map(stepOf).every((step) => step >= 0)).toBe(true)
    return { ordered, states, stepOf }
  }

  test('has the result of a serial execution', async () => {
    await fc.assert(
      fc.asyncProperty(known, fc.array(sent, { minLength: 10, maxLength: 60 }), async (before, given) => {
        const project = await newProject()
        for (const [email, subscribed] of Object.entries(before))
          await project.call('POST', '/contacts', { email, subscribed, data: BEFORE })
        const all: Sent[] = given.map((each, n) => ({ ...each, n, data: { ...each.data, [`request ${n}`]: n } }) as Sent)
        const send = ({ key, node, n: _, ...body }: Sent) =>
          project.track(body, { ...(key ? { key } : {}), at: node ? second.sterna : sterna })
        // A node that has seen the key makes larger batches.
        const first = [await send(all[0]!), await send(all[1]!)]
        const answers = [...first, ...(await Promise.all(all.slice(2).map(send)))]

        // One event per accepted request, and one accepted request per key.
        const accepted = all.flatMap((each, n) =>
          answers[n]!.status === 200 ? [{ ...each, eventId: answers[n]!.body.data.event as string }] : [],
        )
        for (const [n, { status, body }] of answers.entries()) {
          if (status === 200) continue
          expect(status).toBe(409)
          const winner = accepted.filter(({ key }) => key === all[n]!.key)
          expect(winner.map(({ eventId }) => eventId)).toEqual([body.error.details.event])
        }
        for (const key of ['k1', 'k2', 'k3']) {
          expect(accepted.filter((each) => each.key === key)).toHaveLength(all.some((each) => each.key === key) ? 1 : 0)
        }
        const events = await many(
          sterna.db,
          sql<{ id: string; name: string; email: string; n: number | null }>`
            select e.id, e.name, c.email from events e join contacts c on c.project_id = e.project_id and c.id = e.contact_id
            where e.project_id = ${project.id} order by e.id
          `,
        )
        const tracked = events.filter(({ name }) => !name.startsWith('contact.'))
        expect(tracked.map(({ id, name, email }) => [id, name, email])).toEqual(
          accepted.map(({ eventId, event, email }) => [eventId, event, email]).sort(([a], [b]) => (a! < b! ? -1 : 1)),
        )

        const { data: contacts, total } = await project.contacts.list('?limit=100&sort=email')
        expect(contacts.map(({ email }: { email: string }) => email).sort()).toEqual(
          [...new Set([...Object.keys(before), ...accepted.map(({ email }) => email)])].sort(),
        )
        for (const contact of contacts) {
          const { ordered, states, stepOf } = await orderOf(
            project,
            contact.email,
            accepted.filter(({ email }) => email === contact.email),
          )
          let subscribed = before[contact.email]
          let data: Record<string, unknown> = subscribed === undefined ? {} : BEFORE
          const flips: boolean[] = []
          for (const [n, each] of ordered.entries()) {
            data = merge(data, each.data)
            const isLastOfStep = n + 1 === ordered.length || stepOf(ordered[n + 1]!) !== stepOf(each)
            if (isLastOfStep) expect(states[stepOf(each)]!.data).toEqual(data)
            const wanted = each.subscribed ?? subscribed ?? true
            if (subscribed !== undefined && wanted !== subscribed) flips.push(wanted)
            subscribed = wanted
          }
          expect(contact).toMatchObject({ data, subscribed })
          expect(Object.keys(contact.data).sort()).toEqual(Object.keys(data).sort())
          const changes = events.filter(({ name, email }) => name.startsWith('contact.') && email === contact.email)
          expect(changes.map(({ name }) => name === 'contact.subscribed')).toEqual(flips)
          const consents = await many(
            sterna.db,
            sql<{ subscribed: boolean; source: string }>`
              select subscribed, source from consents where project_id = ${project.id} and contact_id = ${contact.id} order by id
            `,
          )
          expect(consents).toEqual(flips.map((to) => ({ subscribed: to, source: 'public-key' })))
        }

        expect(total).toBe(contacts.length)
        expect(await project.contacts.counts()).toEqual({
          total: contacts.length,
          subscribed: contacts.filter(({ subscribed }: { subscribed: boolean }) => subscribed).length,
        })
        expect((await project.call('GET', '/events')).body.total).toBe(events.length)
        const stats = (await project.call('GET', '/events/stats')).body as { name: string; count: number }[]
        expect(Object.fromEntries(stats.map(({ name, count }) => [name, count]))).toEqual(countBy(events.map(({ name }) => name)))
      }),
      { numRuns: 18, endOnFailure: true },
    )
  })

  const countBy = (names: string[]) =>
    Object.fromEntries([...new Set(names)].map((name) => [name, names.filter((each) => each === name).length]))
})
