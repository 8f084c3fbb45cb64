import { sql } from 'kysely'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { many, one, transact } from '../../src/db/index.ts'
import { dropExpiredKeys } from '../../src/http/idempotency.ts'
import { issues, outcome } from '../support/answers.ts'
import { countEmails } from '../support/delivery/counted-sending.ts'
import { ADA, BOB, times, useSending } from '../support/delivery/sending.ts'
import { eventually } from '../support/eventually.ts'

const { sterna, newProject } = useSending()
type Project = Awaited<ReturnType<typeof newProject>>

const HOUR = 3_600_000
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()
const schedule = async (project: Project, sendAt: string, more: object = {}, options = {}) => {
  const answer = await project.send({ sendAt, ...more }, options)
  expect([answer.status, answer.body]).toEqual([200, expect.anything()])
  return answer.body.data.emails[0].email as string
}
const get = async (project: Project, id: string) => (await project.call('GET', `/emails/${id}`)).body
const cancel = (project: Project, id: string) => project.call('POST', `/emails/${id}/cancel`)
const move = (project: Project, id: string, sendAt: string | null) => project.call('PATCH', `/emails/${id}`, { sendAt })
/** Its time has come. */
const makeDue = (id: string) => sql`update emails set due_at = now(), send_at = now() where id = ${id}`.execute(sterna.db)
const usage = async ({ owner, id }: Project) =>
  (await owner.call('GET', `/users/@me/projects/${id}/billing-limits`)).body.transactional.usage as number

describe('an email with sendAt', () => {
  test('waits until then, is listed, and is sent within two seconds of it', async () => {
    const project = await newProject()
    const at = inMs(1_500)
    const id = await schedule(project, at)
    expect(await get(project, id)).toMatchObject({
      status: 'PENDING',
      sendAt: at,
      sentAt: null,
      error: null,
      timeline: [{ what: 'scheduled' }],
    })
    await eventually(async () => expect((await get(project, id)).sentAt).not.toBeNull())
    const { late } = await one(
      sterna.db,
      sql<{ late: number }>`select extract(epoch from sent_at - send_at)::float8 as late from emails where id = ${id}`,
    )
    expect(late).toBeGreaterThanOrEqual(0)
  })

  test('is in the list of scheduled emails and in upcoming activity until it is due', async () => {
    const project = await newProject()
    await project.send()
    const id = await schedule(project, inMs(HOUR))
    const listed = async () => (await project.call('GET', '/emails?scheduled=true')).body.data.map((email: { id: string }) => email.id)
    expect(await listed()).toEqual([id])
    const { activities } = (await project.call('GET', '/activity/upcoming')).body
    expect(activities).toMatchObject([{ id, type: 'email.scheduled', contactEmail: ADA, metadata: { emailId: id, subject: 'Hi' } }])
    await makeDue(id)
    await eventually(async () => expect((await get(project, id)).status).not.toBe('PENDING'))
    expect(await listed()).toEqual([])
  })

  test.each([
    [inMs(-2 * 60_000), 'too_small'],
    [inMs(31 * 24 * HOUR), 'too_big'],
    ['tomorrow', 'invalid_string'],
  ])('of %s is refused', async (sendAt, code) => {
    const project = await newProject()
    const answer = await project.send({ sendAt })
    expect([outcome(answer), issues(answer)]).toEqual([[422, 'VALIDATION_ERROR'], [['sendAt', code]]])
  })

  test('of less than a minute ago is sent now', async () => {
    const project = await newProject()
    const id = await schedule(project, inMs(-30_000))
    await eventually(async () => expect((await get(project, id)).sentAt).not.toBeNull())
  })

  test('asks for consent when it is due', async () => {
    const project = await newProject()
    await project.call('POST', '/contacts', { email: ADA, subscribed: false })
    const { body: template } = await project.call('POST', '/templates', {
      name: 'T',
      subject: 'S',
      body: 'B {{unsubscribeUrl}}',
      type: 'MARKETING',
    })
    const now = await project.send({ template: template.id, subject: undefined, body: undefined })
    expect(outcome(now)).toEqual([400, 'CONTACT_UNSUBSCRIBED'])
    const id = await schedule(project, inMs(HOUR), { template: template.id, subject: undefined, body: undefined })
    await makeDue(id)
    await eventually(async () => expect(await get(project, id)).toMatchObject({ status: 'SKIPPED', errorCode: 'unsubscribed' }))
  })

  test('keeps its content, and expires by its time', async () => {
    const project = await newProject()
    const { body: template } = await project.call('POST', '/templates', { name: 'T', subject: 'Before', body: 'B', type: 'TRANSACTIONAL' })
    const id = await schedule(project, inMs(HOUR), { template: template.id, subject: undefined, body: undefined })
    await project.call('PATCH', `/templates/${template.id}`, { subject: 'After' })
    await sql`update emails set created_at = now() - interval '20 days' where id = ${id}`.execute(sterna.db)
    await makeDue(id)
    await eventually(async () => expect(await get(project, id)).toMatchObject({ status: 'SENT', subject: 'Before' }))
  })

  test('has an Idempotency-Key that lives until then and its lifetime', async () => {
    const project = await newProject()
    await schedule(project, inMs(48 * HOUR), {}, { key: 'k' })
    await sql`update idempotency_keys set created_at = now() - interval '40 hours' where project_id = ${project.id}`.execute(sterna.db)
    await dropExpiredKeys(sterna.db, 24)
    expect(outcome(await project.send({}, { key: 'k' }))).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
    await sql`update idempotency_keys set lives_from = now() - interval '25 hours' where project_id = ${project.id}`.execute(sterna.db)
    expect((await project.send({}, { key: 'k' })).status).toBe(200)
  })

  test('has an Idempotency-Key that lives longer when it is moved to a later time', async () => {
    const project = await newProject()
    const id = await schedule(project, inMs(HOUR), { to: [ADA, BOB] }, { key: 'k' })
    await schedule(project, inMs(HOUR), {}, { key: 'other' })
    const livesFrom = async () =>
      many(sterna.db, sql<{ at: Date }>`select lives_from as at from idempotency_keys where project_id = ${project.id} order by key`).then(
        (rows) => rows.map(({ at }) => at.toISOString()),
      )
    const [, other] = await livesFrom()
    const later = inMs(48 * HOUR)
    for (const sendAt of [later, inMs(2 * HOUR), null]) await move(project, id, sendAt)
    expect(await livesFrom()).toEqual([later, other])
  })
})

