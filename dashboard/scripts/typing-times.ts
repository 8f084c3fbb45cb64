import type { Page } from 'playwright-core'
import { showPage } from '../test/support/browser.ts'

const KEYS = 40
const LINES = 50

/** Milliseconds of work of the browser's main thread. */
async function workOf(page: Page, act: () => Promise<unknown>): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  const spent = async () =>
    (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration')!.value * 1_000
  const before = await spent()
  await act()
  const ms = (await spent()) - before
  await session.detach()
  return ms
}

/** Per key that is typed into the focused field. */
async function workPerKey(page: Page): Promise<number> {
  await page.keyboard.type('warm up')
  return (await workOf(page, () => page.keyboard.type('x'.repeat(KEYS)))) / KEYS
}

const LONG_CONDITION = {
  logic: 'OR',
  groups: Array.from({ length: LINES }, (_, n) => ({ filters: [{ field: 'data.plan', operator: 'contains', value: `v${n}` }] })),
}

const STEPS = 100

/** A long line of pauses. Returns the path of its canvas, with the first pause chosen. */
async function seedLongWorkflow(page: Page, projectId: string): Promise<string> {
  const { request } = page.context()
  const headers = { 'x-project-id': projectId }
  const { id, steps } = await (await request.post('/workflows', { data: { name: 'Long', eventName: 'signup' }, headers })).json()
  const pauses = Array.from({ length: STEPS - 1 }, (_, at) => ({
    id: crypto.randomUUID(),
    type: 'DELAY',
    name: `Pause ${at + 1}`,
    config: { amount: 1, unit: 'days' },
  }))
  const transitions = pauses.map((pause, at) => ({ fromStepId: at ? pauses[at - 1]!.id : steps[0].id, toStepId: pause.id }))
  await request.put(`/workflows/${id}/graph`, { data: { version: 1, steps: pauses, transitions }, headers })
  return `/app/p/${projectId}/workflows/${id}?step=${pauses[0]!.id}`
}

const BLOCKS = 150

/** A long email. Returns the path of its editor. */
async function seedLongEmail(page: Page, projectId: string): Promise<string> {
  const content = Array.from({ length: BLOCKS }, (_, at) => ({
    type: 'paragraph',
    attrs: { id: `b${at}` },
    content: [{ type: 'text', text: `Text ${at}` }],
  }))
  const data = { name: 'Long', subject: 'Long', type: 'TRANSACTIONAL', design: { version: 1, content } }
  const { id } = await (await page.context().request.post('/templates', { data, headers: { 'x-project-id': projectId } })).json()
  return `/app/p/${projectId}/templates/${id}`
}

/** A key in the middle of a long email, as a ratio to a key in an empty `contenteditable`. */
async function measureEmail(page: Page, projectId: string): Promise<number> {
  await page.goto('data:text/html,<div contenteditable>')
  await page.locator('div').focus()
  const floor = await workPerKey(page)
  await showPage(page, await seedLongEmail(page, projectId))
  const text = page.getByRole('textbox', { name: 'Email content' }).getByText(`Text ${BLOCKS / 2}`, { exact: true })
  await text.click()
  return (await workPerKey(page)) / floor
}

/** The work of editing the largest forms, as ratios to a key in the only field of an empty page, in the same run. */
export async function measureTyping(page: Page, projectId: string, ids: { draft: string }): Promise<[what: string, ratio: number][]> {
  await page.goto('data:text/html,<input autofocus>')
  await page.locator('input').focus()
  const floor = await workPerKey(page)
  await showPage(page, `/app/p/${projectId}/segments/new?condition=${encodeURIComponent(JSON.stringify(LONG_CONDITION))}`)
  await page
    .getByLabel('Value of plan')
    .nth(LINES / 2)
    .focus()
  const inCondition = await workPerKey(page)
  const addLine = page.getByRole('button', { name: 'Add a line' }).last()
  const adding = await workOf(page, () => addLine.click().then(() => page.getByPlaceholder('Search fields').waitFor()))
  await showPage(page, `/app/p/${projectId}/campaigns/${ids.draft}`)
  await page.getByLabel('Subject', { exact: true }).focus()
  const inComposer = await workPerKey(page)
  await showPage(page, await seedLongWorkflow(page, projectId))
  await page.getByLabel('Name of the step').focus()
  const onCanvas = await workPerKey(page)
  const count = () => page.locator('[data-step]').count()
  const addingStep = await workOf(page, async () => {
    await page.getByRole('button', { name: 'Add a step after Trigger' }).click()
    await page.getByRole('menuitem', { name: 'Wait some time' }).click()
    while ((await count()) <= STEPS) await page.waitForTimeout(20)
  })
  return [
    [`a key in the name of a step on a canvas of ${STEPS}`, onCanvas / floor],
    [`a new step on a canvas of ${STEPS}`, addingStep / floor],
    [`a key in a condition of ${LINES} lines`, inCondition / floor],
    [`a new line in a condition of ${LINES} lines`, adding / floor],
    ['a key in the composer', inComposer / floor],
    [`a key in an email of ${BLOCKS} blocks (to a key in an empty contenteditable)`, await measureEmail(page, projectId)],
  ]
}
