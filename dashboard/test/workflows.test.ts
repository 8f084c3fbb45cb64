import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { findPageProblems } from './support/checks.ts'
import { button, fillAndSubmit, heading, OWNER, rows, startDashboard, typeShortcut } from './support/dashboard.ts'

const { openProject: openAnyProject, takeErrors } = startDashboard()

/** With the steps as a list, which phones and screen readers get; workflow-canvas.test.ts has the canvas. */
async function openProject() {
  const { page, project } = await openAnyProject()
  await page.goto(`/app/p/${project.id}`)
  await page.evaluate(() => localStorage.setItem('sterna.workflow-view', 'list'))
  return { page, project }
}
afterAll(async () => {
  const { page } = await openAnyProject()
  await page.evaluate(() => localStorage.removeItem('sterna.workflow-view'))
})

/** Requests to the address get no answer until the function that it returns is called. */
async function holdRequests(page: Page, url: string) {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route(url, async (route) => {
    await released
    await route.continue()
  })
  return release
}

test('a workflow is built, tried, turned on, entered by an event, followed, cancelled and explained', async () => {
  const { page, project } = await openProject()
  const { request } = page.context()
  const headers = { 'x-project-id': project.id }
  await request.post('/domains', { data: { domain: 'flow.example.com' }, headers })
  const mail = {
    name: 'Hello',
    subject: 'Hello {{ plan ?? "you" }}',
    body: '<p>Hello</p>',
    type: 'TRANSACTIONAL',
    from: 'hello@flow.example.com',
  }
  await request.post('/templates', { data: mail, headers })
  await request.post('/contacts', { data: { email: 'ada@example.com', data: { plan: 'pro' } }, headers })
  await page.goto(`/app/p/${project.id}/workflows`)
  await button(page, 'Build your first workflow').click()
  await fillAndSubmit(page, { Name: 'Welcome', 'Starts with the event': 'signup' }, 'Create workflow')
  await heading(page, 'Welcome')

  const add = async (after: string, kind: string) => {
    await button(page, `Add a step after ${after}`).click()
    await page.getByRole('menuitem', { name: kind }).click()
  }
  await add('Trigger', 'Send an email')
  await page.getByText('Choose an email, or write one.').first().waitFor()
  expect(await button(page, 'Save').isDisabled()).toBe(true)
  await button(page, 'Template: Choose a template').click()
  await page.getByPlaceholder('Search templates').fill('hel')
  const release = await holdRequests(page, '**/templates/*')
  await page.getByRole('option', { name: /^Hello/ }).click()
  // A template that is loaded while a menu is open below it does not move the menu.
  await button(page, 'Add a step after Send an email').click()
  const menuItem = page.getByRole('menuitem', { name: 'Wait some time' })
  await menuItem.waitFor()
  release()
  await page.getByTitle('Preview of Hello').waitFor({ state: 'attached' })
  await menuItem.click()
  await page.getByLabel('Wait', { exact: true }).fill('2')
  await add('Wait some time', 'Branch')
  await button(page, 'Field: Subscribed').click()
  await page.getByPlaceholder('Search fields').fill('plan')
  await page.getByRole('option', { name: /^plan/ }).click()
  await page.getByLabel('Value of plan').fill('pro')
  await page.getByText('plan is “pro”').first().waitFor()
  await add('Branch, yes', 'Leave the workflow')
  await button(page, 'Undo').click()
  await button(page, 'Add a step after Branch, yes').waitFor()
  await button(page, 'Redo').click()
  await page
    .getByText(/Saving makes version 2/)
    .first()
    .waitFor()
  expect(await findPageProblems(page, 'steps of a workflow')).toEqual([])
  await button(page, 'Save').click()
  await page.getByText(/^Saved \d/).waitFor()

  await page.getByRole('link', { name: 'Try' }).click()
  await button(page, 'Contact: a subscribed sample person').click()
  await button(page, 'ada@example.com').click()
  const path = page.getByRole('list', { name: 'Path' })
  await path.getByText('“Hello pro” to ada@example.com').waitFor()
  await path.getByText('after 2 d').first().waitFor()
  await page.getByText('The workflow is disabled: no contact enters it.').waitFor()

  await button(page, 'Turn on…').click()
  await page.getByText('a contact enters when signup happens', { exact: false }).waitFor()
  await page.getByText('It sends Hello.').waitFor()
  await button(page, 'Turn on').click()
  await button(page, 'Turn off').waitFor()
  await typeShortcut(page, 'go')
  await button(page, /Done Send for real/).waitFor()
  await page.goBack()
  await page.getByRole('link', { name: 'Executions' }).click()
  await button(page, `Track signup for ${OWNER}`).click()
  await page.getByRole('button', { name: OWNER, exact: true }).click()
  const panel = page.getByRole('complementary', { name: OWNER })
  await panel.getByText('Wait some time').first().waitFor()
  await panel.getByText('Input').first().click()
  await panel.getByRole('link', { name: 'Open the email' }).click()
  await heading(page, 'Hello you')
  await page.goBack()
  await button(page, 'Close').click()

  await button(page, 'Start for someone').click()
  await button(page, 'Contact: Choose a contact').click()
  await button(page, 'ada@example.com').click()
  await button(page, 'Start').click()
  await page.getByRole('complementary', { name: 'ada@example.com' }).getByText('Waiting').first().waitFor()

  await page.getByRole('link', { name: 'Build' }).click()
  await page.getByRole('link', { name: '2 here now' }).click()
  await page.waitForURL(/status=WAITING/)
  await expect.poll(() => rows(page).count()).toBe(2)
  await button(page, 'Cancel those that match…').click()
  await button(page, 'Cancel the executions').click()
  await page.getByText('2 executions were cancelled').first().waitFor()
  await heading(page, 'Nothing matches these filters')

  await typeShortcut(page, 'gw')
  await page.getByRole('link', { name: '0 in it now' }).waitFor()
  await page.getByRole('link', { name: '2 entered in 30 days' }).click()
  await page.waitForURL(/started=/)
  await expect.poll(() => rows(page).count()).toBe(2)

  const grace = await (await request.post('/contacts', { data: { email: 'grace@example.com' }, headers })).json()
  await page.goto(`/app/p/${project.id}/contacts/${grace.id}`)
  await button(page, 'More actions').click()
  await page.getByRole('menuitem', { name: 'Start a workflow…' }).click()
  await button(page, 'Start the workflow').click()
  await page.getByRole('complementary', { name: 'grace@example.com' }).waitFor()
  await page.goBack()
  await page.getByRole('region', { name: 'Timeline' }).getByRole('link', { name: 'Entered a workflow' }).waitFor()
})