describe('a scheduled email', () => {
  test('is cancelled once, with its usage returned, and never sent', async () => {
    const project = await newProject()
    const id = await schedule(project, inMs(HOUR))
    // The sandbox counts no usage: this counts the email as any other transport would have.
    await transact(sterna.db, async (tx) => {
      await sql`update emails set metered = true where id = ${id}`.execute(tx)
      await countEmails(tx, project.id, [{ kind: 'transactional', at: new Date(), n: 1 }])
    })
    expect(await usage(project)).toBe(1)
    const first = await cancel(project, id)
    expect([first.status, first.body]).toMatchObject([200, { id, status: 'SKIPPED', error: 'cancelled', errorCode: 'cancelled' }])
    const second = await cancel(project, id)
    expect([second.status, second.body]).toEqual([200, first.body])
    expect(await usage(project)).toBe(0)
    const { body: trail } = await project.owner.call('GET', `/projects/${project.id}/audit?action=email.cancel`)
    expect(trail.data).toMatchObject([{ action: 'email.cancel', target: { type: 'email', id } }])
    expect(outcome(await move(project, id, null))).toEqual([409, 'CONFLICT'])
  })

  test('is moved, or sent now', async () => {
    const project = await newProject()
    const id = await schedule(project, inMs(HOUR))
    const later = inMs(2 * HOUR)
    expect((await move(project, id, later)).body).toMatchObject({ status: 'PENDING', sendAt: later })
    expect(outcome(await move(project, id, inMs(-HOUR)))).toEqual([422, 'VALIDATION_ERROR'])
    expect((await move(project, id, null)).status).toBe(200)
    await eventually(async () => expect((await get(project, id)).sentAt).not.toBeNull())
    for (const answer of [await move(project, id, later), await cancel(project, id)]) expect(outcome(answer)).toEqual([409, 'CONFLICT'])
    expect(await project.call('GET', '/emails?scheduled=true').then(({ body }) => body.total)).toBe(0)
  })

  test('is cancelled or sent, never both, when both happen at once', async () => {
    const project = await newProject()
    const { body } = await project.send({ sendAt: inMs(HOUR), to: times(40, (n) => `r${n}@example.com`) })
    const ids: string[] = body.data.emails.map(({ email }: { email: string }) => email)
    const [, ...answers] = await Promise.all([
      sql`update emails set due_at = now(), send_at = now() where project_id = ${project.id}`.execute(sterna.db),
      ...ids.map((id, index) => (index % 2 ? cancel(project, id) : move(project, id, null))),
    ])
    await eventually(async () => {
      const open = sql<{
        n: number
      }>`select count(*)::int as n from emails where project_id = ${project.id} and state in ('deferred', 'queued', 'sending')`
      expect((await one(sterna.db, open)).n).toBe(0)
    })
    for (const [index, id] of ids.entries()) {
      const { status } = await get(project, id)
      const isCancelled = index % 2 === 1 && answers[index]!.status === 200
      expect([id, status]).toEqual([id, isCancelled ? 'SKIPPED' : 'SENT'])
    }
  })

  test('that was not scheduled, or is of another project, is not changed', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const { body } = await project.send()
    expect(outcome(await cancel(project, body.data.emails[0].email))).toEqual([409, 'CONFLICT'])
    const id = await schedule(other, inMs(HOUR), { to: BOB })
    for (const answer of [await cancel(project, id), await move(project, id, null)]) expect(answer.status).toBe(404)
    expect((await get(other, id)).status).toBe('PENDING')
  })

  test('costs nothing while it waits: what looks for due emails reads those that are due', async () => {
    const project = await newProject()
    await schedule(project, inMs(HOUR))
    await sql`
      insert into emails (project_id, id, content_id, to_address, source_type, message_id, lane, stream_id, state, due_at, send_at)
      select project_id, gen_random_uuid(), content_id, to_address, source_type, message_id, lane, stream_id, 'deferred',
        now() + interval '1 day', now() + interval '1 day'
      from emails, generate_series(1, 5000) where project_id = ${project.id}
    `.execute(sterna.db)
    await sql`analyze emails`.execute(sterna.db)
    const plan = await transact(sterna.db, async (tx) => {
      const { rows } = await sql<{ 'QUERY PLAN': string }>`
        explain (analyze, costs off, timing off)
        select project_id, id from emails where state = 'deferred' and due_at <= now() order by due_at limit 1000 for update skip locked
      `.execute(tx)
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    })
    expect(plan).toMatch(/Index Scan using emails_due/)
    expect(plan).not.toMatch(/Rows Removed/)
    await sql`delete from emails where project_id = ${project.id}`.execute(sterna.db)
  })
})

