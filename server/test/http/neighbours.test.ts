import { sql } from 'kysely'
import PostalMime from 'postal-mime'
import { afterEach, describe, expect, test } from 'vitest'
import { connect, many, one } from '../../src/db/index.ts'
import { CAPACITY } from '../../src/delivery/sender/limits/capacity.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { startApp, useApp } from '../support/app.ts'
import { cloneDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { times } from '../support/times.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })

const TIME = 'Rendering took longer than 250 ms.'
/** Exceeds the time limit on any machine. */
const ENDLESS = '{% for i in (1..4000) %}{% for j in (1..4000) %}{% endfor %}{% endfor %}'
/** Attempts that may run in other threads at the third timeout. */
const UNDER_WAY = 4

let projects = 0
async function newProject(at: Pick<typeof sterna, 'newProject' | 'call' | 'db'> = sterna) {
  const { id, sk } = await at.newProject()
  const domain = `neighbour${++projects}.example`
  const call = (method: string, url: string, body?: object) => at.call(method, url, { key: sk, ...(body ? { body } : {}) })
  await call('POST', '/domains', { domain })
  async function send(more: object): Promise<string[]> {
    const { status, body } = await call('POST', '/v1/send', {
      to: 'ada@example.com',
      from: `a@${domain}`,
      subject: 'Hi',
      body: 'Hi',
      ...more,
    })
    expect([status, body.error]).toEqual([200, undefined])
    return body.data.emails.map(({ email }: { email: string }) => email)
  }
  /** The number of emails of the project per state. */
  async function states(db = at.db): Promise<Record<string, number>> {
    const rows = await many(
      db,
      sql<{ state: string; count: number }>`select state, count(*)::int as count from emails where project_id = ${id} group by state`,
    )
    return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
  }
  /** The number of emails that failed or wait, per error. */
  async function errors(): Promise<Record<string, number>> {
    const rows = await many(
      at.db,
      sql<{ error: string; count: number }>`
        select error, count(*)::int as count from emails where project_id = ${id} and state in ('failed', 'deferred') group by error
      `,
    )
    return Object.fromEntries(rows.map(({ error, count }) => [error, count]))
  }
  return { id, call, send, states, errors }
}

const addresses = (count: number) => times(count, (n) => `r${n}@example.com`)

afterEach(async () => {
  await sql`update emails set state = 'cancelled' where state in ('queued', 'deferred')`.execute(sterna.db)
})

describe('content that times out', () => {
  test('is tried three times; its other recipients wait, with the timeout as reason', async () => {
    const project = await newProject()
    await project.send({ to: addresses(200), body: ENDLESS })
    await eventually(async () => {
      const { [TIME]: tried = 0 } = await project.errors()
      if (tried <= 3 + UNDER_WAY) expect(await project.states()).toEqual({ deferred: 200 })
    })
    const { [TIME]: tried, ...others } = await project.errors()
    expect(tried).toBeGreaterThanOrEqual(3)
    expect(tried).toBeLessThanOrEqual(3 + UNDER_WAY)
    expect(others).toEqual({ [`${TIME} Not tried: 3 emails with this content did.`]: 200 - tried! })
  })

  test('by its filters times out in a thread, even with little output', async () => {
    const project = await newProject()
    const body = `{{ w ${'| upcase | downcase '.repeat(24)}| strip }}`.repeat(200)
    await project.send({ to: addresses(8), body, data: { w: '\u2003'.repeat(65_000) } })
    await eventually(async () => expect(await project.states()).toEqual({ deferred: 8 }))
    expect(Object.keys(await project.errors()).every((error) => error.startsWith(TIME))).toBe(true)
  })

  test('fails an email at its third time-out, and not before', async () => {
    const project = await newProject()
    const [id] = await project.send({ body: ENDLESS })
    const email = async () => (await project.call('GET', `/emails/${id}`)).body
    for (const attempts of [1, 2]) {
      await eventually(async () =>
        expect(await email()).toMatchObject({ status: 'PENDING', errorCode: 'transient', error: TIME, attempts }),
      )
      await sql`update emails set due_at = now() where id = ${id}`.execute(sterna.db)
    }
    await eventually(async () =>
      expect(await email()).toMatchObject({ status: 'FAILED', errorCode: 'rendering', error: TIME, attempts: 3 }),
    )
  })
})

describe('a project whose templates are slow', () => {
  test('does not delay the emails of another project, with or without a thread', async () => {
    const [slow, other] = [await newProject(), await newProject()]
    const bodies = ['Hi {{ name ?? "you" }}', 'Hi {% if name %}{{ name }}{% endif %}']
    // Warms up threads and templates.
    for (const body of bodies) await other.send({ body })
    await eventually(async () => expect(await other.states()).toEqual({ sent: 2 }))
    // Separate contents, so that none fails because of another.
    await Promise.all(times(40, (n) => slow.send({ to: addresses(2), subject: `Slow ${n}`, body: ENDLESS })))
    await eventually(async () => expect((await slow.states()).deferred ?? 0).toBeGreaterThan(1))
    for (const [index, body] of bodies.entries()) {
      const before = (await slow.states()).deferred ?? 0
      await other.send({ body })
      await eventually(async () => expect(await other.states()).toEqual({ sent: 3 + index }))
      const { deferred: after = 0, sending = 0, queued = 0 } = await slow.states()
      expect(after - before, 'slow emails that ended while the other project waited').toBeLessThan(20)
      expect(sending).toBeLessThanOrEqual(0.75 * CAPACITY)
      expect(sending + queued, 'slow emails that still wait').toBeGreaterThan(20)
    }
  })
})

test('a worker that stops releases slow emails instead of rendering them', async () => {
  const database = await cloneDatabase()
  const { sterna: other, close } = await startApp(database.url)
  const db = connect({ url: database.url, max: 1, log: createLog('silent') })
  const project = await newProject(other)
  // Many more than end while a busy machine takes its time to look.
  await Promise.all(times(40, (n) => project.send({ subject: `Slow ${n}`, body: ENDLESS })))
  await eventually(async () => expect((await project.states()).sending ?? 0).toBeGreaterThan(15))
  await close()
  const { deferred = 0, queued = 0, ...others } = await project.states(db)
  expect([deferred + queued, others]).toEqual([40, {}])
  expect(queued).toBeGreaterThan(10)
  await db.destroy()
  await database.drop()
})

describe('an email with HTML', () => {
  test('with a thousand open elements and stray closing tags is sent like any other', async () => {
    const project = await newProject()
    const [id] = await project.send({ body: `${'<b>'.repeat(1_990)}Hello${'</x>'.repeat(100_000)}` })
    await eventually(async () => expect(await project.states()).toEqual({ sent: 1 }))
    expect((await sourceOf(project, id!)).text?.trim()).toBe('Hello')
  })

  // Retried: on a busy machine a thread without CPU time may be killed for the time limit.
  test('of more than a megabyte is sent without tracked links, with text of the first megabyte and with the footer', {
    retry: 2,
  }, async () => {
    const project = await newProject()
    const template = await project.call('POST', '/templates', {
      name: 'Long',
      type: 'MARKETING',
      subject: 'Long',
      from: `a@neighbour${projects}.example`,
      body: '<a href="https://shop.example">Shop</a>{% for i in (1..count) %}{{ block | raw }}{% endfor %}<p>End</p>',
    })
    expect(template.status).toBe(201)
    const block = '<p>word</p>'.repeat(2_000)
    const send = async (count: number) => {
      const [id] = await project.send({
        template: template.body.id,
        subject: undefined,
        body: undefined,
        subscribed: true,
        data: { block, count },
      })
      await eventually(async () => {
        const found = await one(sterna.db, sql<{ state: string; error: string | null }>`select state, error from emails where id = ${id}`)
        expect(found).toEqual({ state: 'sent', error: null })
      })
      return sourceOf(project, id!)
    }
    const [short, long] = [await send(1), await send(60)]
    expect([short.html!.includes('href="https://shop.example"'), short.html!.includes('/t/c/'), short.text!.includes('End')]).toEqual([
      false,
      true,
      true,
    ])
    expect([long.html!.includes('href="https://shop.example"'), long.html!.includes('/t/c/'), long.text!.includes('End')]).toEqual([
      true,
      false,
      false,
    ])
    for (const { html } of [short, long]) expect(html).toContain('/unsubscribe/')
  })

  async function sourceOf(project: Awaited<ReturnType<typeof newProject>>, emailId: string) {
    const { id } = await one(sterna.db, sql<{ id: string }>`select id from sandbox_messages where email_id = ${emailId}`)
    return PostalMime.parse((await project.call('GET', `/sandbox/messages/${id}`)).body.source)
  }
})
