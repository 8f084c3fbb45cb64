import { expect, test } from 'vitest'
import { button, fillAndSubmit, heading, OWNER, rows, startDashboard } from './support/dashboard.ts'

const { openProject } = startDashboard()

test('a template is written with completion, checked, previewed as a person, saved, tested, restored, duplicated and deleted', async () => {
  const { page, project } = await openProject()
  const { request } = page.context()
  const headers = { 'x-project-id': project.id }
  for (const [email, plan] of [
    ['ada@example.com', 'pro'],
    ['alan@example.com', 'free'],
  ]) {
    await request.post('/contacts', { data: { email, data: { plan } }, headers })
  }
  await request.post('/domains', { data: { domain: 'writer.example.com' }, headers })
  await page.goto(`/app/p/${project.id}/templates`)
  await heading(page, 'No templates yet')
  await button(page, 'Write your first template').click()
  await page.getByText('Paste HTML', { exact: true }).click()
  await fillAndSubmit(page, { Name: 'Plan', HTML: '<h1>Your plan</h1>\n<p>It is ' }, 'Create template')
  await heading(page, 'Plan')

  const code = page.getByRole('textbox', { name: 'Body' })
  await code.click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('{{ pl')
  // A list that is about to be replaced by the one for the last typed character takes no clicks.
  const words = page.locator('.cm-tooltip-autocomplete:not(.cm-tooltip-autocomplete-disabled)')
  await words.getByRole('option', { name: /^plan/ }).click()
  await expect.poll(() => code.textContent()).toMatch(/\{\{ plan$/)
  await page.keyboard.type(' }}</p><img src="data:,">')
  await page.getByText('An image has no alt text.').first().waitFor()
  await button(page, 'Line 2').click()

  await page.getByText(/^Sender and description/).click()
  await page.getByLabel('From address').fill('hello@writer.example.com')

  await button(page, 'Preview as Sample person').click()
  await page.getByLabel('Search contacts', { exact: true }).fill('alan')
  await button(page, 'alan@example.com').click()
  await page.waitForURL(/as=/)
  const frame = page.frameLocator('iframe[title="Preview of the email"]')
  await frame.getByText('It is free').waitFor()
  await button(page, 'Text').click()
  await page.locator('pre', { hasText: 'It is free' }).waitFor()
  await button(page, 'Phone').click()
  expect(await page.locator('iframe').evaluate((element) => element.clientWidth)).toBeLessThanOrEqual(375)

  await page.getByText(/Saving creates version 2/).waitFor()
  await page.reload()
  await page.getByText('Your unsaved changes', { exact: false }).waitFor()
  await code.click()
  await page.keyboard.press('Control+s')
  await page.getByText(/^Saved \d/).waitFor()
  const stored = (await (await request.get('/templates', { headers })).json()) as { data: { body: string }[] }
  expect(stored.data[0]!.body).toBe('<h1>Your plan</h1>\n<p>It is {{ plan }}</p><img src="data:,">')

  await code.click()
  await page.keyboard.press('Control+Enter')
  await heading(page, 'Send a test email')
  await page.keyboard.press('Control+Enter')
  await page.getByText(`A test is on its way to ${OWNER}`).first().waitFor()

  await page.getByRole('link', { name: 'Versions (2)' }).click()
  await page.getByRole('link', { name: /^Version 1/ }).click()
  await page.locator('pre', { hasText: '+ <p>It is {{ plan }}</p>' }).waitFor()
  await button(page, 'Restore version 1').click()
  await page.getByRole('link', { name: 'Versions (3)' }).waitFor()
  await button(page, 'Undo').first().click()
  await page.getByRole('link', { name: 'Versions (4)' }).waitFor()

  await button(page, 'More actions').click()
  await page.getByRole('menuitem', { name: 'Duplicate' }).click()
  await heading(page, 'Plan (Copy)')
  await button(page, 'More actions').click()
  await page.getByRole('menuitem', { name: 'Delete…' }).click()
  await page.getByText('No campaign or workflow uses it.', { exact: false }).waitFor()
  await button(page, 'Delete template').click()
  await heading(page, 'Templates')
  await page.getByLabel('Search by name or subject').fill('nothing')
  await page.getByText('Nothing matches these filters').waitFor()
  await page.getByLabel('Search by name or subject').fill('plan')
  await page.getByRole('link', { name: 'Plan', exact: true }).waitFor()
  await expect.poll(() => rows(page).count()).toBe(1)
})
