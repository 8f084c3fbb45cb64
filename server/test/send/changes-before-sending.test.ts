import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { outcome } from '../support/answers.ts'
import { ADA, file, type Project, useHeldEmails, useSending } from '../support/delivery/sending.ts'
import { eventually } from '../support/eventually.ts'

const { sterna, newProject, busy } = useSending()
const { hold, release } = useHeldEmails(sterna)

describe('between the request and sending', () => {
  async function meanwhile(change: (project: Project) => Promise<unknown>, more: (project: Project) => Promise<object> = async () => ({})) {
    const project = await newProject()
    await project.call('POST', '/contacts', { email: ADA, subscribed: true })
    await hold(project)
    const answer = await project.send(await more(project))
    expect(outcome(answer)).toEqual([200])
    const id = answer.body.data.emails[0].email as string
    expect((await project.email(id)).status).toBe('PENDING')
    await change(project)
    await release(project)
    return { project, answer, id }
  }
  const unsubscribe = async (project: Project) => project.call('PATCH', `/contacts/${(await project.contact()).id}`, { subscribed: false })
  const marketing = async (project: Project) => ({ template: await project.template({ type: 'MARKETING' }) })

  test('a contact may be deleted: the email is skipped, and has no contact', async () => {
    const { project, answer } = await meanwhile(async (each) => each.call('DELETE', `/contacts/${(await each.contact()).id}`))
    const [email] = await project.ended(answer)
    expect(email).toMatchObject({ status: 'SKIPPED', error: 'contact_deleted', contactId: null, to: ADA })
    expect((email!.timeline as { what: string }[]).map(({ what }) => what)).toEqual(['queued', 'skipped'])
  })

  test('a contact may unsubscribe: marketing is skipped, anything else goes out', async () => {
    const skipped = await meanwhile(unsubscribe, marketing)
    expect((await skipped.project.ended(skipped.answer))[0]).toMatchObject({ status: 'SKIPPED', error: 'unsubscribed' })
    const sent = await meanwhile(unsubscribe)
    expect((await sent.project.ended(sent.answer))[0]).toMatchObject({ status: 'SENT' })
    expect((await skipped.project.names()).filter((name) => name.startsWith('email.'))).toEqual([])
  })

  test('an address may be suppressed: the email is skipped', async () => {
    const { project, answer } = await meanwhile((each) =>
      sql`insert into suppressions (project_id, address, reason) values (${each.id}, ${ADA}, 'bounce')`.execute(sterna.db),
    )
    expect((await project.ended(answer))[0]).toMatchObject({ status: 'SKIPPED', error: 'suppressed' })
    expect((await project.call('GET', '/sandbox/messages')).body.data).toEqual([])
  })

  test('a domain may be removed: the email fails', async () => {
    const { project, answer } = await meanwhile((each) => each.call('DELETE', `/domains/${each.domainId}`))
    expect((await project.ended(answer))[0]).toMatchObject({ status: 'FAILED', error: 'domain_not_verified' })
    const [failed] = (await project.events()).filter(({ name }) => name === 'email.failed')
    expect(failed!.data).toMatchObject({ reason: 'domain_not_verified', subject: 'Hi' })
  })

  test('a project may be disabled: the email waits', async () => {
    const { project, answer, id } = await meanwhile((each) =>
      sql`update projects set disabled = true where id = ${each.id}`.execute(sterna.db),
    )
    const waiting = await eventually(async () => {
      const found = await project.email(id)
      expect(found.error).toBe('project_disabled')
      return found
    })
    expect(waiting).toMatchObject({ status: 'PENDING' })
    expect((waiting.timeline as { what: string; details: object }[]).at(-1)).toMatchObject({
      what: 'deferred',
      details: { reason: 'project_disabled' },
    })
    await sql`update projects set disabled = false where id = ${project.id}`.execute(sterna.db)
    await sql`update emails set due_at = now() where project_id = ${project.id}`.execute(sterna.db)
    expect((await project.ended(answer))[0]).toMatchObject({ status: 'SENT', error: null, attempts: 2 })
  })

  test('what is about the recipient counts before what is about the project', async () => {
    const { project, answer } = await meanwhile(async (each) => {
      await sql`update projects set disabled = true where id = ${each.id}`.execute(sterna.db)
      await sql`insert into suppressions (project_id, address, reason) values (${each.id}, ${ADA}, 'bounce')`.execute(sterna.db)
    })
    expect((await project.ended(answer))[0]).toMatchObject({ status: 'SKIPPED', error: 'suppressed' })
  })

  test('a recipient may unsubscribe and the email expire: it is skipped', async () => {
    const { project, answer } = await meanwhile(async (each) => {
      await unsubscribe(each)
      await sql`update emails set created_at = now() - interval '8 days', requeued_at = now() where project_id = ${each.id}`.execute(
        sterna.db,
      )
    }, marketing)
    expect((await project.ended(answer))[0]).toMatchObject({ status: 'SKIPPED', error: 'unsubscribed' })
  })

  test('a project may be deleted: nothing is sent, and nothing of it is left', async () => {
    const { project } = await meanwhile(
      (each) => each.owner.call('DELETE', `/users/@me/projects/${each.id}`),
      async () => ({ attachments: [file()] }),
    )
    const left = () =>
      many(
        sterna.db,
        sql`
          select 'mail' from emails where project_id = ${project.id}
          union all select 'content' from contents where project_id = ${project.id}
          union all select 'attachment' from attachments where project_id = ${project.id}
          union all select 'message' from sandbox_messages where project_id = ${project.id}
        `,
      )
    await eventually(async () => expect(await left()).toEqual([]))
  })

  test('a project may be reset: its emails and messages are gone, and it can send again', async () => {
    const project = await newProject()
    await project.ended(await project.send({ attachments: [file()] }))
    await project.owner.call('POST', `/users/@me/projects/${project.id}/reset`)
    await eventually(async () => {
      expect((await project.call('GET', '/emails')).body.total).toBe(0)
      expect((await project.call('GET', '/sandbox/messages')).body.total).toBe(0)
      expect(await many(sterna.db, sql`select 1 from contents where project_id = ${project.id}`)).toEqual([])
      expect(await many(sterna.db, sql`select 1 from attachments where project_id = ${project.id}`)).toEqual([])
    })
    expect((await project.ended(await project.send()))[0]).toMatchObject({ status: 'SENT' })
  })

  test('a message of more than 40 MB fails, with the reason', async () => {
    const data = { x: { value: '€'.repeat(60_000), persistent: false } }
    const answer = await busy.send({ body: '{% for n in (1..80) %}{{x}}{% endfor %}', data })
    expect((await busy.ended(answer))[0]).toMatchObject({ status: 'FAILED', error: 'The message is larger than 40 MB.' })
  })

  test('an email that cannot be rendered fails, with the reason', async () => {
    const answer = await busy.send({ subject: '{{x}}', data: { x: { value: 'x'.repeat(999), persistent: false } } })
    expect((await busy.ended(answer))[0]).toMatchObject({ status: 'FAILED', error: 'The rendered subject is longer than 998 characters.' })
  })
})