describe.each([
  ['ahead', HOUR],
  ['behind', -HOUR],
])('on a node whose clock is an hour %s', (_, shift) => {
  const jump = () => void vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + shift })
  afterEach(() => void vi.useRealTimers())
  /** By the clock of the database, which is that of this machine. */
  const atRealTime = (ms: number) => new Date(Date.now() - (vi.isFakeTimers() ? shift : 0) + ms).toISOString()

  test('an email is sent when it is due by the clock of the database, not before', async () => {
    const project = await newProject()
    jump()
    // The clock that is ahead shows half a minute later than this.
    const id = await schedule(project, atRealTime(HOUR - 30_000))
    expect(await get(project, id)).toMatchObject({ status: 'PENDING', sentAt: null })
    await move(project, id, atRealTime(HOUR - 20_000))
    expect(await get(project, id)).toMatchObject({ status: 'PENDING', sentAt: null })
    await makeDue(id)
    await eventually(async () => expect((await get(project, id)).sentAt).not.toBeNull())
  })

  test('people stay signed in, links in account emails work, and a key is used once', async () => {
    const person = await sterna.newPerson()
    const project = await newProject()
    jump()
    expect((await person.call('GET', '/users/@me')).status).toBe(200)
    expect((await sterna.call('POST', '/auth/verify-email', { body: { token: await sterna.tokenFor(person.email) } })).status).toBe(200)
    expect((await sterna.newPerson().then(({ call }) => call('GET', '/users/@me'))).status).toBe(200)
    expect((await project.send({}, { key: 'once' })).status).toBe(200)
    expect((await project.send({}, { key: 'once' })).status).toBe(409)
  })
})
