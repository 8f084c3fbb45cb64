import sparticuz from '@sparticuz/chromium'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startSterna } from '../../server/test/support/process.ts'

const PASSWORD = 'four unrelated words'
const PHONE = { viewport: { width: 375, height: 812 } }

let sterna: Awaited<ReturnType<typeof startSterna>>
let browser: Browser
/** Exceptions, console errors and violations of the content security policy in our pages. */
const pageErrors: string[] = []

beforeAll(async () => {
  // A closing page must not end the browser, and the browser's own security must be on.
  const args = sparticuz.args.filter((arg) => !['--single-process', '--disable-web-security'].includes(arg))
  const launched = sparticuz.executablePath().then((executablePath) => chromium.launch({ executablePath, args: [...args, '--no-sandbox'] }))
  ;[sterna, browser] = await Promise.all([startSterna(), launched])
})

afterEach(async () => {
  await Promise.all(browser.contexts().map((context) => context.close()))
  expect(pageErrors.splice(0)).toEqual([])
})

afterAll(async () => {
  await browser?.close()
  await sterna?.stop()
})

async function openBrowser(options: BrowserContextOptions = {}) {
  const permissions = ['clipboard-read', 'clipboard-write']
  const context = await browser.newContext({ baseURL: sterna.url, reducedMotion: 'reduce', permissions, ...options })
  context.setDefaultTimeout(5000)
  const page = await context.newPage()
  page.on('pageerror', (error) => pageErrors.push(error.message))
  page.on('console', (message) => {
    // The browser reports every 4xx response as an error; some of them are expected here.
    if (message.type() === 'error' && !message.text().includes('the server responded with a status of 4')) pageErrors.push(message.text())
  })
  return page
}

/** A signed-in browser of an owner, whose account and project are made through the API. */
async function openAsOwner(email: string, options?: BrowserContextOptions) {
  const page = await openBrowser(options)
  const { request } = page.context()
  await request.post('/auth/signup', { data: { email, password: PASSWORD } })
  const project = await (await request.post('/users/@me/projects', { data: { name: 'Acme' } })).json()
  return { page, project }
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor()

async function fillAndSubmit(page: Page, fields: Record<string, string>, submit: string) {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value)
  await button(page, submit).click()
}

async function linkInEmailTo(address: string, subject: RegExp) {
  const emails = await sterna.accountEmails()
  const email = emails.find(({ to, subject: about }) => to === address && subject.test(about))
  return /https?:\S+/.exec(email!.text)![0]
}

test('a new user signs up, creates a project, copies its keys, replaces them, signs out and signs in again', async () => {
  const page = await openBrowser()
  await page.goto('/')
  await heading(page, 'Welcome back')
  await page.getByRole('link', { name: 'Create an account' }).click()
  await fillAndSubmit(page, { Email: 'ada@example.com', Password: PASSWORD }, 'Create account')

  await heading(page, 'Name your first project')
  await fillAndSubmit(page, { 'Project name': 'Acme' }, 'Create project')
  await heading(page, 'Your keys')
  const publicKey = await page.getByLabel('Public key', { exact: true }).inputValue()
  expect(publicKey).toMatch(/^pk_[0-9a-f]{64}$/)
  expect(await page.locator('pre').textContent()).toContain(
    `curl ${sterna.url}/contacts \\\n  -H "Authorization: Bearer $STERNA_SECRET_KEY"`,
  )

  const secretKey = page.getByLabel('Secret key', { exact: true })
  expect(await secretKey.inputValue()).toMatch(/^sk_•+$/)
  await button(page, 'Reveal secret key').click()
  const secret = await secretKey.inputValue()
  expect(secret).toMatch(/^sk_[0-9a-f]{64}$/)
  await button(page, 'Copy secret key').click()
  await page.getByText('Secret key copied').first().waitFor()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(secret)

  await button(page, 'Replace keys…').click()
  expect(await button(page, 'Replace keys').isDisabled()).toBe(true)
  await fillAndSubmit(page, { 'Type “Acme” to confirm': 'Acme' }, 'Replace keys')
  await page.getByText('Keys replaced').first().waitFor()
  expect(await secretKey.inputValue()).toMatch(/^sk_[0-9a-f]{64}$/)
  expect(await secretKey.inputValue()).not.toBe(secret)

  const keysPage = page.url()
  await button(page, 'Your account').click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await heading(page, 'Welcome back')
  await page.goto(keysPage)
  await heading(page, 'Welcome back')
  await fillAndSubmit(page, { Email: 'ada@example.com', Password: PASSWORD }, 'Sign in')
  await heading(page, 'Your keys')
  expect(page.url()).toBe(keysPage)
})

test('a rejected form shows the reason above the form or beside the field', async () => {
  const page = await openBrowser()
  await page.goto('/sign-in')
  await fillAndSubmit(page, { Email: 'nobody@example.com', Password: 'not the password' }, 'Sign in')
  expect(await page.getByRole('alert').textContent()).toBe('Wrong email address or password.')

  await page.goto('/sign-up')
  await fillAndSubmit(page, { Email: 'nobody@localhost', Password: PASSWORD }, 'Create account')
  const email = page.getByLabel('Email', { exact: true })
  await page.locator('[aria-invalid=true]').waitFor()
  expect(await email.evaluate((input) => document.getElementById(input.getAttribute('aria-describedby')!)?.textContent)).toMatch(/email/i)
  expect(await email.evaluate((input) => input === document.activeElement)).toBe(true)
})

