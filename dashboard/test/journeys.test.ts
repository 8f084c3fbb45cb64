import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PASSWORD, PHONE } from './support/browser.ts'
import { findPageProblems } from './support/checks.ts'
import { button, fillAndSubmit, heading, OWNER, startDashboard } from './support/dashboard.ts'
import { seedProject } from './support/seed.ts'

const { open, openProject, takeErrors, countEmails, whileMetered } = startDashboard()

test('a new user gets from signing up to a tested template: first email, domain, import with a mapping, preview as a person, timeline', async () => {
  const page = await open()
  const begun = Date.now()
  await page.goto('/sign-up')
  await fillAndSubmit(page, { Email: 'newcomer@example.com', Password: PASSWORD }, 'Create account')
  await fillAndSubmit(page, { 'Project name': 'Journey' }, 'Create project')
  await button(page, 'Marketing').click()
  const steps = page.getByRole('heading', { level: 3 })
  expect(await steps.allTextContents()).toEqual([
    'Send yourself an email',
    'Bring people',
    'Add your domain',
    'Send for real',
    'Call the API',
  ])
  await button(page, 'Send the email').click()
  await page.locator('pre', { hasText: 'Subject: It works' }).waitFor()
  await button(page, /Done Send yourself an email/).waitFor()
  expect(Date.now() - begun).toBeLessThan(60_000)

  await button(page, /Add your domain/).click()
  await page.getByRole('link', { name: 'Open domains' }).click()
  await button(page, 'Add domain').click()
  await page.getByRole('dialog').getByLabel('Domain', { exact: true }).fill('journey.example.com')
  await page.getByRole('dialog').getByRole('button', { name: 'Add domain' }).click()
  await page.getByText('Signature (DKIM)').first().waitFor()

  await page.keyboard.press('g')
  await page.keyboard.press('c')
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

  await page.keyboard.press('g')
  await page.keyboard.press('t')
  await button(page, 'Write your first template').click()
  await page.getByLabel('Begin with').selectOption('paste')
  await fillAndSubmit(page, { Name: 'Hello', HTML: '<p>Hello {{ firstName ?? "you" }}, plan {{ Tarif }}</p>' }, 'Create template')
  await heading(page, 'Hello')
  await page.getByText(/^Sender and description/).click()
  await page.getByLabel('From address').fill('hello@journey.example.com')
  await button(page, 'Preview as Sample person').click()
  await button(page, 'ada@example.com').click()
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

test('a file above 5 MB is imported in parts, and its failed rows have the numbers that they have in the file', async () => {
  const { page, project } = await openProject()
  const rows = Array.from({ length: 90 }, (_, n) => `p${n}@parts.example,${'x'.repeat(60_000)}`)
  const csv = Buffer.from(['email,note', ...rows, 'no address,y'].join('\n'))
  await page.goto(`/app/p/${project.id}/contacts/import`)
  await page.getByLabel('Choose a file').setInputFiles({ name: 'large.csv', mimeType: 'text/csv', buffer: csv })
  await page.getByText('sent in 2 parts').waitFor()
  await page.getByLabel('note becomes').selectOption('Skip it')
  await button(page, 'Check the file').click()
  await page.getByRole('row', { name: /^92 no address/ }).waitFor()
  await button(page, 'Import 90 rows').click()
  await page.getByRole('row', { name: /^92 no address/ }).waitFor()
})

test('a CSV is imported into a segment, runs on in another tab, and its failed rows are a file', async () => {
  const { page, project } = await openProject()
  const headers = { 'x-project-id': project.id }
  await page.context().request.post('/contacts', { data: { email: 'ada@example.com', data: { seats: 3 } }, headers })
  await page.context().request.post('/segments', { data: { name: 'Fair', type: 'STATIC' }, headers })
  await page.goto(`/app/p/${project.id}/contacts/import`)
  await page.getByLabel('Or paste rows').fill('ada@example.com,many,no\ngrace@gmial.com,4,yes\nada@example.com,5,no')
  await button(page, 'Use these rows').click()
  await page.getByText('The first row is no header').waitFor()
  await page.getByLabel('column 2 becomes').selectOption('Field seats')
  await page.getByText('The field holds numbers; here is “many”.').waitFor()
  await page.getByLabel('column 3 becomes').selectOption('The address')
  await page.getByText('Only one column can hold the addresses.').waitFor()
  expect(await button(page, 'Check the file').isDisabled()).toBe(true)
  await page.getByLabel('column 3 becomes').selectOption('Subscribed: yes or no')
  await page.getByLabel('Add everyone to a segment').selectOption('Fair')
  await button(page, 'Check the file').click()
  await page.getByText('Perhaps grace@gmail.com').waitFor()
  await page.getByText('An earlier row has this address').waitFor()
  await button(page, 'Choose another').click()

  const rows = [
    'email,subscribed',
    'ada@example.com,perhaps',
    'alan@example.com,no',
    ...Array.from({ length: 5 }, (_, n) => `p${n}@example.com,`),
  ]
  await page.getByLabel('Choose a file').setInputFiles({ name: 'fair.csv', mimeType: 'text/csv', buffer: Buffer.from(rows.join('\n')) })
  await page.getByLabel('Add everyone to a segment').selectOption('Fair')
  await button(page, 'Check the file').click()
  await button(page, 'Import 6 rows').click()
  await heading(page, 'Imported')
  const other = await page.context().newPage()
  await other.goto(`/app/p/${project.id}/contacts`)
  await other.getByRole('region', { name: 'Jobs' }).getByText('6 created, 1 failed').waitFor()
  await other.close()

  const download = page.waitForEvent('download')
  await button(page, 'Download').click()
  expect(readFileSync(await (await download).path(), 'utf8')).toContain('2,"ada@example.com",')
  await page.getByRole('link', { name: 'See the contacts' }).click()
  await page.getByText('Segment: Fair').waitFor()
  await page.getByRole('link', { name: 'alan@example.com' }).waitFor()
})

test('a contact unsubscribes on a phone, and the dashboard says how', async () => {
  const { page, project } = await openProject()
  const { request } = page.context()
  const headers = { authorization: `Bearer ${project.secret}` }
  const post = async (path: string, data: object) => (await request.post(path, { data, headers })).json()
  await post('/domains', { domain: 'news.example.com' })
  const template = await post('/templates', {
    name: 'News',
    subject: 'News',
    body: '<p>News</p>',
    type: 'MARKETING',
    from: 'news@news.example.com',
  })
  const sent = await post('/v1/send', { to: 'reader@example.com', template: template.id, subscribed: true })
  const { email, contact } = sent.data.emails[0] as { email: string; contact: { id: string } }
  const preview = await (await request.get(`/emails/${email}/preview`, { headers })).json()

  const phone = await open({ ...PHONE, hasTouch: true })
  await phone.goto(/href="([^"]*\/unsubscribe\/[^"]+)"/.exec(preview.html)![1]!)
  expect(await findPageProblems(phone, 'unsubscribe')).toEqual([])
  await phone.getByRole('button', { name: 'Unsubscribe' }).tap()
  await heading(phone, 'You are unsubscribed')
  expect(await findPageProblems(phone, 'unsubscribed')).toEqual([])

  await page.goto(`/app/p/${project.id}/contacts/${contact.id}`)
  await page.getByRole('definition').filter({ hasText: 'Unsubscribed' }).waitFor()
  await page.getByRole('region', { name: 'Timeline' }).getByText('Unsubscribed', { exact: true }).waitFor()
})

test('contacts are added, found, selected, unsubscribed as a job, exported, saved as a segment, changed and deleted', async () => {
  const { page, project } = await openProject()
  await page.goto(`/app/p/${project.id}/contacts`)
  await heading(page, 'Nobody here yet')
  await button(page, 'Add your first contacts').click()
  const addresses = Array.from({ length: 30 }, (_, index) => `person${index}@example.com`)
  await fillAndSubmit(page, { Addresses: addresses.join('\n') }, 'Add 30 contacts')
  await page.getByText('30 created').waitFor()
  await page.reload()
  await page.getByText('30 created').waitFor()
  await button(page, 'Dismiss Add 30 contacts').click()
  await page.getByText('30 created').waitFor({ state: 'detached' })

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
  await button(page, 'Filter').click()
  await button(page, 'Subscription').click()
  await button(page, 'Subscribed').click()
  await page.getByRole('link', { name: 'person29@example.com' }).waitFor()
  await expect.poll(() => page.locator('[data-row]').count()).toBe(1)

  await button(page, 'Export as CSV').click()
  const download = page.waitForEvent('download')
  await button(page, 'Download the file').click()
  const exported = readFileSync(await (await download).path(), 'utf8')
  expect(
    exported
      .trim()
      .split('\r\n')
      .map((row) => row.split(',')[0]),
  ).toEqual(['"email"', '"person29@example.com"'])
  await button(page, 'Dismiss Export 1 contact').click()
  await button(page, 'Save as segment…').click()
  await fillAndSubmit(page, { Name: 'Still here' }, 'Save segment')
  await page.getByText('Segment: Still here').waitFor()
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
  await page.getByRole('link', { name: 'Fields' }).click()
  await button(page, /^note/).click()
  await button(page, 'Delete field…').click()
  await button(page, 'Delete field').click()
  await page.getByText('No fields yet').waitFor()
})

test('an event that is tracked appears in the list and in the timeline, and the palette finds the contact', async () => {
  const { page, project } = await openProject()
  await page.goto(`/app/p/${project.id}/events`)
  await heading(page, 'Waiting for the first event…')
  await button(page, 'Track a test event').click()
  await fillAndSubmit(page, { Event: 'trial started', Contact: 'ada@example.com', Data: '{"plan": "pro"}' }, 'Track the event')
  await page.getByRole('button', { name: 'trial started' }).first().waitFor()
  await page.getByRole('link', { name: 'ada@example.com' }).waitFor()
  await page.getByRole('navigation', { name: 'Event names' }).getByRole('button', { name: 'trial started' }).first().click()
  await page.getByText('People in 30 days').waitFor()
  await page.getByRole('columnheader', { name: 'plan' }).waitFor()

  await page.keyboard.press('Control+k')
  const palette = page.getByRole('combobox', { name: 'Search contacts, pages and actions' })
  await page.getByRole('option', { name: 'Track a test event' }).waitFor()
  await palette.fill('new template')
  await page.getByRole('option', { name: 'New template' }).click()
  await heading(page, 'New template')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await palette.fill('ada@')
  await page.getByRole('option', { name: 'ada@example.com' }).waitFor()
  await page.keyboard.press('Enter')
  await heading(page, 'ada@example.com')
  await page.getByText('trial started', { exact: true }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('d')
  await heading(page, 'Domains')

  await button(page, 'Add domain').click()
  await page.getByRole('dialog').getByLabel('Domain', { exact: true }).fill('tracked.example.com')
  await page.getByRole('dialog').getByRole('button', { name: 'Add domain' }).click()
  await page.getByText('Signature (DKIM)').waitFor()
  await button(page, 'Delete tracked.example.com').click()
  await fillAndSubmit(page, { 'Type “tracked.example.com” to confirm': 'tracked.example.com' }, 'Delete domain')
  await page.getByText('No domain yet').waitFor()
})

test('an email is followed from the log to its story and its content, and read in the sandbox', async () => {
  const { page, project } = await openProject()
  const headers = { 'x-project-id': project.id }
  const campaign = { name: 'Spring news', subject: 'S', body: '<p>B</p>', from: 'hello@spring.example.com', audienceType: 'ALL' }
  await page.context().request.post('/domains', { data: { domain: 'spring.example.com' }, headers })
  await page.context().request.post('/campaigns', { data: campaign, headers })
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
  await page.getByRole('tab', { name: 'Headers' }).press('ArrowLeft')
  await page.getByText('<p>Written by hand</p>').waitFor()
  await page.waitForURL(/tab=html/)
  await page.getByRole('tab', { name: 'Headers' }).click()
  await page.getByRole('definition').filter({ hasText: 'bounce@example.com' }).last().waitFor()

  await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'Emails' }).click()
  await button(page, 'Filter').click()
  await button(page, 'Status').click()
  await page.getByLabel('Bounced').check()
  await button(page, 'Apply').click()
  await page.waitForURL(/status=BOUNCED/)
  await page.getByRole('link', { name: 'bounce@example.com' }).waitFor()
  await button(page, 'Export as CSV').click()
  const download = page.waitForEvent('download')
  await button(page, 'Download the file').click()
  expect(readFileSync(await (await download).path(), 'utf8')).toContain('bounce@example.com')
  await button(page, 'Dismiss Export 1 email').click()
  await button(page, 'Filter').click()
  await button(page, 'Campaign').click()
  await button(page, 'Spring news').click()
  await page.getByText('Campaign: Spring news').waitFor()
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
  await page.getByLabel('Recipient or subject').fill('bounce')
  await page.waitForURL(/q=bounce/)
  await expect.poll(() => page.locator('[data-row]').count()).toBe(1)
  await page.getByLabel('Recipient or subject').fill('')
  await button(page, /^someone@example.com/).click()
  await page.getByRole('tab', { name: 'HTML' }).click()
  await button(page, 'Dark').click()
  expect(await page.locator('iframe').evaluate((frame) => frame.style.colorScheme)).toBe('dark')
  await page.getByRole('link', { name: 'What happened to it' }).click()
  await page.getByText('Accepted by the receiving server').waitFor()
})

test('an email that waits says why, and a failed one is sent again as a new one', async () => {
  const { page, project } = await openProject()
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
  // What could not be rendered for sending cannot be rendered for looking at it either.
  await heading(page, 'Could not render this email')
  expect(new Set(takeErrors().map((error) => error.replace(/\/[0-9a-f-]{36}\//, '/*/')))).toEqual(new Set(['422 GET /emails/*/preview']))
})

test('addresses and domains are suppressed, tested, found and lifted', async () => {
  const { page, project } = await openProject()
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
  await button(page, 'Export as CSV').click()
  const download = page.waitForEvent('download')
  await button(page, 'Download the file').click()
  const exported = readFileSync(await (await download).path(), 'utf8')
    .trim()
    .split('\r\n')
  expect([exported.length, exported[1]?.includes('ada@example.com')]).toEqual([2, true])
  await button(page, 'Dismiss Export 1 suppression').click()
  await button(page, 'ada@example.com').press('Space')
  const panel = page.getByRole('complementary', { name: 'ada@example.com' })
  await panel.getByRole('button', { name: 'Lift…' }).click()
  await button(page, 'Lift the suppression').click()
  await page.getByText('ada@example.com is no longer suppressed').first().waitFor()
  await heading(page, 'Nothing matches these filters')
})

test('a list is a link: filters, order and page come back with Back and reload, and keys do nothing while typing', async () => {
  const { page, project } = await openProject()
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
  await expect.poll(() => page.locator('[data-row]').count()).toBe(1)
})

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
  await page.getByText('Choose a template.').first().waitFor()
  expect(await button(page, 'Save').isDisabled()).toBe(true)
  await page.getByLabel('Template', { exact: true }).selectOption('Hello')
  await add('Send an email', 'Wait some time')
  await page.getByLabel('Wait', { exact: true }).fill('2')
  await add('Wait some time', 'Ask a question')
  await page.getByLabel('Field', { exact: true }).fill('data.plan')
  await page.getByLabel('Value', { exact: true }).fill('pro')
  await add('Ask a question, yes', 'Leave the workflow')
  await button(page, 'Undo').click()
  await button(page, 'Add a step after Ask a question, yes').waitFor()
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
  await path.getByText('Takes the branch yes.').waitFor()
  await page.getByText('The workflow is disabled: no contact enters it.').waitFor()

  await button(page, 'Turn on…').click()
  await page.getByText('a contact enters when signup happens', { exact: false }).waitFor()
  await page.getByText('It sends Hello.').waitFor()
  await button(page, 'Turn on').click()
  await button(page, 'Turn off').waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('o')
  await button(page, /Done Send for real/).waitFor()
  await page.goBack()
  await page.getByRole('link', { name: 'Executions' }).click()
  await button(page, `Track signup for ${OWNER}`).click()
  await page.getByRole('button', { name: OWNER, exact: true }).click({ timeout: 20_000 })
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

  await page.getByRole('link', { name: 'Steps' }).click()
  await page.getByRole('link', { name: '2 here now' }).click()
  await page.waitForURL(/status=WAITING/)
  await expect.poll(() => page.locator('[data-row]').count()).toBe(2)
  await button(page, 'Cancel those that match…').click()
  await button(page, 'Cancel the executions').click()
  await page.getByText('2 executions were cancelled').first().waitFor()
  await heading(page, 'Nothing matches these filters')

  await page.keyboard.press('g')
  await page.keyboard.press('w')
  await page.getByRole('link', { name: '0 in it now' }).waitFor()
  await page.getByRole('link', { name: '2 executions' }).click()
  await expect.poll(() => page.locator('[data-row]').count()).toBe(2)

  const grace = await (await request.post('/contacts', { data: { email: 'grace@example.com' }, headers })).json()
  await page.goto(`/app/p/${project.id}/contacts/${grace.id}`)
  await button(page, 'More actions').click()
  await page.getByRole('menuitem', { name: 'Start a workflow…' }).click()
  await button(page, 'Start the workflow').click()
  await page.getByRole('complementary', { name: 'grace@example.com' }).waitFor()
  await page.goBack()
  await page.getByRole('region', { name: 'Timeline' }).getByRole('link', { name: 'Entered a workflow' }).waitFor()
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
  await heading(page, 'Steps without a way to them')
  await page.getByText('Theirs').first().waitFor()
})

test('a cap is set, refuses a campaign, and is raised; rates, figures and activity are shown', async () => {
  const { page, project } = await openProject()
  const { request } = page.context()
  const headers = { authorization: `Bearer ${project.secret}` }
  await request.post('/domains', { data: { domain: 'cap.example.com' }, headers })
  const data = { to: 'bounce@example.com', subject: 'Capped', body: '<p>Hello</p>', from: 'hello@cap.example.com' }
  await request.post('/v1/send', { data, headers })
  await request.post('/contacts', { data: { email: 'ada@example.com' }, headers })
  const news = { name: 'Capped news', subject: 'News', body: '<p>B</p>', from: 'hello@cap.example.com', audienceType: 'ALL' }
  const { data: campaign } = await (await request.post('/campaigns', { data: news, headers })).json()

  await page.goto(`/app/p/${project.id}/settings/billing`)
  await button(page, 'Set a cap… for campaigns').click()
  await page.getByLabel('Emails per period').fill('none')
  expect(await button(page, 'Save the cap').isDisabled()).toBe(true)
  await fillAndSubmit(page, { 'Emails per period': '10' }, 'Save the cap')
  await page.getByText('of 10 (0 %)').waitFor()
  await countEmails(project.id, 'campaigns', 10)
  await page.keyboard.press('g')
  await page.keyboard.press('o')
  await page.getByText('The cap of campaigns is reached.').waitFor()

  await page.goto(`/app/p/${project.id}/campaigns/${campaign.id}`)
  const send = button(page, 'Send to 1 person')
  await send.click()
  const dialog = page.getByRole('dialog')
  await whileMetered(async () => {
    await dialog.getByRole('button', { name: 'Send to 1 person' }).click()
    await dialog.getByText('The limit of emails of campaigns in this period is reached.').waitFor()
  })
  expect(takeErrors()).toEqual([`402 POST /campaigns/${campaign.id}/send`])
  await dialog.getByRole('link', { name: 'Raise the cap' }).click()
  await page.getByText('Reached. Campaigns do not start; scheduled ones pause.').waitFor()
  expect(await findPageProblems(page, 'a cap that is reached')).toEqual([])
  await button(page, 'Raise the cap… for campaigns').click()
  await fillAndSubmit(page, { 'Emails per period': '1,000' }, 'Save the cap')
  await page.getByText('of 1,000 (1 %)').waitFor()
  await page.getByText('Reached.').waitFor({ state: 'detached' })
  await page.goBack()
  await send.click()
  await dialog.getByRole('button', { name: 'Send to 1 person' }).click()
  await button(page, 'Send now').click()
  await page.getByRole('link', { name: '1 sent' }).waitFor()
  await page.goto(`/app/p/${project.id}/settings/billing`)

  await page.getByRole('link', { name: 'Security' }).click()
  await page.getByText('All rates are healthy.').waitFor()
  await page.getByText('This project was never stopped.').waitFor()

  await page.keyboard.press('g')
  await page.keyboard.press('a')
  await heading(page, 'Activity')
  await button(page, 'Filter').click()
  await button(page, 'Kind').click()
  await page.getByLabel('Email bounced').check()
  await button(page, 'Apply').click()
  await page.waitForURL(/kind=email\.bounced/)
  await expect.poll(() => page.locator('[data-row]').count(), { timeout: 15_000 }).toBe(1)
  await button(page, 'Email bounced').click()
  await page.getByRole('link', { name: 'Open what it is about' }).click()
  await heading(page, 'Capped')

  await page.keyboard.press('g')
  await page.keyboard.press('n')
  await heading(page, 'Analytics')
  await button(page, '7 days').click()
  await page.waitForURL(/days=7/)
  await page.getByRole('tab', { name: 'Deliverability' }).click()
  // Figures are counted a few seconds later.
  await expect
    .poll(
      async () => {
        await page.reload()
        return page.getByText('1 of sent or refused').count()
      },
      { timeout: 20_000 },
    )
    .toBe(1)
  await page.getByRole('link', { name: /bounced, open the list/ }).click()
  await page.waitForURL(/fact=bounced/)
  await expect.poll(() => page.locator('[data-row]').count()).toBe(1)
  await page.goBack()
  await page.getByRole('tab', { name: 'Overview' }).click()
  for (const [link, count] of [
    ['2 sent, open the list', 2],
    [/opened by people, open the list/, 0],
  ] as const) {
    await page.getByRole('link', { name: link }).click()
    if (count === 0) await heading(page, 'Nothing matches these filters')
    else await expect.poll(() => page.locator('[data-row]').count()).toBe(count)
    await page.goBack()
  }
})
