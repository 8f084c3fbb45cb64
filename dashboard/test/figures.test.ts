import { expect, test } from 'vitest'
import { findPageProblems } from './support/checks.ts'
import { button, fillAndSubmit, heading, rows, startDashboard, typeShortcut } from './support/dashboard.ts'

const { openProject, takeErrors, countEmails, whileMetered } = startDashboard()

test('a cap is set, refuses a campaign, and is raised; rates, figures and activity are shown', async () => {
  const { page, project } = await openProject()
  const { request } = page.context()
  const headers = { authorization: `Bearer ${project.secret}` }
  await request.post('/domains', { data: { domain: 'cap.example.com' }, headers })
  const data = { to: 'bounce@example.com', subject: 'Capped', body: '<p>Hello</p>', from: 'hello@cap.example.com' }
  await request.post('/v1/send', { data, headers })
  await request.post('/contacts', { data: { email: 'ada@example.com' }, headers })
  const news = { name: 'Capped news', subject: 'News', body: '<p>B</p>', from: 'hello@cap.example.com', audienceType: 'ALL' }
  const { data: campaign } = await (await request.post('/campaigns', { data: news, headers })).json()

  await page.goto(`/app/p/${project.id}/settings/billing`)
  await button(page, 'Set a cap… for campaigns').click()
  await page.getByLabel('Emails per period').fill('none')
  expect(await button(page, 'Save the cap').isDisabled()).toBe(true)
  await fillAndSubmit(page, { 'Emails per period': '10' }, 'Save the cap')
  await page.getByText('of 10 (0%)').waitFor()
  await countEmails(project.id, 'campaigns', 10)
  await typeShortcut(page, 'go')
  await page.getByText('The cap of campaigns is reached.').waitFor()

  await page.goto(`/app/p/${project.id}/campaigns/${campaign.id}`)
  await page.getByLabel('Everyone').check()
  const send = button(page, 'Send to 1 person')
  await send.click()
  const dialog = page.getByRole('dialog')
  await whileMetered(async () => {
    await dialog.getByRole('button', { name: 'Send to 1 person' }).click()
    await dialog.getByText('The limit of emails of campaigns in this period is reached.').waitFor()
  })
  expect(takeErrors()).toEqual([`402 POST /campaigns/${campaign.id}/send`])
  await dialog.getByRole('link', { name: 'Raise the cap' }).click()
  await page.getByText('Reached. Campaigns do not start; scheduled ones pause.').waitFor()
  expect(await findPageProblems(page, 'a cap that is reached')).toEqual([])
  await button(page, 'Raise the cap… for campaigns').click()
  await fillAndSubmit(page, { 'Emails per period': '1,000' }, 'Save the cap')
  await page.getByText('of 1,000 (1%)').waitFor()
  await page.getByText('Reached.').waitFor({ state: 'detached' })
  await page.goBack()
  await send.click()
  await dialog.getByRole('button', { name: 'Send to 1 person' }).click()
  await button(page, 'Send now').click()
  await page.getByRole('link', { name: '1 sent' }).waitFor()
  await page.goto(`/app/p/${project.id}/settings/billing`)

  await page.getByRole('link', { name: 'Security' }).click()
  await page.getByText('All rates are healthy.').waitFor()
  await page.getByText('This project was never stopped.').waitFor()

  await typeShortcut(page, 'ga')
  await heading(page, 'Activity')
  await button(page, 'Filter').click()
  await button(page, 'Kind').click()
  await page.getByLabel('Email bounced').check()
  await button(page, 'Apply').click()
  await page.waitForURL(/kind=email\.bounced/)
  await expect.poll(() => rows(page).count()).toBe(1)
  await button(page, 'Email bounced').click()
  await page.getByRole('link', { name: 'Open it', exact: true }).click()
  await heading(page, 'Capped')

  await typeShortcut(page, 'gn')
  await heading(page, 'Analytics')
  await button(page, '7 days').click()
  await page.waitForURL(/days=7/)
  await page.getByRole('tab', { name: 'Deliverability' }).click()
  // Figures are counted a few seconds later, and a page caches its figures for a while.
  const figures = async () => (await (await request.get('/analytics/summary', { headers })).json()).current
  await expect.poll(figures).toMatchObject({ emails: 2, bounces: 1 })
  await page.reload()
  await page.getByText('1 of all sent or refused').waitFor()
  await page.getByRole('link', { name: /bounced, open the list/ }).click()
  await page.waitForURL(/fact=bounced/)
  await expect.poll(() => rows(page).count()).toBe(1)
  await page.goBack()
  await page.getByRole('tab', { name: 'Overview' }).click()
  for (const [link, count] of [
    ['2 sent, open the list', 2],
    [/opened by people, open the list/, 0],
  ] as const) {
    await page.getByRole('link', { name: link }).click()
    if (count === 0) await heading(page, 'Nothing matches these filters')
    else await expect.poll(() => rows(page).count()).toBe(count)
    await page.goBack()
  }
})