test('signing in does not redirect to another site', async () => {
  const { page } = await openAsOwner('careful@example.com')
  await page.goto('/sign-in?next=//evil.example.com/app')
  await heading(page, 'Your keys')
  expect(new URL(page.url()).origin).toBe(sterna.url)
})

test('on a phone the navigation sheet opens every page, and no page is wider than the screen', async () => {
  const { page } = await openAsOwner('phone@example.com', PHONE)
  await page.goto('/app')
  await heading(page, 'Your keys')
  for (const [entry, title] of [
    ['Team', 'Team'],
    ['Settings', 'Settings'],
    ['Keys', 'Your keys'],
  ] as const) {
    await button(page, 'Open navigation').click()
    await page.getByRole('dialog').getByRole('link', { name: entry }).click()
    await heading(page, title)
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(PHONE.viewport.width)
  }
})

test('the links in account emails confirm the address, accept the invitation and reset the password', async () => {
  const { page } = await openAsOwner('grace@example.com')
  await page.goto('/app')
  await page.getByText('Confirm your email address').waitFor()
  await page.goto(await linkInEmailTo('grace@example.com', /./))
  await heading(page, 'Email address confirmed')
  await page.getByRole('link', { name: 'Open Sterna' }).click()
  await heading(page, 'Your keys')
  await page.getByText('Confirm your email address').waitFor({ state: 'detached' })

  await page.getByRole('link', { name: 'Team' }).click()
  await button(page, 'Invite').click()
  await fillAndSubmit(page, { Email: 'alan@example.com' }, 'Send invitation')
  await button(page, 'Withdraw the invitation of alan@example.com').waitFor()

  const invited = await openBrowser()
  await invited.goto(await linkInEmailTo('alan@example.com', /invited/))
  await invited.getByRole('link', { name: 'Create an account and join' }).click()
  await fillAndSubmit(invited, { Password: PASSWORD }, 'Create account')
  await invited.getByText('Only owners and admins can see the keys').waitFor()

  const forgetful = await openBrowser()
  await forgetful.goto('/forgot-password')
  await fillAndSubmit(forgetful, { Email: 'grace@example.com' }, 'Send the link')
  await heading(forgetful, 'Check your inbox')
  await forgetful.goto(await linkInEmailTo('grace@example.com', /password/i))
  await fillAndSubmit(forgetful, { 'New password': 'another four words' }, 'Change password')
  await forgetful.getByRole('link', { name: 'Sign in' }).click()
  await fillAndSubmit(forgetful, { Email: 'grace@example.com', Password: 'another four words' }, 'Sign in')
  await heading(forgetful, 'Your keys')
})

test('settings are saved, and a deleted project is no longer found', async () => {
  const { page, project } = await openAsOwner('owner@example.com')
  await page.goto(`/app/p/${project.id}/settings`)
  await page.getByRole('radio', { name: /^Never/ }).check()
  await fillAndSubmit(page, { 'Project name': '<b>Acme</b> {{7*7}}' }, 'Save')
  await page.getByText('Settings saved').first().waitFor()
  await page.reload()
  expect(await page.getByLabel('Project name').inputValue()).toBe('<b>Acme</b> {{7*7}}')
  expect(await page.getByRole('radio', { name: /^Never/ }).isChecked()).toBe(true)

  await button(page, 'Delete project…').click()
  await fillAndSubmit(page, { 'Type “<b>Acme</b> {{7*7}}” to confirm': '<b>Acme</b> {{7*7}}' }, 'Delete project')
  await heading(page, 'Name your first project')
  await page.goto(`/app/p/${project.id}/keys`)
  await heading(page, 'No such project')
})

test('every control on every page has an accessible name', async () => {
  const { page, project } = await openAsOwner('reader@example.com')
  const signedOut = await openBrowser(PHONE)
  for (const path of ['/sign-in', '/sign-up', '/forgot-password', '/reset-password?token=x', '/accept-invitation?token=x']) {
    expect([path, await namelessControls(signedOut, path)]).toEqual([path, []])
  }
  for (const path of ['/app/new', `/app/p/${project.id}/keys`, `/app/p/${project.id}/team`, `/app/p/${project.id}/settings`]) {
    expect([path, await namelessControls(page, path)]).toEqual([path, []])
  }
})

const CONTROLS = ['button', 'link', 'textbox', 'combobox', 'radio', 'checkbox', 'menuitem', 'dialog', 'table', 'navigation']

/** Uses the names that the browser computes for assistive technology. */
async function namelessControls(page: Page, path: string) {
  await page.goto(path)
  await page.getByRole('heading', { level: 1 }).waitFor()
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  const controls = nodes.filter(({ ignored, role }) => !ignored && CONTROLS.includes(role?.value))
  expect(controls.length).toBeGreaterThan(0)
  return controls.filter(({ name }) => !name?.value).map(({ role, backendDOMNodeId }) => `${role?.value} ${backendDOMNodeId}`)
}
