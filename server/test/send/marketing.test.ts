import { describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { ADA, BOB, type Project, times, useSending } from '../support/delivery/sending.ts'

const { newProject, expectNothingOf } = useSending()

describe('marketing', () => {
  /** Through HTTP a template becomes HEADLESS by a change only. */
  const marketing = async (project: Project, type: string) => {
    const template = await project.template({ type: 'MARKETING' })
    if (type === 'HEADLESS') await project.call('PATCH', `/templates/${template}`, { type })
    return template
  }

  test.each(['MARKETING', 'HEADLESS'])('(%s) to an unsubscribed contact is refused, and nothing is written', async (type) => {
    const project = await newProject()
    const template = await marketing(project, type)
    await project.call('POST', '/contacts', { email: BOB, subscribed: false })
    await project.call('POST', '/contacts', { email: 'carl@example.com', subscribed: true })
    await expectNothingOf(async () => {
      for (const to of [BOB, 'new@example.com', [BOB, 'new@example.com'], [BOB, BOB]]) {
        expect([to, outcome(await project.send({ to, template, data: { x: 1 } }, { key: 'k' }))]).toEqual([
          to,
          [400, 'CONTACT_UNSUBSCRIBED'],
        ])
      }
      // Nor does a contact that this request unsubscribes.
      expect(outcome(await project.send({ to: 'carl@example.com', template, subscribed: false }))).toEqual([400, 'CONTACT_UNSUBSCRIBED'])
    })
    expect((await project.contacts()).total).toBe(2)
  })

  test.each(['MARKETING', 'HEADLESS'])('(%s) to several contacts skips those that are not subscribed, with the reason', async (type) => {
    const project = await newProject()
    const template = await marketing(project, type)
    await project.call('POST', '/contacts', { email: ADA, subscribed: true })
    await project.call('POST', '/contacts', { email: BOB, subscribed: false })
    const answer = await project.send({ to: [BOB, ADA, 'new@example.com', BOB], template })
    expect(outcome(answer)).toEqual([200])
    const emails = await project.ended(answer)
    expect(emails.map(({ to, status, error, attempts }) => [to, status, error, attempts])).toEqual([
      [BOB, 'SKIPPED', 'unsubscribed', 0],
      [ADA, 'SENT', null, 1],
      ['new@example.com', 'SKIPPED', 'unsubscribed', 0],
      [BOB, 'SKIPPED', 'unsubscribed', 0],
    ])
    expect(emails[0]!.timeline).toEqual([
      { at: emails[0]!.createdAt, what: 'queued', details: {} },
      { at: emails[0]!.updatedAt, what: 'skipped', details: { reason: 'unsubscribed' } },
    ])
    expect(await project.contact('new@example.com')).toMatchObject({ subscribed: false })
    expect((await project.call('GET', '/sandbox/messages')).body.total).toBe(1)
  })

  test('with `subscribed: true` subscribes first', async () => {
    const project = await newProject()
    const template = await marketing(project, 'MARKETING')
    await project.call('POST', '/contacts', { email: BOB, subscribed: false })
    const answer = await project.send({ to: [BOB, 'new@example.com'], template, subscribed: true })
    expect((await project.ended(answer)).map(({ status }) => status)).toEqual(['SENT', 'SENT'])
    expect(await project.names()).toEqual(expect.arrayContaining(['contact.subscribed']))
  })

  test('of concurrent requests is decided for each request', async () => {
    const project = await newProject()
    const template = await marketing(project, 'MARKETING')
    const answers = await Promise.all(
      times(40, (index) =>
        index % 2
          ? project.send({ to: `p${index}@example.com`, template, subscribed: true })
          : project.send({ to: `p${index}@example.com`, template }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(times(40, (index) => (index % 2 ? 200 : 400)))
    // The same contact at the same time, with and without consent.
    const twins = await Promise.all([
      project.send({ to: [ADA, 'p1@example.com'], template }),
      project.send({ to: ADA, template, subscribed: true }),
      project.send({ to: ADA }),
    ])
    expect(twins.map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await project.ended(twins[1]!))[0]!.status).toBe('SENT')
  })

  test('goes to subscribers, and transactional email to every contact', async () => {
    const project = await newProject()
    await project.call('POST', '/contacts', { email: BOB, subscribed: false })
    expect(outcome(await project.send({ to: BOB }))).toEqual([200])
    expect(outcome(await project.send({ to: 'new@example.com', template: await project.template() }))).toEqual([200])
  })
})
