import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many, transact } from '../../src/db/index.ts'
import { findEmail } from '../../src/delivery/emails/email.ts'
import { selectEmailIds, selectEmails } from '../../src/delivery/emails/email-ids.ts'
import { emailMatchesSql } from '../../src/delivery/emails/filter.ts'
import { outcome } from '../support/answers.ts'
import type { Answer } from '../support/app.ts'
import { type Email, type Project, times, useHeldEmails, useSending } from '../support/delivery/sending.ts'

const { sterna, newProject, quiet } = useSending()
const { hold } = useHeldEmails(sterna)

describe('the list of emails', () => {
  test('is newest first, by pages, with filters', async () => {
    const project = await newProject()
    const sent = await project.send({ to: times(25, (index) => `r${index}@example.com`) })
    await project.ended(sent)
    const failing = await project.send({ to: 'refuse@example.com' })
    await project.ended(failing)
    const ids = [...sent.body.data.emails, ...failing.body.data.emails].map(({ email }: { email: string }) => email).reverse()

    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body }: Answer = await project.call('GET', `/emails?limit=10${cursor ? `&cursor=${cursor}` : ''}`)
      expect(body.total).toBe(cursor ? 0 : 26)
      expect(body.hasMore).toBe(body.cursor !== null)
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      cursor = body.cursor
    }
    expect(seen).toEqual(ids)

    const list = async (query: string) => (await project.call('GET', `/emails?${query}`)).body
    expect((await list('status=BOUNCED')).data.map(({ id }: Email) => id)).toEqual([ids[0]])
    expect(await list('status=SENT&limit=1')).toMatchObject({ total: 25, hasMore: true })
    expect(await list('status=OPENED')).toMatchObject({ total: 0, data: [] })
    const { id: contactId } = sent.body.data.emails[3].contact
    expect((await list(`contactId=${contactId}`)).data.map(({ id }: Email) => id)).toEqual([sent.body.data.emails[3].email])
    for (const bad of ['contactId=x', `contactId=${randomUUID()}`, 'campaignId=x', `campaignId=${randomUUID()}`, 'contactId='])
      expect([bad, await list(bad)]).toEqual([bad, { data: [], cursor: null, hasMore: false, total: 0 }])
    expect(outcome(await project.call('GET', '/emails?status=GONE'))).toEqual([422, 'VALIDATION_ERROR'])
    const { cursor } = await list('limit=10')
    for (const bad of [`status=SENT&cursor=${cursor}`, 'cursor=x', `cursor=${cursor}x`])
      expect(outcome(await project.call('GET', `/emails?${bad}`))).toEqual([400, 'BAD_REQUEST'])
    expect((await list('limit=1000')).data).toHaveLength(26)

    for (const path of [`/emails/${ids[0]}`, `/sandbox/messages/${randomUUID()}`])
      expect(outcome(await quiet.call('GET', path))).toEqual([404, 'RESOURCE_NOT_FOUND'])
    expect((await quiet.call('GET', `/emails?contactId=${contactId}`)).body.total).toBe(0)
  })

  test.each<[string, string, string | null]>([
    [`state = 'queued'`, 'PENDING', null],
    [`state = 'deferred', error = 'busy'`, 'PENDING', 'busy'],
    [`state = 'sending'`, 'SENDING', null],
    [`state = 'unknown', unknown_since = now()`, 'SENDING', null],
    [`state = 'sent'`, 'SENT', null],
    [`state = 'sent', delivered_at = now()`, 'DELIVERED', null],
    [`state = 'sent', delivered_at = now(), opened_at = now()`, 'OPENED', null],
    [`state = 'sent', opened_at = now()`, 'OPENED', null],
    [`state = 'sent', opened_at = now(), clicked_at = now()`, 'CLICKED', null],
    [`state = 'sent', clicked_at = now(), bounced_at = now()`, 'BOUNCED', null],
    [`state = 'sent', clicked_at = now(), bounced_at = now(), complained_at = now()`, 'COMPLAINED', null],
    [`state = 'failed', error = 'e'`, 'FAILED', 'e'],
    [`state = 'skipped', error = 'e'`, 'SKIPPED', 'e'],
    [`state = 'cancelled'`, 'SKIPPED', 'cancelled'],
  ])('a row with %s reads %s', async (row, status, error) => {
    const project = await newProject()
    await hold(project)
    const id = (await project.send()).body.data.emails[0].email as string
    // In a transaction that ends as it began: nobody may take it meanwhile.
    await transact(sterna.db, async (tx) => {
      await sql`update emails set ${sql.raw(row)}, due_at = null where id = ${id}`.execute(tx)
      const { emailStatus, ...found } = await readInside(tx, project, id)
      expect([emailStatus, found.error, found.outcomeUnknownSince !== null]).toEqual([status, error, row.includes('unknown')])
      await sql`update emails set state = 'deferred' where id = ${id}`.execute(tx)
    })
  })
})

async function readInside(tx: Parameters<typeof findEmail>[0], project: Project, id: string) {
  const { status, error, outcomeUnknownSince } = (await findEmail(tx, project.id, id))!
  const where = await emailMatchesSql(tx, project.id, { status: [status] })
  const listed = await many(tx, sql<{ id: string }>`select e.id from emails e where ${where}`)
  expect(listed.map((each) => each.id)).toEqual([id])
  const selection = await selectEmails(tx, project.id, { status: [status] })
  expect(await many(tx, selectEmailIds(selection, { limit: 10 }))).toEqual([{ id }])
  return { emailStatus: status, error, outcomeUnknownSince }
}
