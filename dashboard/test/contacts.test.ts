import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PHONE } from './support/browser.ts'
import { findPageProblems } from './support/checks.ts'
import { button, fillAndSubmit, heading, rows, startDashboard, untilClosed } from './support/dashboard.ts'

const { open, openProject, takeErrors } = startDashboard()

test('contacts are added, found, selected, unsubscribed as a job, exported, saved as a segment, changed and deleted', async () => {
  const { page, project } = await openProject()
  await page.goto(`/app/p/${project.id}/contacts`)
  await heading(page, 'Nobody here yet')
  await button(page, 'Add your first contacts').click()
  const addresses = Array.from({ length: 30 }, (_, index) => `person${index}@example.com`)
  await fillAndSubmit(page, { Addresses: addresses.join('\n') }, 'Add 30 contacts')
  await page.getByText('30 created').waitFor()
  await page.reload()
  await page.getByText('30 created').waitFor()
  await button(page, 'Dismiss Add 30 contacts').click()
  await page.getByText('30 created').waitFor({ state: 'detached' })

  await page.getByLabel('Search by name or address').fill('person1')
  await page.waitForURL(/q=person1/)
  await page.getByRole('link', { name: 'person19@example.com' }).waitFor()
  await expect.poll(() => rows(page).count()).toBe(11)
  await page.getByLabel('Search by name or address').fill('')
  await page.waitForURL((url) => !url.search.includes('q='))
  await expect.poll(() => rows(page).count()).toBe(25)

  await page.getByLabel('Select this page').check()
  await page.getByText('25 contacts selected').waitFor()
  await page.getByRole('button', { name: 'Select all 30 that match' }).click()
  await page.getByLabel('Select person29@example.com').uncheck()
  await page.getByText('29 contacts selected').waitFor()
  await button(page, 'Unsubscribe').click()
  await page.getByText('29 changed').waitFor()
  await button(page, 'Filter').click()
  await button(page, 'Subscription').click()
  await button(page, 'Subscribed').click()
  await page.getByRole('link', { name: 'person29@example.com' }).waitFor()
  await expect.poll(() => rows(page).count()).toBe(1)

  await button(page, 'Export as CSV').click()
  const download = page.waitForEvent('download')
  await button(page, 'Download the file').click()
  const exported = readFileSync(await (await download).path(), 'utf8')
  expect(
    exported
      .trim()
      .split('\r\n')
      .map((row) => row.split(',')[0]),
  ).toEqual(['"email"', '"person29@example.com"'])
  await button(page, 'Dismiss Export 1 contact').click()
  await button(page, 'Save as segment…').click()
  await fillAndSubmit(page, { Name: 'Still here' }, 'Save segment')
  await page.getByText('Segment: Still here').waitFor()
  await expect.poll(() => rows(page).count()).toBe(1)

  await untilClosed(page, 'dialog')
  await page.keyboard.press('j')
  await page.keyboard.press('Space')
  await page.getByRole('complementary', { name: 'person29@example.com' }).waitFor()
  expect(page.url()).toContain('peek=')
  await page.keyboard.press('Escape')
  await page.getByRole('complementary', { name: 'person29@example.com' }).waitFor({ state: 'detached' })
  await page.keyboard.press('Enter')
  await heading(page, 'person29@example.com')

  await button(page, 'Add a field').click()
  await fillAndSubmit(page, { 'Name of the field': 'note', Value: '<img src=x onerror=alert(1)>' }, 'Add field')
  await page.getByText('<img src=x onerror=alert(1)>', { exact: true }).waitFor()
  await button(page, 'Remove note').click()
  await button(page, 'Undo').first().click()
  await page.getByText('<img src=x onerror=alert(1)>', { exact: true }).waitFor()

  await button(page, 'More actions').click()
  await page.getByRole('menuitem', { name: 'Delete…' }).click()
  const deleted = /contacts\/([0-9a-f-]+)/.exec(page.url())![1]!
  await button(page, 'Delete contact').click()
  await heading(page, 'Contacts')
  // The timeline is read every few seconds, perhaps a moment too late.
  expect(takeErrors().filter((error) => !error.startsWith(`404 GET /contacts/${deleted}`))).toEqual([])
  await page.getByRole('link', { name: 'Fields' }).click()
  await button(page, /^note/).click()
  await button(page, 'Delete field…').click()
  await button(page, 'Delete field').click()
  await page.getByText('No fields yet').waitFor()
})