test('every number of the steps opens a list that adds up to it, also when contacts were skipped, failed and cancelled', async () => {
  const { page, project } = await openProject()
  const { request } = page.context()
  const headers = { 'x-project-id': project.id }
  const post = async (path: string, data: object) => (await request.post(path, { data, headers })).json()
  await post('/domains', { domain: 'sum.example.com' })
  const content = { name: 'News', subject: 'News', body: '<p>News</p>', type: 'MARKETING' }
  const news = await post('/templates', { ...content, from: 'hello@sum.example.com' })
  const unsent = await post('/templates', content)
  const { id, steps, version } = await post('/workflows', { name: 'Sums', eventName: 'signup' })
  const [mail, ask, broken, pause] = Array.from({ length: 4 }, () => crypto.randomUUID())
  const arrow = (fromStepId: string, toStepId: string, branch?: string) => ({ fromStepId, toStepId, ...(branch && { branch }) })
  const graph = {
    version,
    steps: [
      { id: mail, type: 'SEND_EMAIL', name: 'News', config: { templateId: news.id } },
      { id: ask, type: 'CONDITION', name: 'Pro?', config: { field: 'data.plan', operator: 'equals', value: 'pro' } },
      { id: broken, type: 'SEND_EMAIL', name: 'Without a sender', config: { templateId: unsent.id } },
      { id: pause, type: 'DELAY', name: 'Rest', config: { amount: 1, unit: 'days' } },
    ],
    transitions: [arrow(steps[0].id, mail!), arrow(mail!, ask!), arrow(ask!, broken!, 'yes'), arrow(ask!, pause!, 'no')],
  }
  await request.put(`/workflows/${id}/graph`, { data: graph, headers })
  await request.patch(`/workflows/${id}`, { data: { enabled: true }, headers })
  const contacts = [{ data: { plan: 'pro' } }, { subscribed: false }, {}, {}]
  const executions: string[] = []
  for (const [index, more] of contacts.entries()) {
    const contact = await post('/contacts', { email: `sum${index}@example.com`, ...more })
    executions.push((await post(`/workflows/${id}/executions`, { contactId: contact.id })).id)
  }
  const statuses = async () => {
    const { data } = await (await request.get(`/workflows/${id}/executions`, { headers })).json()
    return data.map(({ status }: { status: string }) => status).sort()
  }
  await expect.poll(statuses, { timeout: 20_000 }).toEqual(['FAILED', 'WAITING', 'WAITING', 'WAITING'])
  await request.delete(`/workflows/${id}/executions/${executions[3]}`, { headers })

  await page.goto(`/app/p/${project.id}/workflows/${id}`)
  const numbers = page.getByRole('list', { name: 'Steps' }).getByRole('link', { name: /^\d+ / })
  await numbers.first().waitFor()
  const shown = await numbers.allTextContents()
  expect(shown).toEqual([
    ...['4 entered', '4 reached', '1 skipped', '4 reached', '1 reached', '1 failed'],
    ...['3 reached', '2 here now', '1 cancelled'],
  ])
  for (const [index, number] of shown.entries()) {
    await numbers.nth(index).click()
    await page.waitForURL(/\/(executions|steps\/)/)
    await expect.poll(() => rows(page).count(), { message: number }).toBe(Number.parseInt(number, 10))
    await page.goBack()
    await numbers.nth(index).waitFor()
  }

  await page.getByRole('link', { name: '1 cancelled' }).click()
  await button(page, 'sum3@example.com').click()
  await page.getByRole('complementary', { name: 'sum3@example.com' }).getByText('because it was cancelled').waitFor()
  expect(await findPageProblems(page, 'visits of a step')).toEqual([])
  await button(page, 'Close').click()
  await button(page, 'Remove filter Outcome: Cancelled').click()
  await expect.poll(() => rows(page).count()).toBe(3)
})

