import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { findPageProblems } from './support/checks.ts'
import { button, fillAndSubmit, heading, rows, startDashboard } from './support/dashboard.ts'
import { clickInMessage } from './support/read-email.ts'

const { openProject, failEmail, ageEmails } = startDashboard()

type Project = { id: string; secret: string }

/** A project with a domain and contacts; `people` maps names to whether they are subscribed. */
async function withPeople(page: Page, project: Project, people: Record<string, boolean>) {
  const headers = { authorization: `Bearer ${project.secret}` }
  const { request } = page.context()
  const domain = `news-${project.id.slice(-6)}.example.com`
  await request.post('/domains', { data: { domain }, headers })
  await Promise.all(
    Object.entries(people).map(([name, subscribed]) =>
      request.post('/contacts', { data: { email: `${name}@example.com`, subscribed }, headers }),
    ),
  )
  const post = async (path: string, data: object) => (await request.post(path, { data, headers })).json()
  return { domain, post, get: async (path: string) => (await request.get(path, { headers })).json() }
}

/** The number on screen, and the rows of the list that it opens. */
async function expectToAddUp(page: Page, link: string | RegExp, expected: number) {
  await page
    .getByRole('link', { name: link, exact: typeof link === 'string' })
    .first()
    .click()
  await page.getByRole('main').getByRole('heading', { level: 1 }).first().waitFor()
  if (expected === 0) await page.getByText('Nothing matches these filters').waitFor()
  else await expect.poll(() => rows(page).count()).toBe(expected)
}

test('a campaign is composed, checked, sent, watched, resent to the failed, and its clickers become a segment', async () => {
  const { page, project } = await openProject()
  const { domain, post, get } = await withPeople(page, project, { ada: true, bob: true, eve: true, dan: false, sue: true })
  await post('/suppressions', { address: 'sue@example.com' })

  await page.goto(`/app/p/${project.id}/campaigns`)
  await heading(page, 'No campaigns yet')
  await button(page, 'Write your first campaign').click()
  await page.getByText('Newsletter', { exact: true }).click()
  await fillAndSubmit(page, { Name: 'May news', 'From address': `news@${domain}` }, 'Create draft')
  await heading(page, 'May news')
  expect(await button(page, 'Send').isDisabled()).toBe(true)
  expect(await page.getByLabel('Not complete').count()).toBe(3)
  await page.getByText('No audience chosen yet.').waitFor()
  await page.getByLabel('Everyone').check()
  await page.getByText('3 will get it', { exact: true }).waitFor()
  await page.getByLabel('Subject', { exact: true }).fill('What is new, {{ company }}')
  expect(await button(page, 'Send to 3 people').isDisabled()).toBe(true)
  await button(page, 'Keep the body').click()
  await page.getByLabel('Preview text').fill('In two minutes')
  await page.getByText(/^Saved \d/).waitFor()
  await page.getByText(`news@${domain} may send: its domain is verified`).waitFor()
  expect(await findPageProblems(page, 'composer')).toEqual([])

  const draft = page.url()
  for (const [link, count] of [
    ['5 match', 5],
    ['1 unsubscribed', 1],
    ['1 suppressed', 1],
    ['3 will get it', 3],
  ] as const) {
    await expectToAddUp(page, link, count)
    await page.goBack()
    await heading(page, 'May news')
  }
  expect(page.url()).toBe(draft)

  const dialog = page.getByRole('dialog')
  const confirm = dialog.getByRole('button', { name: 'Send to 3 people' })
  await button(page, 'Send to 3 people').click()
  await dialog.getByText('What is new, {{ company }}').waitFor()
  await dialog.getByText('{{ company }} is empty for 3 people').waitFor()
  expect(await confirm.isDisabled()).toBe(true)
  await dialog.getByLabel('Send it despite these warnings').check()
  await confirm.click()
  await page.getByText(/Nothing has been sent yet/).waitFor()
  await button(page, 'Undo').click()
  await button(page, 'Send to 3 people').click()
  await dialog.getByLabel('Send it despite these warnings').check()
  await confirm.click()
  await button(page, 'Send now').click()
  await page.getByRole('link', { name: '3 sent' }).waitFor()
  await page.getByText('Sent', { exact: true }).first().waitFor()
  const id = /campaigns\/([0-9a-f-]+)/.exec(page.url())![1]!
  await expectToAddUp(page, '3 sent', 3)
  await page.getByRole('link', { name: 'Results' }).click()
  await expectToAddUp(page, '2 were left out', 2)
  await page.getByRole('link', { name: 'Results' }).click()

  const { data: messages } = await get('/sandbox/messages')
  const message = messages.find(({ to }: { to: string }) => to === 'ada@example.com')
  await ageEmails(project.id, id)
  await clickInMessage(page, message.id, { authorization: `Bearer ${project.secret}` })

  await failEmail(project.id, id, 'eve@example.com')
  const counted = (counts: object) => expect.poll(() => get(`/campaigns/${id}`)).toMatchObject(counts)
  await counted({ failedCount: 1 })
  await page.reload()
  await expectToAddUp(page, '1 failed', 1)
  await page.getByRole('link', { name: 'Failed: Temporary failure 1' }).click()
  await expect.poll(() => rows(page).count()).toBe(1)
  await button(page, 'Export as CSV').click()
  await button(page, 'Download the file').waitFor()
  await button(page, 'Resend to the 1 that failed').click()
  await page.getByRole('dialog').getByText('Temporary failure').waitFor()
  await button(page, 'Resend to 1 person').click()
  await page.getByText('Queued again for 1 person').first().waitFor()
  await page.getByRole('link', { name: 'Results' }).click()
  await page.getByRole('link', { name: '3 sent' }).waitFor()

  await counted({ clickedCount: 1, status: 'SENT' })
  await page.reload()
  const opened = page.context().waitForEvent('page')
  await page.frameLocator('iframe[title="Clicks on May news"]').getByText('1 · 100%', { exact: true }).click()
  const people = await opened
  await expect.poll(() => rows(people).count()).toBe(1)
  await people.close()
  await page.getByRole('link', { name: '1 person that clicked https://example.com/news' }).click()
  await expect.poll(() => rows(page).count()).toBe(1)
  await page.getByRole('link', { name: 'Results' }).click()
  await expectToAddUp(page, 'Clicked: 1 recipient', 1)
  await page.getByRole('link', { name: 'Results' }).click()
  await button(page, 'Copy as segment…').click()
  await fillAndSubmit(page, { 'Name of the segment': 'Clicked in May' }, 'Copy as segment')
  await heading(page, 'Clicked in May')
  await page.getByText('1 added').waitFor()
  await page.getByRole('link', { name: 'ada@example.com' }).waitFor()

  const day = (await get(`/campaigns/${id}`)).sentAt.slice(0, 10)
  await page.goto(`/app/p/${project.id}/campaigns?date=${day}..${day}`)
  await page.getByText(`When: ${day}`).waitFor()
  await expectToAddUp(page, '3 sent', 3)
  await page.goBack()
  await expectToAddUp(page, '1 clicked', 1)
  await page.goto(`/app/p/${project.id}/campaigns?date=..2026-01-01`)
  await page.getByText('Nothing matches these filters').waitFor()
})

