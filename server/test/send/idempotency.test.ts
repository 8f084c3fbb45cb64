import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { ADA, BOB, TIME, times, useSecondNode, useSending } from '../support/delivery/sending.ts'

const { sterna, newProject, quiet, expectNothingOf } = useSending()
/** Another node on the same database. */
const second = useSecondNode(sterna)

describe('an Idempotency-Key', () => {
  test('lets one of fifty concurrent requests to two nodes through, and answers the others with its emails', async () => {
    const project = await newProject()
    const answers = await Promise.all(
      times(50, (index) => project.send({ to: [ADA, BOB] }, { key: 'order-1', at: index % 2 ? second.sterna : sterna })),
    )
    const [first, ...more] = answers.filter(({ status }) => status === 200)
    expect(more).toEqual([])
    const { emails } = first!.body.data
    for (const answer of answers.filter((each) => each !== first)) {
      expect(outcome(answer)).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
      expect(answer.body.error.details).toEqual({
        key: 'order-1',
        originalRequest: 'POST /v1/send',
        originalRequestAt: expect.stringMatching(TIME),
        originalStatusCode: 200,
        emails,
      })
    }
    await project.ended(first!)
    expect((await project.call('GET', '/emails')).body.total).toBe(2)
    expect((await project.call('GET', '/sandbox/messages')).body.total).toBe(2)
  })

  test('belongs to the project, whichever endpoint used it', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const track = (key: string) =>
      sterna.call('POST', '/v1/track', { key: project.pk, body: { email: ADA, event: 'x' }, headers: { 'idempotency-key': key } })
    const sent = await project.send({}, { key: 'a' })
    const tracked = await track('a')
    expect([outcome(tracked), tracked.body.error.details.emails]).toEqual([[409, 'IDEMPOTENCY_KEY_REUSED'], sent.body.data.emails])
    expect(outcome(await track('b'))).toEqual([200])
    expect((await project.send({}, { key: 'b' })).body.error.details.originalRequest).toBe('POST /v1/track')
    expect(outcome(await other.send({}, { key: 'a' }))).toEqual([200])
  })

  test('is not used up by a refusal or an internal error', async () => {
    const project = await newProject()
    const marketing = await project.template({ type: 'MARKETING' })
    expect((await project.send({ subject: '' }, { key: 'k' })).status).toBe(422)
    expect((await project.send({ from: 'a@bank.example' }, { key: 'k' })).status).toBe(403)
    expect((await project.send({ template: randomUUID() }, { key: 'k' })).status).toBe(404)
    expect((await project.send({ template: marketing }, { key: 'k' })).status).toBe(400)
    await sql`create function fail_here() returns trigger language plpgsql as $$ begin raise exception 'on purpose'; end $$`.execute(
      sterna.db,
    )
    await sql`create trigger fail_here before insert on emails for each row when (new.to_address = 'fail@example.com') execute function fail_here()`.execute(
      sterna.db,
    )
    await expectNothingOf(async () =>
      expect(outcome(await project.send({ to: [BOB, 'fail@example.com'] }, { key: 'k' }))).toEqual([500, 'INTERNAL_SERVER_ERROR']),
    )
    await sql`drop trigger fail_here on emails`.execute(sterna.db)
    expect((await project.send({}, { key: 'k' })).status).toBe(200)
    expect((await project.send({}, { key: 'k' })).status).toBe(409)
    expect(await project.keys()).toBe(1)
  })

  test('may be used again when it has expired, and not before', async () => {
    const project = await newProject()
    await project.send({}, { key: 'k' })
    const age = (interval: string) =>
      sql`update idempotency_keys set created_at = now() - ${interval}::interval where project_id = ${project.id}`.execute(sterna.db)
    await age('23:59:50')
    expect((await project.send({}, { key: 'k' })).status).toBe(409)
    await age('24:00:01')
    expect((await project.send({}, { key: 'k' })).status).toBe(200)
    expect((await project.send({}, { key: 'k' })).status).toBe(409)
  })

  test('that is malformed is refused', () =>
    expectNothingOf(async () => {
      for (const key of ['', 'x'.repeat(256), 'a\tb', 'a\x7f', 'é'])
        expect([key, outcome(await quiet.send({}, { key }))]).toEqual([key, [400, 'BAD_REQUEST']])
    }))
})
