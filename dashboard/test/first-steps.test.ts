import { expect, test } from 'vitest'
import { PASSWORD } from './support/browser.ts'
import { findPageProblems } from './support/checks.ts'
import { button, fillAndSubmit, heading, startDashboard, typeShortcut } from './support/dashboard.ts'

const { open, openProject } = startDashboard()

test('a new user gets from signing up to a tested template: first email, domain, import with a mapping, preview as a person, timeline', async () => {
  const page = await open()
  await page.goto('/sign-up')
  let [fields, clicks] = [0, 0]
  const fill = (label: string, value: string) => {
    fields++
    return page.getByLabel(label, { exact: true }).fill(value)
  }
  const click = (name: string) => {
    clicks++
    return button(page, name).click()
  }
  await fill('Email', 'newcomer@example.com')
  await fill('Password', PASSWORD)
  await click('Create account')
  await fill('Project name', 'Journey')
  await click('Create project')
  await click('Send the email')
  await page.frameLocator('iframe[title="It works"]').getByText('My first email with Sterna.').waitFor()
  await button(page, /Done Send yourself an email/).waitFor()
  expect(fields).toBeLessThanOrEqual(3)
  expect(clicks).toBeLessThanOrEqual(4)
  expect(await page.getByText('DKIM-Signature').count()).toBe(0)

  await button(page, 'Marketing').click()
  const steps = page.getByRole('heading', { level: 3 })
  await expect
    .poll(() => steps.allTextContents())
    .toEqual(['Send yourself an email', 'Add contacts', 'Add your domain', 'Send for real', 'Call the API'])
  await button(page, /Add your domain/).click()
  await page.getByRole('link', { name: 'Open domains' }).click()
  await button(page, 'Add domain').click()
  await page.getByRole('dialog').getByLabel('Domain', { exact: true }).fill('journey.example.com')
  await page.getByRole('dialog').getByRole('button', { name: 'Add domain' }).click()
  await button(page, 'Delete journey.example.com').waitFor()

  await typeShortcut(page, 'gc')
  await page.getByRole('link', { name: 'Import' }).click()
  const csv = 'Kontakt;Vorname;Tarif;Notiz\r\nada@example.com;Ada;pro;x\r\nkein@@example;Nemo;free;y\r\n'
  await page.getByLabel('Choose a file').setInputFiles({ name: 'kunden.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) })
  await page.getByText('UTF-8, separated by semicolon').waitFor()
  await page.getByLabel('Name of the field for Vorname').fill('firstName')
  await page.getByLabel('Notiz becomes').selectOption('Skip it')
  await button(page, 'Check the file').click()
  await page.getByText('Not a valid email address').waitFor()
  expect(await findPageProblems(page, 'import')).toEqual([])
  await button(page, 'Import 1 row').click()
  await heading(page, 'Imported')
  await page.getByRole('main').getByText('1 created, 1 failed').waitFor()
  await page.getByRole('row', { name: /kein@@example/ }).waitFor()

  await typeShortcut(page, 'gt')
  await button(page, 'Write your first template').click()
  await page.getByText('Paste HTML', { exact: true }).click()
  await fillAndSubmit(page, { Name: 'Hello', HTML: '<p>Hello {{ firstName ?? "you" }}, plan {{ Tarif }}</p>' }, 'Create template')
  await heading(page, 'Hello')
  await page.getByText(/^Sender and description/).click()
  await page.getByLabel('From address').fill('hello@journey.example.com')
  await button(page, 'Preview as Sample person').click()
  await page.getByRole('button', { name: /ada@example.com/ }).click()
  await page.frameLocator('iframe').getByText('Hello Ada, plan pro').waitFor()
  await button(page, 'Save').click()
  await page.getByText(/^Saved \d/).waitFor()
  await button(page, 'Send test…').click()
  await button(page, 'Send test').click()
  await page.getByText('A test is on its way to newcomer@example.com').first().waitFor()

  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search contacts, pages and actions' }).fill('newcomer@')
  await page.getByRole('option', { name: 'newcomer@example.com' }).first().click()
  await heading(page, 'newcomer@example.com')
  await page.getByText('Email sent', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Email sent' }).click()
  await heading(page, 'It works')
  await page.goBack()
  await button(page, 'Send an email').click()
  await page.getByLabel('Content').selectOption('Template Hello')
  await page.frameLocator('iframe').getByText('Hello you').waitFor()
  await button(page, 'Send the email').click()
  await heading(page, 'Hello')
})

test('an installation without an account opens with the form that creates it', async () => {
  const page = await open()
  await page.route('**/config', async (route) => {
    const config = await (await route.fetch()).json()
    config.features.signup.hasAccounts = false
    await route.fulfill({ json: config })
  })
  await page.goto('/')
  await heading(page, 'Create your account')
  expect(await page.getByText('Already have an account?').count()).toBe(0)
})

test('in the sandbox the operator confirms an address with one click, and is asked no more', async () => {
  const { page, project } = await openProject()
  await page.goto(`/app/p/${project.id}`)
  await button(page, 'Confirm now').click()
  await page.getByText('Your address is confirmed').first().waitFor()
  await expect.poll(() => button(page, 'Confirm now').count()).toBe(0)
  expect((await (await page.context().request.get('/users/@me')).json()).emailVerified).toBe(true)
})