test('a running campaign is paused, resumed and cancelled, and says why it waits', async () => {
  const { page, project } = await openProject()
  const { domain, post } = await withPeople(page, project, { ada: true, bob: true, eve: true })
  const body = { name: 'Slow news', subject: 'S', body: '<p>B</p>', from: `news@${domain}`, audienceType: 'ALL', ratePerMinute: 1 }
  const { data } = await post('/campaigns', body)
  await post(`/campaigns/${data.id}/send`, {})
  // The node sends, so the doctor must find a worker. The first account is an operator.
  const { checks } = await (await page.context().request.get('/doctor')).json()
  expect(checks).toContainEqual(expect.objectContaining({ name: 'workers', verdict: 'ok' }))
  await page.goto(`/app/p/${project.id}/campaigns/${data.id}`)
  await page.getByRole('link', { name: '1 sent' }).waitFor()
  await page.getByRole('link', { name: '2 waiting' }).waitFor()
  await page
    .getByText(/a minute/)
    .first()
    .waitFor()
  await button(page, 'Pause').click()
  await page.getByText('Paused by a member of the team. No recipient gets it twice.').waitFor()
  await page.getByRole('navigation', { name: 'Project' }).getByText('1 paused').waitFor()
  expect(await findPageProblems(page, 'paused campaign')).toEqual([])
  // Paused by a person is neither "sending" on the overview nor "waiting" for the doctor.
  const bulk = async () => (await (await page.context().request.get('/doctor')).json()).queues[1]
  await expect.poll(async () => (await bulk()).paused).toBeGreaterThanOrEqual(2)
  await page.goto(`/app/p/${project.id}`)
  await page.getByRole('listitem').filter({ hasText: 'Slow news' }).getByText('Paused', { exact: true }).waitFor()
  await page.goBack()
  await button(page, 'Resume').first().click()
  await button(page, 'Pause').waitFor()
  await expectToAddUp(page, '2 waiting', 2)
  await button(page, 'More actions').click()
  await page.getByRole('menuitem', { name: 'Cancel…' }).click()
  await page.getByText('1 person has it already. Sending stops now: 2 people will not get it.').waitFor()
  await button(page, 'Cancel campaign').click()
  await page.getByRole('link', { name: '2 skipped' }).click()
  await page.getByRole('link', { name: 'Skipped: Campaign cancelled 2' }).waitFor()
  await expect.poll(() => rows(page).count()).toBe(2)
})
