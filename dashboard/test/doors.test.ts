import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { button, fillAndSubmit, heading, rows, startDashboard, untilClosed } from './support/dashboard.ts'

const { openProject } = startDashboard()

test('a key is made for a purpose, copied once, rotated and revoked, and the audit trail says so', async () => {
  const { page, project } = await openProject()
  const answer = async (key: string) =>
    (await page.context().request.get('/contacts', { headers: { authorization: `Bearer ${key}` }, failOnStatusCode: false })).status()
  /** The key in the dialog that shows it once. */
  async function copyKey() {
    const dialog = page.getByRole('dialog')
    await dialog.getByText('It is shown only once.').waitFor()
    const key = await dialog.getByRole('textbox', { name: 'New key' }).inputValue()
    await button(page, 'Close').click()
    await untilClosed(page, 'dialog')
    return key
  }

  await page.goto(`/app/p/${project.id}/settings/keys`)
  await button(page, 'Create a key').click()
  await page.getByRole('radio', { name: 'Read only' }).check()
  await fillAndSubmit(page, { Name: 'Reports' }, 'Create key')
  const first = await copyKey()
  expect(await answer(first)).toBe(200)
  await page.getByText('Reports').first().waitFor()

  await button(page, 'Rotate Reports').click()
  await button(page, 'Rotate').click()
  const second = await copyKey()
  expect([await answer(first), await answer(second)]).toEqual([200, 200])
  await button(page, 'Revoke Reports').click()
  await button(page, 'Revoke').click()
  await page.getByText('None yet.').waitFor()
  expect([await answer(first), await answer(second)]).toEqual([401, 401])

  await page.goto(`/app/p/${project.id}/settings/audit`)
  await expect.poll(() => rows(page).count()).toBe(4)
  expect((await rows(page).allInnerTexts()).every((text) => text.includes('owner@example.com'))).toBe(true)
  await button(page, 'Filter').click()
  await button(page, 'What').click()
  await button(page, 'Keys').click()
  await expect.poll(() => rows(page).count()).toBe(3)
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'CSV' }).click()
  expect((await download).suggestedFilename()).toMatch(/\.csv$/)
})

test('an endpoint is added and tested, is told what happens, and is told again', async () => {
  const { page, project } = await openProject()
  const types: string[] = []
  const server = createServer((req, res) => {
    let text = ''
    req.on('data', (chunk) => {
      text += chunk
    })
    req.on('end', () => {
      types.push(JSON.parse(text).type)
      res.end()
    })
  }).listen(0, '127.0.0.2')
  await once(server, 'listening')
  try {
    await page.goto(`/app/p/${project.id}/webhooks`)
    await heading(page, 'No webhook endpoint yet')
    await button(page, 'Add endpoint').click()
    await page.getByRole('radio', { name: 'Everything' }).check()
    const url = `http://127.0.0.2:${(server.address() as AddressInfo).port}/in`
    await page.getByLabel('URL').fill(url)
    await page.getByRole('dialog').getByRole('button', { name: 'Add endpoint' }).click()
    await page.getByText('Nothing to tell yet').waitFor()
    await button(page, 'Send a test').first().click()
    await page
      .getByText(/It answered with status 200/)
      .first()
      .waitFor()

    const headers = { 'x-project-id': project.id }
    await page.context().request.post('/events/track', { data: { email: 'ada@example.com', event: 'order placed' }, headers })
    await button(page, 'event.order placed').click()
    await page.getByText('"email": "ada@example.com"').waitFor()
    await page.getByText('Status 200', { exact: true }).waitFor()
    await button(page, 'Replay').click()
    await expect.poll(() => types.toSorted()).toEqual(['contact.created', 'event.order placed', 'event.order placed', 'test'])
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('a scheduled email is in the timeline of its contact, and is moved', async () => {
  const { page, project } = await openProject()
  const headers = { 'x-project-id': project.id }
  const { request } = page.context()
  await request.post('/domains', { data: { domain: 'later.example.com' }, headers })
  const sendAt = new Date(Date.now() + 3 * 86_400_000).toISOString()
  const message = { to: 'ada@example.com', from: 'hello@later.example.com', subject: 'See you', body: '<p>Hi</p>', sendAt }
  const sent = await request.post('/v1/send', { data: message, headers: { authorization: `Bearer ${project.secret}` } })
  const { contact, email } = (await sent.json()).data.emails[0]
  await page.goto(`/app/p/${project.id}/contacts/${contact.id}`)
  const scheduled = page.getByRole('region', { name: 'Scheduled' })
  await scheduled.getByText('See you').waitFor()
  await scheduled.getByRole('link', { name: 'Email scheduled' }).click()
  await page.waitForURL(new RegExp(email))
  await button(page, 'Move…').click()
  await page.getByLabel('Time zone').selectOption('UTC')
  const day = new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 10)
  await fillAndSubmit(page, { 'Date and time': `${day}T09:30` }, 'Move the email')
  await untilClosed(page, 'dialog')
  const moved = await (await request.get(`/emails/${email}`, { headers })).json()
  expect(moved.sendAt).toBe(`${day}T09:30:00.000Z`)
})
