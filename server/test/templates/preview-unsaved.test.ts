import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { transact } from '../../src/db/index.ts'
import { dropOldPreviewPages } from '../../src/templates/preview-pages.ts'
import { outcome } from '../support/answers.ts'
import { useApp } from '../support/app.ts'
import { newSendingProject } from '../support/project.ts'

const sterna = useApp({ withWorker: false, env: { RATE_LIMIT_PER_MINUTE: '0', PUBLIC_URL: 'https://mail.example' } })

let project: Awaited<ReturnType<typeof newSendingProject>>
beforeAll(async () => {
  project = await newSendingProject(sterna)
})

const preview = (body: object) => project.call('POST', '/templates/preview', { subject: 'Hi', body: '<p>Hi</p>', ...body })
const openFrame = (url: string) => sterna.call('GET', url)

test('unsaved content is rendered like a saved template', async () => {
  const content = { subject: 'Hi {{ name ?? "you" }}', body: '<p>{{ name }} {{ plan }}</p>', type: 'MARKETING', fromName: 'Shop' }
  const ada = await project.contacts.create('ada@example.com', { data: { name: 'Ada' } })
  const id = await project.template({ ...content, from: `hello@${project.domain}` })
  const saved = await project.call('POST', `/templates/${id}/preview`, { contactId: ada.id })
  const unsaved = await preview({ ...content, contactId: ada.id })
  expect(unsaved.body).toEqual(saved.body)
  expect([unsaved.body.subject, unsaved.body.missingVariables, unsaved.body.html.includes('Unsubscribe')]).toEqual([
    'Hi Ada',
    ['plan'],
    true,
  ])
})

test('sample values override those of the contact', async () => {
  const bob = await project.contacts.create('bob@example.com', { data: { name: 'Bob' } })
  const { body } = await preview({ body: '{{ name }} {{ email }}', contactId: bob.id, data: { name: 'Rob' }, email: 'rob@example.com' })
  expect(body.html).toBe('Rob rob@example.com')
})

test.each([
  ['invalid syntax', { body: '{{ a' }, 422],
  ['no subject', { subject: '' }, 422],
  ['an unknown contact', { contactId: '0199a000-0000-7000-8000-000000000000' }, 404],
])('%s is refused', async (_, body, status) => {
  expect((await preview(body)).status).toBe(status)
})

test('a disabled project may preview', async () => {
  const disabled = await newSendingProject(sterna)
  await sql`update projects set disabled = true where id = ${disabled.id}`.execute(sterna.db)
  const answer = await disabled.call('POST', '/templates/preview', { subject: 'Hi', body: 'Hi', frame: true })
  expect(outcome(answer)).toEqual([200])
  expect((await openFrame(answer.body.frameUrl)).body).toBe('Hi')
})

test('without a frame nothing is written', async () => {
  const before = await sterna.digest({ except: ['attempts'] })
  expect((await preview({})).body.frameUrl).toBeUndefined()
  expect(await sterna.digest({ except: ['attempts'] })).toBe(before)
})

test('a frame shows the page without credentials, under a policy of its own', async () => {
  const hostile = '<script>alert(1)</script><form action="https://x.example"></form><meta http-equiv="refresh" content="0"><p>€</p>'
  const { body } = await preview({ body: hostile, frame: true })
  const { status, headers, body: page } = await openFrame(body.frameUrl)
  expect([status, page]).toEqual([200, hostile])
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "sandbox; default-src 'none'; img-src http: https: data:; style-src 'unsafe-inline'; frame-ancestors 'self'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'x-frame-options': 'SAMEORIGIN',
  })
  const withoutImages = await openFrame(`${body.frameUrl}?images=off`)
  expect(withoutImages.headers['content-security-policy']).toContain("img-src data:; style-src 'unsafe-inline'")
})

test('an altered, foreign or expired frame is not found', async () => {
  const { body } = await preview({ frame: true })
  const url: string = body.frameUrl
  const other = url.endsWith('A') ? 'B' : 'A'
  const expired = url.replace(/page\/[0-9a-z]+/, `page/${(Date.now() - 1_000).toString(36)}`)
  for (const wrong of [url.slice(0, -1) + other, url.replace('/page/', '/email/'), `${url}A`, '/preview/page/x', expired])
    expect([wrong, (await openFrame(wrong)).status]).toEqual([wrong, 404])
})

test('only the newest pages of a project are kept, and none for long', async () => {
  const busy = await newSendingProject(sterna)
  const pages = async () => (await sql`select 1 from preview_pages where project_id = ${busy.id}`.execute(sterna.db)).rows.length
  await sql`
    insert into preview_pages (project_id, id, html) select ${busy.id}, gen_random_uuid(), 'x' from generate_series(1, 60)
  `.execute(sterna.db)
  await busy.call('POST', '/templates/preview', { subject: 'Hi', body: 'x', frame: true })
  expect(await pages()).toBe(50)
  await sql`update preview_pages set created_at = now() - interval '1 hour' where project_id = ${busy.id}`.execute(sterna.db)
  await transact(sterna.db, (tx) => dropOldPreviewPages(tx, 1_000))
  expect(await pages()).toBe(0)
})
