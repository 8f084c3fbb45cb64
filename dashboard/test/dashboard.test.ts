import { expect, test } from 'vitest'
import { PASSWORD, PHONE } from './support/browser.ts'
import { button, fillAndSubmit, heading, OWNER, startDashboard } from './support/dashboard.ts'

const { open, openProject, openAsOwner, accountEmails, takeErrors, url } = startDashboard()

async function linkInEmailTo(address: string, subject: RegExp) {
  const find = async () => (await accountEmails()).find(({ to, subject: about }) => to === address && subject.test(about))
  await expect.poll(find).toBeDefined()
  return /https?:\S+/.exec((await find())!.text)![0]
}

test('a new user signs up, creates a project, copies its keys, replaces them, signs out and signs in again', async () => {
  const page = await open()
  await page.goto('/')
  await heading(page, 'Welcome back')
  await page.getByRole('link', { name: 'Create an account' }).click()
  await fillAndSubmit(page, { Email: 'ada@example.com', Password: PASSWORD }, 'Create account')

  await heading(page, 'Name your first project')
  await fillAndSubmit(page, { 'Project name': 'Acme' }, 'Create project')
  await heading(page, 'Overview')
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('link', { name: 'Keys' }).click()
  await heading(page, 'Keys')
  const publicKey = await page.getByLabel('Public key', { exact: true }).inputValue()
  expect(publicKey).toMatch(/^pk_[0-9a-f]{64}$/)
  expect(await page.locator('pre').textContent()).toContain(`curl ${url()}/contacts \\\n  -H "Authorization: Bearer $STERNA_SECRET_KEY"`)

  const secretKey = page.getByLabel('Secret key', { exact: true })
  expect(await secretKey.inputValue()).toMatch(/^sk_•+$/)
  await button(page, 'Reveal secret key').click()
  await expect.poll(() => secretKey.inputValue()).toMatch(/^sk_[0-9a-f]{64}$/)
  const secret = await secretKey.inputValue()
  await button(page, 'Copy secret key').click()
  await page.getByText('Secret key copied').first().waitFor()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(secret)

  await button(page, 'Replace keys…').click()
  expect(await button(page, 'Replace keys').isDisabled()).toBe(true)
  await fillAndSubmit(page, { 'Type “Acme” to confirm': 'Acme' }, 'Replace keys')
  await page.getByText('Keys replaced').first().waitFor()
  await expect.poll(() => secretKey.inputValue()).not.toBe(secret)
  expect(await secretKey.inputValue()).toMatch(/^sk_[0-9a-f]{64}$/)

  const webhookSecret = page.getByLabel('Webhook secret', { exact: true })
  await button(page, 'Reveal webhook secret').click()
  await expect.poll(() => webhookSecret.inputValue()).toMatch(/^whsec_[^•]+$/)
  const signing = await webhookSecret.inputValue()
  await button(page, 'Replace secret…').click()
  await button(page, 'Replace secret').click()
  await page.getByText('Webhook secret replaced').first().waitFor()
  await button(page, 'Reveal webhook secret').click()
  await expect.poll(() => webhookSecret.inputValue()).toMatch(/^whsec_[^•]+$/)
  await expect.poll(() => webhookSecret.inputValue()).not.toBe(signing)
  await page.getByText('the last time').waitFor()
  await expect.poll(() => page.getByText('Not used yet').count()).toBe(2)

  const keysPage = page.url()
  await page.getByRole('button', { name: /^Your account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await heading(page, 'Welcome back')
  await page.goto(keysPage)
  await heading(page, 'Welcome back')
  await fillAndSubmit(page, { Email: 'ada@example.com', Password: PASSWORD }, 'Sign in')
  await heading(page, 'Keys')
  expect(page.url()).toBe(keysPage)
})

test('a rejected form shows the reason above the form or beside the field', async () => {
  const page = await open()
  await page.goto('/sign-in')
  await fillAndSubmit(page, { Email: 'nobody@example.com', Password: 'not the password' }, 'Sign in')
  await expect.poll(() => page.getByRole('alert').textContent()).toBe('Wrong email address or password.')
  expect(takeErrors()).toEqual(['401 POST /auth/login'])

  await page.goto('/sign-up')
  await fillAndSubmit(page, { Email: 'nobody@localhost', Password: PASSWORD }, 'Create account')
  const email = page.getByLabel('Email', { exact: true })
  await page.locator('[aria-invalid=true]').waitFor()
  expect(await email.evaluate((input) => document.getElementById(input.getAttribute('aria-describedby')!)?.textContent)).toMatch(/email/i)
  expect(await email.evaluate((input) => input === document.activeElement)).toBe(true)
  expect(takeErrors()).toEqual(['422 POST /auth/signup'])
})

test('signing in does not redirect to another site', async () => {
  const { page } = await openProject()
  await page.goto('/sign-in?next=//evil.example.com/app')
  await heading(page, 'Overview')
  expect(new URL(page.url()).origin).toBe(url())
})

test('on a phone the navigation sheet opens every page, and no page is wider than the screen', async () => {
  const { page } = await openAsOwner('phone@example.com', PHONE)
  await page.goto('/app')
  await heading(page, 'Overview')
  for (const [entry, title] of [
    ['Contacts', 'Contacts'],
    ['Domains', 'Domains'],
    ['Settings', 'General'],
  ] as const) {
    await button(page, 'Open navigation').click()
    await page.getByRole('dialog').getByRole('link', { name: entry }).click()
    await heading(page, title)
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(PHONE.viewport.width)
  }
})

test('the links in account emails confirm the address, accept the invitation and reset the password', async () => {
  const { page, project } = await openAsOwner('grace@example.com')
  await page.goto('/app')
  await page.getByText('grace@example.com is not confirmed.').waitFor()
  expect(await page.getByRole('button', { name: 'Your account, address not confirmed' }).count()).toBeGreaterThan(0)
  await page.goto(await linkInEmailTo('grace@example.com', /./))
  await heading(page, 'Email address confirmed')
  await page.getByRole('link', { name: 'Open Sterna' }).click()
  await heading(page, 'Overview')
  await page.getByText('grace@example.com is not confirmed.').waitFor({ state: 'detached' })

  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('link', { name: 'Team' }).click()
  await button(page, 'Invite').click()
  await fillAndSubmit(page, { Email: 'alan@example.com' }, 'Send invitation')
  await button(page, 'Withdraw the invitation of alan@example.com').waitFor()
  await button(page, 'Copy link for alan@example.com').click()
  await page.getByText('Link copied').first().waitFor()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('/accept-invitation?token=')

  const invited = await open()
  const invitation = await linkInEmailTo('alan@example.com', /invited/)
  await invited.goto(invitation)
  await invited.getByText('grace@example.com invited alan@example.com to “Acme”.').waitFor()
  await invited.getByRole('link', { name: 'Create an account and join' }).click()
  await fillAndSubmit(invited, { Password: PASSWORD }, 'Create account')
  await invited.getByRole('link', { name: 'Settings' }).click()
  await invited.getByRole('link', { name: 'Keys' }).click()
  await invited.getByText('Only owners and admins can see the keys').waitFor()
  await invited.goto(invitation)
  await heading(invited, 'This invitation is no longer open')
  await invited.getByRole('link', { name: 'Open Sterna' }).click()
  await heading(invited, 'Overview')

  await page.goto(`/app/p/${project.id}/settings/audit`)
  await page.getByText('Copied an invitation link').first().waitFor()
  expect(await page.locator('main').textContent()).not.toContain('token=')

  const forgetful = await open()
  await forgetful.goto('/forgot-password')
  await fillAndSubmit(forgetful, { Email: 'grace@example.com' }, 'Send the link')
  await heading(forgetful, 'Check your inbox')
  await forgetful.goto(await linkInEmailTo('grace@example.com', /password/i))
  await fillAndSubmit(forgetful, { 'New password': 'another four words' }, 'Change password')
  await forgetful.getByRole('link', { name: 'Sign in' }).click()
  await fillAndSubmit(forgetful, { Email: 'grace@example.com', Password: 'another four words' }, 'Sign in')
  await heading(forgetful, 'Overview')
})

test('a member sends one email to one contact, and no key was used for it', async () => {
  const { page, project } = await openAsOwner('owner-of-bob@example.com')
  const asOwner = async (path: string, data: object) => {
    const answer = await page.context().request.post(path, { data, headers: { 'x-project-id': project.id } })
    expect(answer.status()).toBe(201)
    return answer.json()
  }
  await asOwner(`/projects/${project.id}/members`, { email: 'bob@example.com', role: 'MEMBER' })
  const bob = await open()
  await bob.goto(await linkInEmailTo('bob@example.com', /invited/))
  await bob.getByRole('link', { name: 'Create an account and join' }).click()
  await fillAndSubmit(bob, { Password: PASSWORD }, 'Create account')
  await heading(bob, 'Overview')

  const { id: contactId } = await asOwner('/contacts', { email: 'reader@example.com' })
  await bob.goto(`/app/p/${project.id}/contacts/${contactId}`)
  await button(bob, 'Send an email').click()
  await bob.getByText('The project has no verified domain to send from. Ask an owner or admin to add one.').waitFor()
  await asOwner('/domains', { domain: 'single.example' })
  await bob.reload()
  await button(bob, 'Send an email').click()
  await fillAndSubmit(bob, { Subject: 'Just for you', Text: 'Hello' }, 'Send the email')
  await heading(bob, 'Just for you')
  await bob.getByText('Delivered').or(bob.getByText('Sent')).first().waitFor()

  await page.goto(`/app/p/${project.id}/settings/keys`)
  await heading(page, 'Keys')
  await page.getByText('Not used yet').first().waitFor()
  expect(await page.getByText('Not used yet').count()).toBe(2)
})

test('settings are saved, unsaved work survives a reload, and a deleted project is no longer found', async () => {
  const { page, project } = await openAsOwner('settings@example.com')
  await page.goto(`/app/p/${project.id}/settings/tracking`)
  await page.getByRole('radio', { name: /^Never/ }).check()
  await button(page, 'Save').click()
  await page.getByText(/^Saved \d/).waitFor()
  await page.getByRole('link', { name: 'General' }).click()
  await page.getByLabel('Language').selectOption('Deutsch')
  await fillAndSubmit(page, { 'Project name': '<b>Acme</b> {{7*7}}' }, 'Save')
  await page.getByText(/^Saved \d/).waitFor()
  await page.reload()
  await expect.poll(() => page.getByLabel('Project name').inputValue()).toBe('<b>Acme</b> {{7*7}}')
  await expect.poll(() => page.getByLabel('Language').inputValue()).toBe('de')
  await page.getByRole('link', { name: 'Tracking' }).click()
  await expect.poll(() => page.getByRole('radio', { name: /^Never/ }).isChecked()).toBe(true)
  await page.getByRole('link', { name: 'General' }).click()

  await page.getByLabel('Project name').fill('not saved')
  await page.getByText('Not saved').waitFor()
  await page.getByRole('link', { name: 'Overview' }).click()
  await heading(page, 'Leave without saving?')
  await button(page, 'Leave').click()
  await heading(page, 'Overview')
  await page.goto(`/app/p/${project.id}/settings`)
  await page.getByText(/Your unsaved changes .* are back/).waitFor()
  await expect.poll(() => page.getByLabel('Project name').inputValue()).toBe('not saved')
  await button(page, 'Discard').click()

  await button(page, 'Delete project…').click()
  await fillAndSubmit(page, { 'Type “<b>Acme</b> {{7*7}}” to confirm': '<b>Acme</b> {{7*7}}' }, 'Delete project')
  await heading(page, 'Name your first project')
  await page.goto(`/app/p/${project.id}/settings/keys`)
  await heading(page, 'No such project')
})

test('a user sees where they are signed in, and ends a session that is not theirs', async () => {
  const { page, project } = await openProject()
  const stranger = await open({ userAgent: 'Mozilla/5.0 (Windows NT 10.0; rv:133.0) Gecko/20100101 Firefox/133.0' })
  await stranger.context().request.post('/auth/login', { data: { email: OWNER, password: PASSWORD } })
  await stranger.goto(`/app/p/${project.id}`)
  await heading(stranger, 'Overview')

  await page.goto(`/app/p/${project.id}/settings/sessions`)
  await page.getByText('This browser').waitFor()
  await button(page, 'End the session of Firefox on Windows').click()
  await page.getByText('Firefox on Windows').waitFor({ state: 'detached' })
  // Without waiting for the link: a request that the page makes by itself may have led to the sign-in before.
  await stranger.getByRole('link', { name: 'Templates' }).evaluateAll(([link]) => (link as HTMLElement | undefined)?.click())
  await heading(stranger, 'Welcome back')
  await stranger.context().close()
  expect(new Set(takeErrors().map((error) => error.slice(0, 3)))).toEqual(new Set(['401']))
  expect(await page.getByText('This browser').count()).toBe(1)
})
