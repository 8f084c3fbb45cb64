import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many, transact } from '../../src/db/index.ts'
import { recordFeedback } from '../../src/delivery/feedback/reports/record.ts'
import { settleByEvidence } from '../../src/delivery/outbox/outcomes/evidence.ts'
import type { Feedback } from '../../src/delivery/transport/transport.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { whileSleeping } from '../support/faults/sleeping-writes.ts'
import { newSendingProject } from '../support/project.ts'

const sterna = useSharedApp()
type Project = Awaited<ReturnType<typeof newSendingProject>>

const eventsOf = ({ id }: Project) =>
  many(
    sterna.db,
    sql<{ name: string; contactId: string | null; isDangling: boolean }>`
      select e.name, e.contact_id as "contactId", e.contact_id is not null and c.id is null as "isDangling"
      from events e left join contacts c on c.project_id = e.project_id and c.id = e.contact_id
      where e.project_id = ${id} order by e.id
    `,
  )
const SENT = { name: 'email.sent', contactId: null, isDangling: false }
const forgetting = () => many(sterna.db, sql`select 1 from graphile_worker.jobs where task_identifier = 'events.forget-contacts'`)

async function deleteContact(project: Project, contactId: string) {
  await project.call('DELETE', `/contacts/${contactId}`)
  await eventually(async () => expect(await forgetting()).toEqual([]))
}

describe('what happens to an email after its contact was deleted', () => {
  test.each<[string, Feedback]>([
    ['email.delivery', { is: 'delivery' }],
    ['email.bounce', { is: 'bounce', reason: 'gone' }],
    ['email.bounce', { is: 'soft-bounce', reason: 'full' }],
    ['email.complaint', { is: 'complaint' }],
  ])('is recorded without a contact, and in its timeline: %s %j', async (name, feedback) => {
    const project = await newSendingProject(sterna)
    const { id, contactId } = await project.sent()
    await deleteContact(project, contactId)
    expect(await eventsOf(project)).toEqual([SENT])

    await transact(sterna.db, (tx) => recordFeedback(tx, { projectId: project.id, id }, feedback))

    expect(await eventsOf(project)).toEqual([SENT, { name, contactId: null, isDangling: false }])
    const { timeline, contactId: shown } = await project.email(id)
    expect([shown, timeline.map(({ what }: { what: string }) => what)]).toEqual([null, ['queued', 'email.sent', name]])
  })

  test('includes that it was sent', async () => {
    const project = await newSendingProject(sterna)
    const { id, contactId } = await project.sent()
    await sql`update emails set state = 'unknown', unknown_since = now() where project_id = ${project.id}`.execute(sterna.db)
    await sql`delete from events where project_id = ${project.id}`.execute(sterna.db)
    await deleteContact(project, contactId)

    await transact(sterna.db, (tx) => settleByEvidence(tx, [{ projectId: project.id, id }]))

    expect(await eventsOf(project)).toEqual([SENT])
    const { timeline } = await project.email(id)
    expect(timeline.map(({ what }: { what: string }) => what)).toEqual(['queued', 'email.sent'])
  })
})

describe('the timeline of an email is complete after its contact was deleted', () => {
  const timelineOf = async (project: Project, id: string): Promise<[string, unknown][]> =>
    (await project.email(id)).timeline.map(({ what, details }: { what: string; details: Record<string, unknown> }) => [
      what,
      details.bounceType ?? details.sentAt ?? details.deliveredAt ?? null,
    ])

  test.each<[string, object, Feedback[], string[]]>([
    [
      'a delivery, a soft bounce and a complaint',
      {},
      [{ is: 'soft-bounce', reason: 'full' }, { is: 'delivery' }, { is: 'complaint' }],
      ['email.bounce', 'email.complaint', 'email.delivery', 'email.sent', 'queued'],
    ],
    ['a hard bounce', {}, [{ is: 'bounce', reason: 'gone' }], ['email.bounce', 'email.sent', 'queued']],
    ['a failure', { subject: '{{x}}', data: { x: { value: 'x'.repeat(999), persistent: false } } }, [], ['email.failed', 'queued']],
  ])('with %s', async (_, more, feedback, expected) => {
    const project = await newSendingProject(sterna)
    const { id, contactId } = await project.sent(more)
    for (const each of feedback) await transact(sterna.db, (tx) => recordFeedback(tx, { projectId: project.id, id }, each))
    const before = await timelineOf(project, id)
    expect(before.map(([what]) => what).sort()).toEqual(expected)
    await deleteContact(project, contactId)
    expect((await eventsOf(project)).filter(({ contactId }) => contactId !== null)).toEqual([])
    expect((await timelineOf(project, id)).sort()).toEqual(before.sort())
  })
})

test('an email that is being settled while its contact is deleted leaves no event of that contact', async () => {
  const project = await newSendingProject(sterna)
  const id = await whileSleeping(
    sterna.db,
    { table: 'emails', when: sql`new.project_id = ${sql.lit(project.id)} and new.state = 'sent'` },
    async () => {
      const answer = await project.send()
      return {
        started: answer.body.data.emails[0],
        meanwhile: ({ contact }: { contact: { id: string }; email: string }) => project.call('DELETE', `/contacts/${contact.id}`),
      }
    },
  )
  await eventually(async () => expect((await project.email(id.email)).status).toBe('SENT'))
  await eventually(async () => expect(await forgetting()).toEqual([]))
  expect((await eventsOf(project)).filter(({ isDangling }) => isDangling)).toEqual([])
})
