import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { button, fillAndSubmit, heading, rows, startDashboard, typeShortcut } from './support/dashboard.ts'

const { openProject } = startDashboard()

const PEOPLE = [
  { email: 'ada@example.com', data: { plan: 'pro', seats: 3, country: 'CH' } },
  { email: 'bob@example.com', data: { plan: 'free', seats: 1, country: 'AT' } },
  { email: 'eve@example.com', data: { plan: 'team', seats: 9, country: 'AT' } },
]

async function addLine(page: Page, field: string, value: string) {
  await page.getByPlaceholder('Search fields').fill(field)
  await page
    .getByRole('option', { name: new RegExp(`^${field}`) })
    .first()
    .click()
  if (value) await page.getByLabel(`Value of ${field}`).fill(value)
}

test('a marketer builds a segment, starts a campaign to it from a starter, accepts a warning, sends it and opens the list of recipients, without code', async () => {
  const { page, project } = await openProject()
  for (const data of PEOPLE) await page.context().request.post('/contacts', { data, headers: { 'x-project-id': project.id } })
  await page.goto(`/app/p/${project.id}/segments`)
  await button(page, 'Make your first segment').click()
  await fillAndSubmit(page, { Name: 'Swiss or large' }, 'Continue')
  await button(page, 'Add a line').click()
  await addLine(page, 'Subscribed', '')
  await button(page, 'Add a nested group').click()
  await addLine(page, 'country', 'CH')
  await button(page, 'Field: Choose a field').click()
  await addLine(page, 'seats', '9')
  await page.getByText('2 contacts', { exact: true }).waitFor()
  await button(page, 'Create segment').click()
  await heading(page, 'Swiss or large')

  await typeShortcut(page, 'gm')
  await button(page, 'Write your first campaign').click()
  await page.getByText('Announcement', { exact: true }).click()
  await fillAndSubmit(page, { Name: 'New plans' }, 'Create draft')
  await page.getByLabel('A segment').check()
  await page.getByLabel('Segment', { exact: true }).selectOption('Swiss or large')
  await page.getByText('2 will get it', { exact: true }).waitFor()
  await page.getByLabel('Subject', { exact: true }).fill('Two new plans')
  await button(page, 'Keep the body').click()
  await button(page, 'Send to 2 people').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Some links still lead to example.com').waitFor()
  await dialog.getByLabel('Send it despite this warning').check()
  await dialog.getByRole('button', { name: 'Send to 2 people' }).click()
  await button(page, 'Send now').click()
  await page.getByRole('link', { name: '2 sent' }).click()
  await heading(page, 'Recipients')
  await expect.poll(() => rows(page).count()).toBe(2)
})
