import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { PHONE } from './support/browser.ts'
import { findPageProblems } from './support/checks.ts'
import { button, fillAndSubmit, heading, rows, startDashboard } from './support/dashboard.ts'
import { countRendersOf } from './support/renders.ts'

const { open, openProject } = startDashboard()

const PEOPLE = [
  { email: 'ada@example.com', subscribed: true, data: { plan: 'pro', seats: 3, country: 'CH' } },
  { email: 'bob@example.com', subscribed: false, data: { plan: 'free', seats: 1, country: 'AT' } },
  { email: 'eve@example.com', subscribed: true, data: { plan: 'team', seats: 9, country: 'CH' } },
]

function requestsOf(page: Page, project: { id: string }) {
  const headers = { 'x-project-id': project.id }
  const { request } = page.context()
  return {
    post: async (path: string, data: object) => (await request.post(path, { data, headers })).json(),
    get: async (path: string) => (await request.get(path, { headers })).json(),
  }
}

/** Chooses the field of the line whose picker has this name. */
async function chooseField(page: Page, line: string, search: string, field: string | RegExp) {
  if (line) await button(page, `Field: ${line}`).click()
  await page.getByPlaceholder('Search fields').fill(search)
  await page.getByRole('option', { name: field }).first().click()
}

test('a segment of three lines with a nested group is built by clicking, saved, and reopened unchanged', async () => {
  const { page, project } = await openProject()
  const { post, get } = requestsOf(page, project)
  for (const person of PEOPLE) await post('/contacts', person)
  await page.goto(`/app/p/${project.id}/segments`)
  await button(page, 'Make your first segment').click()
  await fillAndSubmit(page, { Name: 'Swiss or large' }, 'Continue')
  await heading(page, 'New segment')
  expect(await button(page, 'Create segment').isDisabled()).toBe(true)

  // Adding a line opens its picker.
  await button(page, 'Add a line').click()
  await chooseField(page, '', 'subscr', 'Subscribed')
  await page.getByText('2 contacts', { exact: true }).waitFor()
  await button(page, 'Add a nested group').click()
  await chooseField(page, '', 'country', /^country/)
  await page.getByLabel('Value of country').fill('CH')
  await chooseField(page, 'Choose a field', 'seats', /^seats/)
  await page.getByLabel('Comparison of seats').selectOption('is at least')
  await page.getByLabel('Value of seats').fill('9')
  await page.getByText('is subscribed and (country is “CH” or seats is at least 9)').waitFor()
  await page.getByText('2 contacts', { exact: true }).waitFor()
  await page.getByRole('group', { name: 'How the groups are joined' }).getByRole('button', { name: 'and' }).click()
  await page.getByText('1 contact', { exact: true }).waitFor()
  expect(await findPageProblems(page, 'builder')).toEqual([])
  await button(page, 'Create segment').click()
  await heading(page, 'Swiss or large')
  await expect.poll(() => rows(page).count()).toBe(1)

  const [segment] = await get('/segments')
  const nested = (field: string, operator: string, value: unknown) => ({ filters: [{ field, operator, value }] })
  expect(segment.condition).toEqual({
    logic: 'AND',
    groups: [
      {
        filters: [{ field: 'subscribed', operator: 'equals', value: true }],
        conditions: {
          logic: 'AND',
          groups: [nested('data.country', 'equals', 'CH'), nested('data.seats', 'greaterThanOrEqual', 9)],
        },
      },
    ],
  })

  await page.getByRole('link', { name: 'Condition' }).click()
  await page.getByLabel('Value of seats').waitFor()
  // The same again is no change.
  await page.getByLabel('Comparison of seats').selectOption('is at least')
  await page.getByLabel('Value of seats').fill('10')
  await page.getByLabel('Value of seats').fill('9')
  await page.getByRole('tab', { name: 'JSON' }).click()
  expect(JSON.parse(await page.getByLabel('Condition', { exact: true }).inputValue())).toEqual(segment.condition)
  expect(await button(page, 'Save').isDisabled()).toBe(true)
  await page.getByLabel('Condition', { exact: true }).fill('{ "logic": "AND" ')
  await page.getByText(/This is not JSON/).waitFor()
  await page.getByLabel('Condition', { exact: true }).fill(JSON.stringify(segment.condition))
  await page.getByRole('tab', { name: 'Builder' }).click()

  const phone = await open({ ...PHONE, hasTouch: true, colorScheme: 'dark', storageState: await page.context().storageState() })
  await phone.goto(`/app/p/${project.id}/segments/${segment.id}/settings`)
  await phone.getByLabel('Value of country').waitFor()
  expect(await findPageProblems(phone, 'builder on a phone')).toEqual([])
  await phone.getByRole('button', { name: 'Remove country is “CH”' }).tap()
  // The focus goes to the neighbour.
  await expect.poll(() => phone.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Field: seats')
  await phone.getByText('is subscribed and seats is at least 9').waitFor()
})

test('a segment is changed as JSON, explained for one person, filled by paste, and deleted', async () => {
  const { page, project } = await openProject()
  const { post, get } = requestsOf(page, project)
  for (const person of PEOPLE) await post('/contacts', person)
  await page.goto(`/app/p/${project.id}/segments`)
  await button(page, 'Make your first segment').click()
  await page.getByLabel('Begin with').selectOption('unsubscribed')
  await fillAndSubmit(page, { Name: 'Gone' }, 'Continue')
  await page.getByText('1 contact', { exact: true }).waitFor()
  await page.getByLabel('Value of Subscribed').selectOption('yes')
  await page.getByText('2 contacts', { exact: true }).waitFor()
  await button(page, 'Create segment').click()
  await heading(page, 'Gone')
  await expect.poll(() => rows(page).count()).toBe(2)
  await page.getByRole('link', { name: 'Condition' }).click()
  await page.getByLabel('Track entries and exits').check()
  await button(page, 'Save').click()
  await page.getByText(/^Saved \d/).waitFor()
  await page.getByRole('link', { name: 'Check someone' }).click()
  await button(page, 'bob@example.com').click()
  await page.getByText('is not in Gone.').waitFor()
  await page.getByText('Actual value: false').waitFor()
  const segment = /segments\/([0-9a-f-]+)/.exec(page.url())![1]!
  await expect.poll(async () => (await get(`/segments/${segment}/history`)).total).toBe(2)
  await page.getByRole('link', { name: 'History' }).click()
  await expect.poll(() => rows(page).count()).toBe(2)

  const list = await post('/segments', { name: 'Fair', type: 'STATIC' })
  await page.goto(`/app/p/${project.id}/segments/${list.id}`)
  await button(page, 'Add the first members').click()
  await page.getByLabel('Addresses', { exact: true }).fill('ada@example.com, new@example.com')
  await button(page, 'Add 2 addresses').click()
  await page.getByText('1 address without a contact: new@example.com').waitFor()
  await page.getByLabel('Create contacts for unknown addresses').check()
  await button(page, 'Add 2 addresses').click()
  await expect.poll(() => rows(page).count()).toBe(2)
  await page.getByLabel('Select new@example.com').check()
  await button(page, 'Remove 1 member').click()
  await expect.poll(() => rows(page).count()).toBe(1)
  await button(page, 'Undo').first().click()
  await expect.poll(() => rows(page).count()).toBe(2)
  await button(page, 'More actions').click()
  await page.getByRole('menuitem', { name: 'Delete…' }).click()
  await button(page, 'Delete segment').click()
  await heading(page, 'Segments')
  await page.getByRole('link', { name: 'Gone' }).waitFor()
})

test('a key in one of fifty lines renders no other line again', async () => {
  const { page, project } = await openProject()
  const filters = Array.from({ length: 50 }, (_, n) => ({ field: 'data.plan', operator: 'contains', value: `v${n}` }))
  const condition = JSON.stringify({ logic: 'OR', groups: filters.map((filter) => ({ filters: [filter] })) })
  const lines = await countRendersOf(page, 'filter', 'path', 'index')
  await page.goto(`/app/p/${project.id}/segments/new?condition=${encodeURIComponent(condition)}`)
  const value = page.getByLabel('Value of plan').nth(25)
  await value.focus()
  await page.getByText('0 contacts', { exact: true }).waitFor()
  // The counter sees renders: otherwise few of them would mean nothing.
  expect(await lines.take()).toBeGreaterThanOrEqual(50)
  await value.press('End')
  for (const letter of 'abc') {
    await Promise.all([page.waitForResponse(/segments\/preview/), value.press(letter)])
    await expect.poll(() => page.locator('aside[aria-busy=true]').count()).toBe(0)
    const renders = await lines.take()
    expect([renders > 0, renders <= 2]).toEqual([true, true])
  }
})

test('contacts are filtered by conditions, one of them is checked, and the filter becomes a segment', async () => {
  const { page, project } = await openProject()
  const { post, get } = requestsOf(page, project)
  for (const person of PEOPLE) await post('/contacts', person)
  await page.goto(`/app/p/${project.id}/contacts`)
  await button(page, 'Filter').click()
  await button(page, 'Conditions').click()
  await button(page, 'Add a line').click()
  await chooseField(page, '', 'seats', /^seats/)
  await page.getByLabel('Comparison of seats').selectOption('is at least')
  await page.getByLabel('Value of seats').fill('3')
  await page.getByText('2 contacts', { exact: true }).waitFor()
  await button(page, 'Contact: Choose a contact…').click()
  await page.getByRole('button', { name: 'bob@example.com' }).click()
  await page.getByText('Does not match.').waitFor()
  await page.getByText('Actual value: 1').waitFor()
  expect(await findPageProblems(page, 'conditions of the list')).toEqual([])
  await button(page, 'Show these contacts').click()
  await expect.poll(() => rows(page).count()).toBe(2)
  await button(page, 'Save as segment…').click()
  await fillAndSubmit(page, { Name: 'Large' }, 'Save segment')
  await page.getByText('The segment Large was saved', { exact: true }).waitFor()
  const [segment] = await get('/segments')
  expect(segment.condition.groups).toEqual([{ filters: [{ field: 'data.seats', operator: 'greaterThanOrEqual', value: 3 }] }])
})
