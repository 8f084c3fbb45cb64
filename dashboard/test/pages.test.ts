import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { gzipSync } from 'node:zlib'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { PHONE, showPage } from './support/browser.ts'
import { button, fillAndSubmit, heading, startDashboard } from './support/dashboard.ts'
import { FULL_ONLY, fillPath, PAGES, SIGNED_OUT } from './support/pages.ts'
import { seedProject } from './support/seed.ts'

const { open, openAsOwner } = startDashboard()
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Violations of the WCAG rules of axe that are serious or critical. Evaluated by the browser's protocol, which no CSP restricts. */
async function seriousViolations(page: Page) {
  await page.evaluate(AXE)
  const { violations } = await page.evaluate(() => (window as unknown as { axe: { run: () => Promise<AxeResults> } }).axe.run())
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]!.html.slice(0, 160)} ${nodes[0]!.failureSummary}`)
}

test('no page has a serious accessibility problem or is wider than a phone, in light and in dark', async () => {
  const { page, project } = await openAsOwner('reader@example.com', { colorScheme: 'light' })
  const empty = project
  const full = (await (await page.context().request.post('/users/@me/projects', { data: { name: 'Full' } })).json()) as typeof project
  const { ids } = await seedProject(page, full, 30)
  const phone = await open({ ...PHONE, colorScheme: 'dark', storageState: await page.context().storageState() })
  const signedOut = await open({ ...PHONE, colorScheme: 'dark' })

  const problems: string[] = []
  const check = async (shown: Page, name: string) => {
    problems.push(...(await seriousViolations(shown)).map((violation) => `${name}: ${violation}`))
    const [width, screen] = await shown.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth] as const)
    if (width > screen) problems.push(`${name}: ${width} px wide on a screen of ${screen} px`)
  }

  for (const [name, path] of Object.entries(SIGNED_OUT)) {
    await showPage(signedOut, path)
    await check(signedOut, name)
  }
  const emptyPages = Object.entries(PAGES).map(([name, path]) => [`${name}, empty`, fillPath(path, empty.id)] as const)
  const fullPages = Object.entries({ ...PAGES, ...FULL_ONLY }).map(([name, path]) => [name, fillPath(path, full.id, ids)] as const)
  const checkAll = async (shown: Page, how: string, paths: (readonly [string, string])[]) => {
    for (const [name, path] of paths) {
      await showPage(shown, path)
      await check(shown, `${name}, ${how}`)
    }
  }
  // Each page once in light and once in dark: every combination would take twice as long.
  await Promise.all([checkAll(page, 'light', emptyPages), checkAll(phone, 'dark, on a phone', fullPages)])
  expect(problems).toEqual([])
  const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))
  expect(stored.match(/[sp]k_[0-9a-f]{8}/)).toBe(null)
}, 180_000)

test('signing in and opening the first page loads at most 250 KB of compressed JavaScript', async () => {
  const { page } = await openAsOwner('budget@example.com')
  const sizes: Promise<number>[] = []
  page.on('response', (response) => {
    if (new URL(response.url()).pathname.endsWith('.js')) sizes.push(response.body().then((body) => gzipSync(body).length))
  })
  await showPage(page, '/sign-in')
  await heading(page, 'Overview')
  const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  expect(sizes.length).toBeGreaterThan(3)
  expect(total).toBeLessThan(250_000)
})

test('a new user sends a first email in the sandbox and sees it, within a minute', async () => {
  const { page } = await openAsOwner('first@example.com')
  const begun = Date.now()
  await page.goto('/app')
  await button(page, 'Send the email').click()
  await page.getByText('My first email with Sterna.', { exact: false }).last().waitFor()
  await page.locator('pre', { hasText: 'Subject: It works' }).waitFor()
  await button(page, /Done Send yourself an email/).waitFor()
  expect(Date.now() - begun).toBeLessThan(60_000)
  await page.locator('ul', { hasText: 'It works' }).first().waitFor()
})

test('contacts are added, found, selected, unsubscribed as a job, changed and deleted', async () => {
  const { page, project } = await openAsOwner('people@example.com')
  await page.goto(`/app/p/${project.id}/contacts`)
  await heading(page, 'Nobody here yet')
  await button(page, 'Add your first contacts').click()
  const addresses = Array.from({ length: 30 }, (_, index) => `person${index}@example.com`)
  await fillAndSubmit(page, { Addresses: addresses.join('\n') }, 'Add 30 contacts')
  await page.getByText('30 created').waitFor()
  await page.reload()
  await page.getByText('30 created').waitFor()
  await button(page, 'Dismiss Add 30 contacts').click()

  await page.getByLabel('Search by address').fill('person1')
  await page.waitForURL(/q=person1/)
  await page.getByRole('link', { name: 'person19@example.com' }).waitFor()
  await expect.poll(() => page.locator('[data-row]').count()).toBe(11)
  await page.getByLabel('Search by address').fill('')
  await page.waitForURL((url) => !url.search.includes('q='))
  await expect.poll(() => page.locator('[data-row]').count()).toBe(25)

  await page.getByLabel('Select this page').check()
  await page.getByText('25 contacts selected').waitFor()
  await page.getByRole('button', { name: 'Select all 30 that match' }).click()
  await page.getByLabel('Select person29@example.com').uncheck()
  await page.getByText('29 contacts selected').waitFor()
  await button(page, 'Unsubscribe').click()
  await page.getByText('29 changed').waitFor()
  await page.goto(`/app/p/${project.id}/contacts?subscribed=true`)
  await page.getByRole('link', { name: 'person29@example.com' }).waitFor()
  await expect.poll(() => page.locator('[data-row]').count()).toBe(1)

  await page.keyboard.press('j')
  await page.keyboard.press('Space')
  await page.getByRole('complementary', { name: 'person29@example.com' }).waitFor()
  expect(page.url()).toContain('peek=')
  await page.keyboard.press('Escape')
  await page.getByRole('complementary', { name: 'person29@example.com' }).waitFor({ state: 'detached' })
  await page.keyboard.press('Enter')
  await heading(page, 'person29@example.com')

  await button(page, 'Add a field').click()
  await fillAndSubmit(page, { 'Name of the field': 'note', Value: '<img src=x onerror=alert(1)>' }, 'Add field')
  await page.getByText('<img src=x onerror=alert(1)>', { exact: true }).waitFor()
  await button(page, 'Remove note').click()
  await button(page, 'Undo').first().click()
  await page.getByText('<img src=x onerror=alert(1)>', { exact: true }).waitFor()

  await button(page, 'More actions').click()
  await page.getByRole('menuitem', { name: 'Delete…' }).click()
  await button(page, 'Delete contact').click()
  await heading(page, 'Contacts')
  await page.goto(`/app/p/${project.id}/contacts/fields`)
  await button(page, /^note/).click()
  await button(page, 'Delete field…').click()
  await button(page, 'Delete field').click()
  await page.getByText('No fields yet').waitFor()
})

test('an event that is tracked appears in the list and in the timeline, and the palette finds the contact', async () => {
  const { page, project } = await openAsOwner('events@example.com')
  await page.goto(`/app/p/${project.id}/events`)
  await heading(page, 'Waiting for the first event…')
  await button(page, 'Track a test event').click()
  await fillAndSubmit(page, { Event: 'trial started', Contact: 'ada@example.com', Data: '{"plan": "pro"}' }, 'Track the event')
  await page.getByRole('button', { name: 'trial started' }).first().waitFor()
  await page.getByRole('link', { name: 'ada@example.com' }).waitFor()

  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search contacts, pages and actions' }).fill('ada@')
  await page.getByRole('option', { name: 'ada@example.com' }).waitFor()
  await page.keyboard.press('Enter')
  await heading(page, 'ada@example.com')
  await page.getByText('trial started', { exact: true }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('d')
  await heading(page, 'Domains')

  await button(page, 'Add domain').click()
  await page.getByRole('dialog').getByLabel('Domain', { exact: true }).fill('journey.example.com')
  await page.getByRole('dialog').getByRole('button', { name: 'Add domain' }).click()
  await page.getByText('Signature (DKIM)').waitFor()
  await button(page, 'Delete journey.example.com').click()
  await fillAndSubmit(page, { 'Type “journey.example.com” to confirm': 'journey.example.com' }, 'Delete domain')
  await page.getByText('No domain yet').waitFor()
})

test('an email is followed from the log to its story and its content, and read in the sandbox', async () => {
  const { page, project } = await openAsOwner('mail@example.com')
  await page.goto(`/app/p/${project.id}/emails`)
  await heading(page, 'No email yet')
  await button(page, 'Send the first email').click()
  await fillAndSubmit(page, { To: 'bounce@example.com', Subject: 'Hello <b>', Text: 'Written by hand' }, 'Send the email')
  await heading(page, 'Hello <b>')
  const story = page.getByRole('list', { name: 'Story' })
  await story.getByText('Bounced', { exact: true }).waitFor()
  await story.getByText('There is no mailbox with this address.').waitFor()
  await story.getByText('550 5.1.1 No such user (sandbox)').waitFor()
  await page.frameLocator('iframe').getByText('Written by hand').waitFor()
  await page.getByRole('tab', { name: 'Preview' }).press('ArrowLeft')
  await page.getByText('<p>Written by hand</p>').waitFor()
  await page.waitForURL(/tab=html/)

  await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'Emails' }).click()
  await button(page, 'Filter').click()
  await button(page, 'Status').click()
  await page.getByLabel('Bounced').check()
  await button(page, 'Apply').click()
  await page.waitForURL(/status=BOUNCED/)
  await page.getByRole('link', { name: 'bounce@example.com' }).waitFor()
  await page.goto(`/app/p/${project.id}/emails?domain=example.net`)
  await heading(page, 'Nothing matches these filters')

  await page.keyboard.press('g')
  await page.keyboard.press('i')
  await heading(page, 'Sandbox')
  await button(page, 'Send a test').click()
  const link = 'Read https://example.com/a'
  await fillAndSubmit(page, { To: 'someone@example.com', Subject: 'Second', Text: link }, 'Send the email')
  await button(page, /^someone@example.com/).click()
  await heading(page, 'Second')
  await page.frameLocator('iframe').getByText(link).waitFor()
  await page.getByRole('tab', { name: 'Source' }).click()
  await page.locator('pre', { hasText: 'Subject: Second' }).waitFor()
  await page.getByRole('tab', { name: 'Headers' }).click()
  await page.getByRole('definition').filter({ hasText: 'Second' }).waitFor()
  await page.reload()
  await page.getByRole('definition').filter({ hasText: 'Second' }).waitFor()
  await page.getByRole('link', { name: 'What happened to it' }).click()
  await page.getByText('Accepted by the receiving server').waitFor()
})

test('an email that waits says why, and a failed one is sent again as a new one', async () => {
  const { page, project } = await openAsOwner('again@example.com')
  const headers = { authorization: `Bearer ${project.secret}` }
  await page.context().request.post('/domains', { data: { domain: 'again.example.com' }, headers })
  const openSent = async (message: object) => {
    const data = { from: 'hello@again.example.com', body: '<p>Hello</p>', ...message }
    const sent = await (await page.context().request.post('/v1/send', { data, headers })).json()
    const id = sent.data.emails[0].email as string
    await page.goto(`/app/p/${project.id}/emails/${id}`)
    return id
  }
  await openSent({ to: 'delay@example.com', subject: 'Later' })
  await page.getByText('Waits for another attempt').waitFor()
  await page.getByText('451 4.3.0 Try again later (sandbox)').waitFor()

  const failed = await openSent({ to: 'ada@example.com', subject: '{{ long }}', data: { long: 'x'.repeat(1_000) } })
  await button(page, 'Resend').click()
  await page.getByText('Resend of').waitFor()
  expect(page.url()).not.toContain(failed)
  await page.getByRole('link', { name: failed }).click()
  await page.waitForURL(new RegExp(failed))
})

test('addresses and domains are suppressed, tested, found and lifted', async () => {
  const { page, project } = await openAsOwner('blocked@example.com')
  await page.goto(`/app/p/${project.id}/suppressions`)
  await heading(page, 'Nobody is blocked')
  await button(page, 'Suppress someone…').click()
  await page.getByLabel('Addresses or domains').fill('Ada <ada@example.com>, example.org\nno@domain@at@all.x')
  await button(page, 'Suppress 3 entries').click()
  await page.getByText('Neither an address nor a domain: no@domain@at@all.x').waitFor()
  await button(page, 'Cancel').click()
  await page.getByText('2 suppressed, 1 is neither an address nor a domain').first().waitFor()

  await button(page, 'Test an address').click()
  await fillAndSubmit(page, { Address: 'anyone@example.org' }, 'Test')
  await page.getByText('The whole domain is suppressed.').waitFor()
  await button(page, 'Close').click()

  await page.getByLabel('Part of an address or domain').fill('ada')
  await page.waitForURL(/q=ada/)
  await expect.poll(() => page.locator('[data-row]').count()).toBe(1)
  await button(page, 'ada@example.com').press('Space')
  const panel = page.getByRole('complementary', { name: 'ada@example.com' })
  await panel.getByRole('button', { name: 'Lift…' }).click()
  await button(page, 'Lift the suppression').click()
  await page.getByText('ada@example.com is no longer suppressed').first().waitFor()
  await heading(page, 'Nothing matches these filters')
})

test('a list is a link: filters, order and page come back with Back and reload, and keys do nothing while typing', async () => {
  const { page, project } = await openAsOwner('links@example.com')
  await seedProject(page, project, 60)
  await page.goto(`/app/p/${project.id}/contacts`)
  await button(page, 'Address').click()
  await page.waitForURL(/sort=email&dir=asc/)
  const first = 'ada.0@example.com'
  await page.getByRole('link', { name: first, exact: true }).waitFor()
  await button(page, 'Next').click()
  await page.waitForURL(/cursor=/)
  await page.getByRole('link', { name: first, exact: true }).waitFor({ state: 'detached' })
  const second = await page.locator('[data-row-link]').first().textContent()
  await page.reload()
  await page.getByRole('link', { name: second!, exact: true }).waitFor()
  await button(page, 'Previous').click()
  await page.getByRole('link', { name: first, exact: true }).waitFor()

  await button(page, 'Filter').click()
  await button(page, 'Subscription').click()
  await button(page, 'Unsubscribed').click()
  await page.getByText('Subscription: Unsubscribed').waitFor()
  expect(new URL(page.url()).searchParams.get('subscribed')).toBe('false')
  await page.keyboard.press('/')
  await page.keyboard.type('c?xj[')
  expect(await page.getByLabel('Search by address').inputValue()).toBe('c?xj[')
  expect(await page.getByRole('dialog').count()).toBe(0)
  await page.getByLabel('Search by address').fill('')
  await page.keyboard.press('Escape')
  await page.keyboard.press('?')
  await heading(page, 'Keyboard shortcuts')
  await page.keyboard.press('Escape')
  await page.goBack()
  await page.getByText('Subscription: Unsubscribed').waitFor({ state: 'detached' })
})

test('a template is written with completion, checked, previewed as a person, saved, tested, restored, duplicated and deleted', async () => {
  const { page, project } = await openAsOwner('writer@example.com')
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
  await page.getByLabel('Begin with').selectOption('paste')
  await fillAndSubmit(page, { Name: 'Plan', HTML: '<h1>Your plan</h1>\n<p>It is ' }, 'Create template')
  await heading(page, 'Plan')

  const code = page.getByRole('textbox', { name: 'Body' })
  await code.click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('{{ pl')
  await page.getByRole('option', { name: /^plan/ }).click()
  await expect.poll(() => code.textContent()).toMatch(/\{\{ plan$/)
  await page.keyboard.type(' }}</p><img src="data:,">')
  await page.getByText('An image has no alt text.').first().waitFor()
  await button(page, 'Line 2').click()

  await page.getByText(/^Sender and description/).click()
  await page.getByLabel('From address').fill('hello@writer.example.com')

  await button(page, 'Preview as Sample person').click()
  await page.getByLabel('Search people').fill('alan')
  await button(page, 'alan@example.com').click()
  await page.waitForURL(/as=/)
  const frame = page.frameLocator('iframe[title="Preview of the email"]')
  await frame.getByText('It is free').waitFor()
  await button(page, 'Text').click()
  await page.locator('pre', { hasText: 'It is free' }).waitFor()
  await button(page, 'Phone').click()
  expect(await page.locator('iframe').evaluate((element) => element.clientWidth)).toBeLessThanOrEqual(375)

  await page.getByText(/Saving makes version 2/).waitFor()
  await page.reload()
  await page.getByText('Your unsaved changes', { exact: false }).waitFor()
  await code.click()
  await page.keyboard.press('Control+s')
  await page.getByText(/^Saved \d/).waitFor()
  const stored = (await (await request.get('/templates', { headers })).json()) as { data: { body: string }[] }
  expect(stored.data[0]!.body).toBe('<h1>Your plan</h1>\n<p>It is {{ plan }}</p><img src="data:,">')

  await button(page, 'Send test…').click()
  await button(page, 'Send test').click()
  await page.getByText('A test is on its way to writer@example.com').first().waitFor()

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
  await expect.poll(() => page.locator('[data-row]').count()).toBe(1)
})
