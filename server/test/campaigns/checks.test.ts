import { beforeAll, describe, expect, test } from 'vitest'
import { transact } from '../../src/db/index.ts'
import { recordEvents } from '../../src/events/record.ts'
import { outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { type CampaignProject, newCampaignProject } from './campaign-project.ts'

const sterna = useSharedApp()

let project: CampaignProject
beforeAll(async () => {
  project = await newCampaignProject(sterna)
  await project.contacts.create('ada@example.com', { subscribed: true, data: { plan: 'pro', city: { name: 'Rome' } } })
  await project.contacts.create('bob@example.com', { subscribed: true, data: { plan: '' } })
  await project.contacts.create('dan@example.com', { subscribed: false })
  await project.subscribe('sue')
  await project.call('POST', '/suppressions', { address: 'sue@example.com' })
})

describe('the preflight', () => {
  const preflight = async (more: object) => (await project.call('GET', `/campaigns/${(await project.create(more)).id}/preflight`)).body

  test('has the sum of the audience', async () => {
    const { audience, sender } = await preflight({})
    expect(audience).toEqual({ matches: 4, unsubscribed: 1, suppressed: 1, invalid: 0, recipients: 2, estimated: false })
    expect(sender).toEqual({ from: `news@${project.domain}`, verified: true })
  })

  test('of a transactional campaign counts unsubscribed contacts as recipients', async () => {
    expect((await preflight({ type: 'TRANSACTIONAL' })).audience).toMatchObject({
      matches: 4,
      unsubscribed: 0,
      suppressed: 1,
      recipients: 3,
    })
  })

  test('counts the recipients without a value for a variable', async () => {
    const { missingVariables } = await preflight({
      subject: 'Hi {{ plan }}',
      body: '{{ city.name }} {{ data.plan }} {{ other ?? "x" }} {{ email }} {{ unsubscribeUrl }}',
    })
    expect(missingVariables).toEqual([
      { variable: 'plan', contacts: 1 },
      { variable: 'city.name', contacts: 1 },
    ])
  })

  test('has the findings of the linter', async () => {
    const { lint } = await preflight({ body: '<a href="">x</a>' })
    expect(lint.map(({ code }: { code: string }) => code)).toContain('empty_link')
  })

  test('estimates the duration at the rate of the campaign', async () => {
    expect(await preflight({ ratePerMinute: 1 })).toMatchObject({ ratePerMinute: 1, estimatedSeconds: 120 })
  })
})

describe('the audience of a draft', () => {
  const people = async (query: string) => {
    const { id } = await project.create({})
    const { body } = await project.call('GET', `/campaigns/${id}/audience${query}`)
    return [body.total, body.data.map(({ email, reason }: { email: string; reason: string }) => [email.split('@')[0], reason]).sort()]
  }

  test.each([
    ['', 4, ['ada null', 'bob null', 'dan unsubscribed', 'sue suppressed']],
    ['?part=recipients', 2, ['ada null', 'bob null']],
    ['?part=unsubscribed', 1, ['dan unsubscribed']],
    ['?part=suppressed', 1, ['sue suppressed']],
    ['?part=invalid', 0, []],
    ['?part=recipients&search=DA@', 1, ['ada null']],
  ])('lists the contacts behind the number %s', async (query, total, expected) => {
    const [count, rows] = await people(query)
    expect([count, rows.map(([name, reason]: string[]) => `${name} ${reason}`)]).toEqual([total, expected])
  })

  test('is listed in pages, and refuses the cursor of another part', async () => {
    const { id } = await project.create({})
    const read = async (query: string) => project.call('GET', `/campaigns/${id}/audience?limit=3${query}`)
    const first = (await read('')).body
    const rest = (await read(`&cursor=${first.cursor}`)).body
    expect([first.data.length, first.hasMore, rest.data.length, rest.hasMore]).toEqual([3, true, 1, false])
    expect(outcome(await read(`&part=recipients&cursor=${first.cursor}`))).toEqual([400, 'BAD_REQUEST'])
  })
})

test('a test email is marked as one and is in no counts', async () => {
  const { id } = await project.create({ subject: 'Hi {{ plan }}' })
  const answer = await project.act(id, 'test', { email: 'ada@example.com' })
  expect([answer.status, answer.body.success]).toEqual([200, true])
  const email = await eventually(async () => {
    const found = await project.email(answer.body.emailId)
    expect(found.status).toBe('SENT')
    return found
  })
  expect(email).toMatchObject({ test: true, subject: '[TEST] Hi pro', sourceType: 'CAMPAIGN' })
  expect(await project.get(id)).toMatchObject({ status: 'DRAFT', sentCount: 0 })
  expect(await project.recipients(id)).toEqual([])
  expect(outcome(await project.act(id, 'test', { email: 'nobody' }))).toEqual([422, 'VALIDATION_ERROR'])
  expect((await project.act(id, 'test', { email: 'sue@example.com' })).body.success).toBe(false)
})

test('links have their clicks and people, without machines; those without clicks too', async () => {
  const body = '<a href="https://example.com/a">a</a><a href="https://example.com/c?x=1&amp;y">c</a><a href="{{ unsubscribeUrl }}">u</a>'
  const { id } = await project.sent({ body })
  const { data } = (await project.call('GET', `/campaigns/${id}/recipients`)).body
  const click = (recipient: { id: string; contactId: string }, link: string, machine = false) => ({
    projectId: project.id,
    name: 'email.click',
    contactId: recipient.contactId,
    emailId: recipient.id,
    data: { link, machine },
  })
  const [ada, bob] = data
  await transact(sterna.db, async (tx) => {
    await recordEvents(tx, [
      click(ada, 'https://example.com/a'),
      click(ada, 'https://example.com/a'),
      click(bob, 'https://example.com/a'),
      click(bob, 'https://example.com/b'),
      click(ada, 'https://example.com/b', true),
    ])
    await tx
      .updateTable('emails')
      .set({ clicked_at: new Date() })
      .where('project_id', '=', project.id)
      .where('campaign_id', '=', id)
      .execute()
  })
  expect((await project.call('GET', `/campaigns/${id}/links`)).body.data).toEqual([
    { link: 'https://example.com/a', clicks: 3, people: 2 },
    { link: 'https://example.com/b', clicks: 1, people: 1 },
    { link: 'https://example.com/c?x=1&y', clicks: 0, people: 0 },
  ])
  const clicked = async (link: string) =>
    (await project.call('GET', `/campaigns/${id}/recipients?link=${encodeURIComponent(link)}`)).body.data.map(
      (row: { id: string }) => row.id,
    )
  expect((await clicked('https://example.com/a')).sort()).toEqual([ada.id, bob.id].sort())
  expect(await clicked('https://example.com/b')).toEqual([bob.id])
  expect(await clicked('https://example.com/c')).toEqual([])

  const drawn = (await project.call('POST', `/campaigns/${id}/links/preview`)).body
  expect(drawn).toEqual({ frameUrl: expect.stringMatching(/^\/preview\/clicks\//), links: 2 })
  const frame = await sterna.call('GET', drawn.frameUrl)
  expect(frame.headers['content-security-policy']).toBe(
    "sandbox allow-popups allow-popups-to-escape-sandbox; base-uri 'none'; default-src 'none'; img-src http: https: data:; " +
      "style-src 'unsafe-inline'; frame-ancestors 'self'",
  )
  expect([...frame.body.matchAll(/<sterna-label [^>]*>([^<]*)</g)].map(([, text]: string[]) => text)).toEqual(['2 · 100%', '0'])
  const [, path] = /<a href="([^"]*)" target="_blank"/.exec(frame.body)!
  const search = new URL(path!.replaceAll('&amp;', '&'), 'https://x.example').searchParams
  expect((await clicked(search.get('link')!)).length).toBe(2)
  // The policy of this frame is for pages with labels only.
  expect((await sterna.call('GET', drawn.frameUrl.replace('/clicks/', '/page/'))).status).toBe(404)
})
