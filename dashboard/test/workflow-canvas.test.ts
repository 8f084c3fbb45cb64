import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { findPageProblems } from './support/checks.ts'
import { button, heading, OWNER, startDashboard, untilClosed } from './support/dashboard.ts'
import { countRendersOf } from './support/renders.ts'

const { openProject, openAsOwner, takeErrors } = startDashboard()

const MAX_TABS = 150

/** Presses Tab, or Shift+Tab if that is the way, until the element has the focus. */
async function tabTo(page: Page, target: Locator) {
  await target.first().waitFor()
  const keyTo = (element: Element) => {
    const from = document.activeElement
    if (element === from) return undefined
    return from && element.compareDocumentPosition(from) & Node.DOCUMENT_POSITION_FOLLOWING ? 'Shift+Tab' : 'Tab'
  }
  for (let pressed = 0; pressed < MAX_TABS; pressed++) {
    const key = await target.first().evaluate(keyTo)
    if (!key) return
    await page.keyboard.press(key)
  }
  throw new Error(`Tab does not come to ${target}`)
}

async function press(page: Page, target: Locator) {
  await tabTo(page, target)
  await page.keyboard.press('Enter')
}

async function type(page: Page, label: string, text: string) {
  await tabTo(page, page.getByLabel(label, { exact: true }))
  await page.keyboard.press('Control+a')
  await page.keyboard.type(text)
}

/** The steps whose text has all of these words, as a screen reader reads it. */
const stepsOf = (page: Page, ...words: string[]) => words.reduce((found, hasText) => found.filter({ hasText }), page.locator('[data-step]'))

/** The text of the item of a menu with the focus. The menu itself has it first, and the text of all its items. */
const focusedItem = (page: Page) => page.evaluate(() => document.activeElement?.closest('[role=menuitem]')?.textContent ?? '')

/** The text of the step with the focus. */
const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? '')