test('a file above 5 MB is imported in parts, and its failed rows have the numbers that they have in the file', async () => {
  const { page, project } = await openProject()
  const rows = Array.from({ length: 90 }, (_, n) => `p${n}@parts.example,${'x'.repeat(60_000)}`)
  const csv = Buffer.from(['email,note', ...rows, 'no address,y'].join('\n'))
  await page.goto(`/app/p/${project.id}/contacts/import`)
  await page.getByLabel('Choose a file').setInputFiles({ name: 'large.csv', mimeType: 'text/csv', buffer: csv })
  await page.getByText('sent in 2 parts').waitFor()
  await page.getByLabel('note becomes').selectOption('Skip it')
  await button(page, 'Check the file').click()
  await page.getByRole('row', { name: /^92 no address/ }).waitFor()
  await button(page, 'Import 90 rows').click()
  await page.getByRole('row', { name: /^92 no address/ }).waitFor()
})

test('a CSV is imported into a segment, runs on in another tab, and its failed rows are a file', async () => {
  const { page, project } = await openProject()
  const headers = { 'x-project-id': project.id }
  await page.context().request.post('/contacts', { data: { email: 'ada@example.com', data: { seats: 3 } }, headers })
  await page.context().request.post('/segments', { data: { name: 'Fair', type: 'STATIC' }, headers })
  await page.goto(`/app/p/${project.id}/contacts/import`)
  await page.getByLabel('Or paste rows').fill('ada@example.com,many,no\ngrace@gmial.com,4,yes\nada@example.com,5,no')
  await button(page, 'Use these rows').click()
  await page.getByText('The first row is not a header').waitFor()
  await page.getByLabel('column 2 becomes').selectOption('Field seats')
  await page.getByText('The field holds numbers; here is “many”.').waitFor()
  await page.getByLabel('column 3 becomes').selectOption('The address')
  await page.getByText('Only one column can hold the addresses.').waitFor()
  expect(await button(page, 'Check the file').isDisabled()).toBe(true)
  await page.getByLabel('column 3 becomes').selectOption('Subscribed: yes or no')
  await page.getByLabel('Add everyone to a segment').selectOption('Fair')
  await button(page, 'Check the file').click()
  await page.getByText('Perhaps grace@gmail.com').waitFor()
  await page.getByText('An earlier row has this address').waitFor()
  await button(page, 'Choose another').click()

  const rows = [
    'email,subscribed',
    'ada@example.com,perhaps',
    'alan@example.com,no',
    ...Array.from({ length: 5 }, (_, n) => `p${n}@example.com,`),
  ]
  await page.getByLabel('Choose a file').setInputFiles({ name: 'fair.csv', mimeType: 'text/csv', buffer: Buffer.from(rows.join('\n')) })
  await page.getByLabel('Add everyone to a segment').selectOption('Fair')
  await button(page, 'Check the file').click()
  await button(page, 'Import 6 rows').click()
  await heading(page, 'Imported')
  const other = await page.context().newPage()
  await other.goto(`/app/p/${project.id}/contacts`)
  await other.getByRole('region', { name: 'Jobs' }).getByText('6 created, 1 failed').waitFor()
  await other.close()

  const download = page.waitForEvent('download')
  await button(page, 'Download').click()
  expect(readFileSync(await (await download).path(), 'utf8')).toContain('2,"ada@example.com",')
  await page.getByRole('link', { name: 'See the contacts' }).click()
  await page.getByText('Segment: Fair').waitFor()
  await page.getByRole('link', { name: 'alan@example.com' }).waitFor()
})

test('a contact unsubscribes on a phone, and the dashboard says how', async () => {
  const { page, project } = await openProject()
  const { request } = page.context()
  const headers = { authorization: `Bearer ${project.secret}` }
  const post = async (path: string, data: object) => (await request.post(path, { data, headers })).json()
  await post('/domains', { domain: 'news.example.com' })
  const template = await post('/templates', {
    name: 'News',
    subject: 'News',
    body: '<p>News</p>',
    type: 'MARKETING',
    from: 'news@news.example.com',
  })
  const sent = await post('/v1/send', { to: 'reader@example.com', template: template.id, subscribed: true })
  const { email, contact } = sent.data.emails[0] as { email: string; contact: { id: string } }
  const preview = await (await request.get(`/emails/${email}/preview`, { headers })).json()

  const phone = await open({ ...PHONE, hasTouch: true })
  await phone.goto(/href="([^"]*\/unsubscribe\/[^"]+)"/.exec(preview.html)![1]!)
  expect(await findPageProblems(phone, 'unsubscribe')).toEqual([])
  await phone.getByRole('button', { name: 'Unsubscribe' }).tap()
  await heading(phone, 'You are unsubscribed')
  expect(await findPageProblems(phone, 'unsubscribed')).toEqual([])

  await page.goto(`/app/p/${project.id}/contacts/${contact.id}`)
  await page.getByRole('definition').filter({ hasText: 'Unsubscribed' }).waitFor()
  await page.getByRole('region', { name: 'Timeline' }).getByText('Unsubscribed', { exact: true }).waitFor()
})