test('steps that somebody else has changed are a conflict, and what the server refuses is shown at its step', async () => {
  const { page, project } = await openProject()
  const { request } = page.context()
  const headers = { 'x-project-id': project.id }
  const created = await (await request.post('/workflows', { data: { name: 'Shared', eventName: 'signup' }, headers })).json()
  await page.goto(`/app/p/${project.id}/workflows/${created.id}`)
  await button(page, 'Add a step after Trigger').click()
  await page.getByRole('menuitem', { name: 'Call a webhook' }).click()
  await page.getByLabel('Address', { exact: true }).fill('https://{{ host }}/x')
  await button(page, 'Save').click()
  await page.getByText('url: The host cannot be a variable.', { exact: true }).waitFor()
  expect(takeErrors()).toEqual([`422 PUT /workflows/${created.id}/graph`])

  await request.post(`/workflows/${created.id}/steps`, {
    data: { type: 'DELAY', name: 'Theirs', config: { amount: 1, unit: 'days' } },
    headers,
  })
  await page.getByLabel('Address', { exact: true }).fill('https://example.com/x')
  await button(page, 'Save').click()
  await page.getByText('Someone else changed this while you were editing.', { exact: false }).waitFor()
  expect(takeErrors()).toEqual([`409 PUT /workflows/${created.id}/graph`])
  await button(page, 'Load theirs').click()
  await heading(page, 'Unreachable steps')
  await page.getByText('Theirs').first().waitFor()
})