test('without a mouse and without code a branch with two emails, a wait and a webhook is built, tried, turned on and watched', async () => {
  const { page, project } = await openProject()
  const headers = { 'x-project-id': project.id }
  const { request } = page.context()
  await request.post('/domains', { data: { domain: 'canvas.example.com' }, headers })
  await page.goto(`/app/p/${project.id}/workflows`)
  await button(page, 'Build your first workflow').waitFor()
  await page.keyboard.press('c')
  await type(page, 'Name', 'By keyboard')
  await page.keyboard.press('Enter')
  await heading(page, 'By keyboard')

  const add = async (kind: string) => {
    await page.keyboard.press('+')
    await page.getByRole('menu').waitFor()
    await page.keyboard.type(kind)
    // The menu moves its focus a moment after the keys.
    await expect.poll(() => focusedItem(page)).toMatch(new RegExp(`^${kind}`))
    await page.keyboard.press('Enter')
    await untilClosed(page, 'menu')
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT')
  }
  /** From the form of a step back to the step. */
  const back = async (name: string) => {
    await page.keyboard.press('Escape')
    await expect.poll(() => focused(page)).toContain(name)
  }
  const name = async (text: string) => {
    await page.keyboard.press('Control+a')
    await page.keyboard.type(text)
  }
  const writeEmail = async (subject: string) => {
    await press(page, button(page, 'Write it here'))
    // The editor covers the page, and its first field has the focus.
    await page.getByRole('textbox', { name: 'Email content' }).waitFor()
    await type(page, 'Subject', subject)
    await tabTo(page, page.getByRole('textbox', { name: 'Email content' }))
    await page.keyboard.type('Written by keyboard')
    await page.keyboard.press('Escape')
    await press(page, button(page, 'Save the email'))
    await untilClosed(page, 'dialog')
    await page.getByTitle(/^Preview of/).waitFor()
  }
  await tabTo(page, stepsOf(page, 'On signup'))
  await add('Branch')
  await name('Subscribed?')
  await back('Subscribed?')
  await add('Send')
  await name('Welcome')
  await writeEmail('Hello subscriber')
  await back('Welcome')
  await add('Wait for')
  await name('First project')
  await type(page, 'Event', 'project created')
  await back('First project')
  await add('Call')
  await name('Tell the CRM')
  await type(page, 'Address', 'https://crm.canvas.example.com/hook')
  await press(page, button(page, 'Show the request'))
  await page.getByText('POST https://crm.canvas.example.com/hook', { exact: false }).first().waitFor()
  await back('Tell the CRM')
  for (const expected of ['First project', 'Welcome', 'Subscribed?']) {
    await page.keyboard.press('ArrowUp')
    await expect.poll(() => focused(page)).toContain(expected)
  }
  await add('Send')
  await name('Come back')
  await writeEmail('Hello stranger')
  await back('Come back')

  await page.keyboard.press('Delete')
  await page.getByText('Delete “Come back”? “Subscribed?” then ends the branch.').waitFor()
  await page.keyboard.press('Enter')
  await expect.poll(() => stepsOf(page, 'Come back').count()).toBe(0)
  await page.keyboard.press('Control+z')
  await stepsOf(page, 'Come back').waitFor()
  await page.getByText('Saving makes version 2', { exact: false }).first().waitFor()
  expect(await findPageProblems(page, 'canvas of a workflow')).toEqual([])
  await page.keyboard.press('Control+s')
  await page.getByText(/^Saved \d/).waitFor()
  const saved = await (await request.get(`/workflows/${/workflows\/([0-9a-f-]+)/.exec(page.url())![1]}`, { headers })).json()
  const { data: written } = await (await request.get(`/templates?workflowId=${saved.id}`, { headers })).json()
  expect(written.map(({ subject, hasDesign }: Record<string, unknown>) => [subject, hasDesign]).sort()).toEqual([
    ['Hello stranger', true],
    ['Hello subscriber', true],
  ])

  await press(page, page.getByRole('link', { name: 'Try', exact: true }))
  const path = page.getByRole('list', { name: 'Path' })
  await path.getByText('“Hello subscriber” to ada@example.com', { exact: false }).waitFor()
  await tabTo(page, page.getByLabel('Answer of Subscribed?'))
  await page.keyboard.press('End')
  await path.getByText('“Hello stranger” to ada@example.com', { exact: false }).waitFor()
  await press(page, path.getByRole('button', { name: 'Email and input' }))
  await page.getByTitle('Email of Come back').waitFor()
  expect(await findPageProblems(page, 'a workflow that is tried')).toEqual([])

  await press(page, button(page, 'Turn on…'))
  await press(page, button(page, 'Turn on'))
  await button(page, 'Turn off').waitFor()
  await press(page, page.getByRole('link', { name: 'Executions' }))
  await press(page, button(page, `Track signup for ${OWNER}`))
  await page.getByRole('button', { name: OWNER, exact: true }).waitFor()
  await press(page, page.getByRole('link', { name: 'Live' }))
  await press(page, page.getByRole('button', { name: OWNER, exact: true }))
  await stepsOf(page, 'First project', 'is here').waitFor()
  await request.post('/events/track', { data: { email: OWNER, event: 'project created' }, headers })
  await stepsOf(page, 'Tell the CRM', 'is here').waitFor({ timeout: 30_000 })
  expect(await findPageProblems(page, 'a person in a workflow')).toEqual([])
})

test('a recipe runs after three clicks, another version of its steps is compared and restored, and one of its emails is kept', async () => {
  const { page, project } = await openProject()
  const headers = { 'x-project-id': project.id }
  const { request } = page.context()
  await request.post('/domains', { data: { domain: 'recipe.example.com' }, headers })
  await page.goto(`/app/p/${project.id}/workflows`)
  await button(page, 'Build your first workflow').click()
  await page.getByRole('radio', { name: /^Welcome/ }).click()
  await page.getByText('/v1/track', { exact: false }).first().waitFor()
  await button(page, 'Create and turn on').click()
  await heading(page, 'Welcome')
  await button(page, 'Turn off').waitFor()
  const id = /workflows\/([0-9a-f-]+)/.exec(page.url())![1]!

  const workflow = await (await request.get(`/workflows/${id}`, { headers })).json()
  await stepsOf(page, 'Wait 2 days').click()
  await button(page, 'Copy').click()
  await button(page, 'Add a step after Welcome').click()
  await page.getByRole('menuitem', { name: 'Paste “Wait 2 days”' }).click()
  await expect.poll(() => stepsOf(page, 'Wait 2 days').count()).toBe(2)
  const theirs = workflow.steps.filter(({ name }: { name: string }) => name !== 'Offer help')
  const kept = new Set(theirs.map((step: { id: string }) => step.id))
  const transitions = workflow.transitions.filter(({ toStepId }: { toStepId: string }) => kept.has(toStepId))
  await request.put(`/workflows/${id}/graph`, { data: { version: workflow.version, steps: theirs, transitions }, headers })
  await button(page, 'Save').click()
  await page.getByText('Your steps beside those that somebody else has saved', { exact: false }).waitFor()
  expect(takeErrors()).toEqual([`409 PUT /workflows/${id}/graph`])
  await expect.poll(() => stepsOf(page, 'added').count()).toBe(2)
  await button(page, 'Load theirs').click()
  await expect.poll(() => stepsOf(page, 'Offer help').count()).toBe(0)

  await page.getByRole('link', { name: 'Versions' }).click()
  await page.getByRole('button', { name: /^Version 1/ }).click()
  await stepsOf(page, 'Offer help', 'removed').waitFor()
  await page.getByText(OWNER, { exact: false }).first().waitFor()
  await page.getByRole('link', { name: 'Restore version 1…' }).click()
  await stepsOf(page, 'Offer help').waitFor()
  await button(page, 'Save').click()
  await page.getByText(/^Saved \d/).waitFor()
  expect((await (await request.get(`/workflows/${id}`, { headers })).json()).steps).toHaveLength(workflow.steps.length)

  await button(page, 'Add a step after Welcome').click()
  await page.getByRole('menuitem', { name: 'Update the contact' }).click()
  await button(page, 'Add a field').click()
  await page.getByLabel('Field 1, name').fill('score')
  await page.getByLabel('Field 1, type').selectOption('Number')
  await page.getByText('Enter a number.').waitFor()
  expect(await button(page, 'Save').isDisabled()).toBe(true)
  await page.getByLabel('Field 1, value').fill('3')
  await button(page, 'Save').click()
  await stepsOf(page, 'score = 3').waitFor()

  await page.goto(`/app/p/${project.id}/templates?workflow=none`)
  await page.getByText('Nothing matches these filters').waitFor()
  await page.goto(`/app/p/${project.id}/templates`)
  await button(page, 'Actions for Welcome').click()
  await page.getByRole('menuitem', { name: 'Keep without its workflow' }).click()
  await page.getByText('Welcome is kept if its workflow is deleted').first().waitFor()
  const { data: ownTemplates } = await (await request.get('/templates?workflowId=none', { headers })).json()
  expect(ownTemplates.map(({ name }: { name: string }) => name)).toEqual(['Welcome'])
})

test('an edit of a hundred steps renders at most five of them', async () => {
  const { page, project } = await openAsOwner('canvas-renders@example.com', { viewport: { width: 1280, height: 800 } })
  const renders = await countRendersOf(page, 'isEntry', 'noteTone')
  const headers = { 'x-project-id': project.id }
  const { request } = page.context()
  const created = await (await request.post('/workflows', { data: { name: 'Long', eventName: 'signup' }, headers })).json()
  const steps = Array.from({ length: 99 }, (_, at) => ({
    id: crypto.randomUUID(),
    type: 'DELAY',
    name: `Pause ${at + 1}`,
    config: { amount: 1, unit: 'days' },
  }))
  const transitions = steps.map(({ id }, at) => ({ fromStepId: at ? steps[at - 1]!.id : created.steps[0].id, toStepId: id }))
  const put = await request.put(`/workflows/${created.id}/graph`, { data: { version: 1, steps, transitions }, headers })
  expect(put.status()).toBe(200)
  await page.goto(`/app/p/${project.id}/workflows/${created.id}?step=${steps[1]!.id}`)
  await expect.poll(() => page.locator('[data-step]').count()).toBe(100)
  await page.getByLabel('Name of the step').waitFor()
  const rendersOf = async (edit: () => Promise<unknown>, isDone: () => Promise<unknown>) => {
    await renders.take()
    await edit()
    await isDone()
    return renders.take()
  }
  const count = (expected: number) => () => expect.poll(() => page.locator('[data-step]').count()).toBe(expected)
  const typed = await rendersOf(
    () => page.getByLabel('Name of the step').press('Q'),
    () => stepsOf(page, 'Q').first().waitFor(),
  )
  const added = await rendersOf(async () => {
    await button(page, 'Add a step after Pause 1').click()
    await page.getByRole('menuitem', { name: 'Wait some time' }).click()
  }, count(101))
  const removed = await rendersOf(async () => {
    await button(page, 'Delete…').click()
    await button(page, 'Delete').click()
  }, count(100))
  const undone = await rendersOf(() => button(page, 'Undo').click(), count(101))
  for (const each of [typed, added, removed, undone]) expect(each).toBeLessThanOrEqual(5)
  expect(added).toBeGreaterThan(0)
})
