import { sql } from 'kysely'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import PostalMime from 'postal-mime'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { one } from '../../src/db/index.ts'
import { readPreferenceToken } from '../../src/preferences/link.ts'
import { startApp } from '../support/app.ts'
import { cloneDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { ENV, FORM, JSON_TYPE, MULTIPART, multipart, ONE_CLICK, pathOf, tokenOf, usePreferences } from './use-preferences.ts'

const { sterna, post, newProject, project, newContact } = usePreferences()

describe('one-click unsubscribe', () => {
  test.each<[string, string | undefined, Record<string, string>, string]>([
    ['urlencoded', ONE_CLICK, FORM, 'one-click'],
    ['multipart', multipart('List-Unsubscribe', 'One-Click'), MULTIPART, 'one-click'],
    ['JSON', '{"List-Unsubscribe":"One-Click"}', JSON_TYPE, 'one-click'],
    ['empty', undefined, {}, 'page'],
    ['empty, said to be a form', '', FORM, 'page'],
    ['empty, said to be JSON', '', JSON_TYPE, 'page'],
    [
      'urlencoded in another character set',
      ONE_CLICK,
      { 'content-type': 'application/x-www-form-urlencoded; charset=iso-8859-1' },
      'one-click',
    ],
    ['plain text', ONE_CLICK, { 'content-type': 'text/plain' }, 'one-click'],
    ['of no type', ONE_CLICK, { 'content-type': '' }, 'one-click'],
    ['of an invalid type', ONE_CLICK, { 'content-type': 'a/b/c; ;=' }, 'one-click'],
    ['bad JSON', '{', JSON_TYPE, 'page'],
    ['bad multipart', 'x', MULTIPART, 'page'],
    ['multipart without a boundary', 'x', { 'content-type': 'multipart/form-data' }, 'page'],
    ['of numbers', '[1]', JSON_TYPE, 'page'],
  ])('works if the body is %s: 200, no redirect, no cookie, and one event for repeated requests', async (_, body, headers, source) => {
    const own = await newProject()
    const { contact, links } = await newContact({}, own)
    const answers = await Promise.all([post(links.unsubscribe, body, headers), post(links.unsubscribe, body, headers)])
    answers.push(await post(links.unsubscribe, body, headers))
    for (const { status, headers: given } of answers)
      expect([status, given.location, given['set-cookie']]).toEqual([200, undefined, undefined])
    expect(await own.isSubscribed(contact)).toBe(false)
    expect(await own.events()).toEqual(['contact.unsubscribed'])
    expect(await own.consents(contact.id)).toEqual([[false, source]])
  })

  test('takes effect on emails that are already queued', async () => {
    const { contact, links } = await newContact({ email: 'delay@example.com' })
    const sent = (await project.send({ to: contact.email })).body.data.emails[0].email
    const transactional = (await project.send({ to: contact.email, type: 'TRANSACTIONAL' })).body.data.emails[0].email
    for (const id of [sent, transactional])
      await eventually(async () => expect((await project.email(id)).timeline.at(-1).what).toBe('deferred'))
    await post(links.unsubscribe, ONE_CLICK, FORM)
    await sql`update emails set due_at = now() where project_id = ${project.id} and state = 'deferred'`.execute(sterna.db)
    await eventually(async () => expect(await project.email(sent)).toMatchObject({ status: 'SKIPPED', error: 'unsubscribed' }))
    await eventually(async () => expect(await project.email(transactional)).toMatchObject({ attempts: 2, status: 'PENDING' }))
  })

  test('is refused on the links of other routes', async () => {
    const answer = await sterna.call('POST', '/contacts', { key: project.sk, body: 'email=x', headers: FORM })
    expect([answer.status, answer.body.error.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
  })

  test('of more than 64 KB is refused', async () => {
    const { contact, links } = await newContact()
    expect((await post(links.unsubscribe, `${ONE_CLICK}&x=${'x'.repeat(70_000)}`, FORM)).status).toBe(413)
    expect(await project.isSubscribed(contact)).toBe(true)
  })
})

describe('queued emails', () => {
  let slow: Awaited<ReturnType<typeof startApp>>
  let drop: () => Promise<void>
  beforeAll(async () => {
    const database = await cloneDatabase()
    slow = await startApp(database.url, { env: { ...ENV, SEND_RATE_PER_SECOND: '2' } })
    drop = database.drop
  })
  afterAll(async () => {
    await slow.close()
    await drop()
  })

  test('are not sent to a contact that unsubscribes meanwhile', async () => {
    const at = slow.sterna
    const own = await newProject({ at })
    // Two leave in a second: many more than a busy machine sends before all have unsubscribed.
    const to = Array.from({ length: 30 }, (_, index) => `contact${index}@example.com`)
    const contacts = await Promise.all(to.map((email) => own.contact({ email })))
    const links = await Promise.all(contacts.map((contact) => own.linksFor(contact)))
    await own.call('POST', '/v1/send', { to, template: await own.template({}) })
    const endings = () =>
      one(
        at.db,
        sql<{ sent: number; skipped: number }>`
          select count(*) filter (where state = 'sent')::int as sent,
            count(*) filter (where state = 'skipped' and error = 'unsubscribed')::int as skipped
          from emails where project_id = ${own.id}
        `,
      )
    await eventually(async () => expect((await endings()).sent).toBeGreaterThan(0))
    await Promise.all(links.map(({ unsubscribe }) => at.call('POST', pathOf(unsubscribe), { body: ONE_CLICK, headers: FORM })))
    const already = (await endings()).sent
    await eventually(async () => expect((await endings()).skipped).toBeGreaterThan(4))
    // Two may be under way when the last answer arrives.
    expect((await endings()).sent).toBeLessThanOrEqual(already + 2)
  })
})

// Emails ---------------------------------------------------------------------------------------------------------------

const headerOf = (source: string, name: string) =>
  new RegExp(`^${name}: (.*)$`, 'mi').exec(source.slice(0, source.indexOf('\r\n\r\n')).replace(/\r\n[ \t]/g, ' '))?.[1]

describe('an email', () => {
  test('of type MARKETING has a footer with the link, in HTML before the end of the body, and in text', async () => {
    const { contact } = await newContact()
    const body = '<html><body><p>News</p></BODY></html><!-- </body> -->'
    const { html, text } = await PostalMime.parse(await project.deliver({ to: contact.email, body }))
    expect(html).toMatch(/^<html><body><p>News<\/p><div lang="en"[\s\S]*<\/div>\n<\/BODY><\/html><!-- <\/body> -->\s*$/)
    const [, url] = /<a href="(https:\/\/mail\.example\/unsubscribe\/[\w-]{89})"/.exec(html!)!
    expect(readPreferenceToken(sterna.secrets, 'unsubscribe', tokenOf(url!))).toMatchObject({ contactId: contact.id })
    expect(html!.match(/Unsubscribe/g)).toHaveLength(1)
    expect(text).toContain(`You are receiving this email because you subscribed to news from Test.\nUnsubscribe (${url})`)
  })

  test('of type MARKETING without a body element has its footer at the end', async () => {
    const { html } = await PostalMime.parse(await project.deliver({ body: 'News <!-- no </body> here -->' }))
    expect(html).toMatch(/^News <!-- no <\/body> here --><div lang="en"/)
  })

  test.each([
    '<a href="{{unsubscribeUrl}}">Leave</a>',
    '<a href="{{manageUrl}}">Choose</a>',
    '<a href="https://example.com/?to={{unsubscribeUrl | url_encode}}">Leave</a>',
  ])('of type MARKETING with %s has no second unsubscribe link', async (body) => {
    const { html } = await PostalMime.parse(await project.deliver({ body }))
    expect(html).not.toContain('You are receiving')
  })

  test.each(['{{subscribeUrl}}', '<a href="https://mail.example/unsubscribe/">x</a>'])(
    'of type MARKETING with only %s has a footer',
    async (body) => {
      const { html } = await PostalMime.parse(await project.deliver({ body }))
      expect(html).toContain('You are receiving')
    },
  )

  test('shows fromName in the footer as text', async () => {
    const own = await newProject()
    await own.change({ name: '<b>Tom & "Co" $& {address}</b>' })
    const { html } = await PostalMime.parse(await own.deliver({}))
    expect(html).toContain('news from &lt;b&gt;Tom &amp; &quot;Co&quot; $&amp; {address}&lt;/b&gt;.')
  })

  test.each(['HEADLESS', 'TRANSACTIONAL'] as const)('of type %s has no footer', async (type) => {
    const { html } = await PostalMime.parse(await project.deliver({ type }))
    expect(html!.trim()).toBe('<p>News</p>')
  })

  test.each(['MARKETING', 'HEADLESS'] as const)('of type %s has both one-click headers, signed and working', async (type) => {
    const { contact } = await newContact()
    const source = await project.deliver({ to: contact.email, type })
    expect(headerOf(source, 'List-Unsubscribe')).toMatch(/^<https:\/\/mail\.example\/unsubscribe\/[\w-]{89}>$/)
    expect(headerOf(source, 'List-Unsubscribe-Post')).toBe('List-Unsubscribe=One-Click')
    const { results } = await dkimVerify(Buffer.from(source), { resolver })
    expect(results.map(({ status }) => status)).toMatchObject([{ result: 'pass', aligned: project.domain }])
    expect(/\bh=([^;]+);/.exec(source)![1]!.replace(/\s/g, '').split(':')).toEqual(
      expect.arrayContaining(['list-unsubscribe', 'list-unsubscribe-post']),
    )
    for (const name of ['List-Unsubscribe', 'List-Unsubscribe-Post']) {
      const forged = await dkimVerify(Buffer.from(source.replace(new RegExp(`^${name}: .`, 'm'), `${name}: x`)), { resolver })
      expect([name, forged.results[0]!.status.result]).toEqual([name, 'fail'])
    }
    const url = headerOf(source, 'List-Unsubscribe')!.slice(1, -1)
    expect((await sterna.call('POST', pathOf(url), { body: headerOf(source, 'List-Unsubscribe-Post')!, headers: FORM })).status).toBe(200)
    expect(await project.isSubscribed(contact)).toBe(false)
  })

  test('of type TRANSACTIONAL has neither header', async () => {
    const source = await project.deliver({ type: 'TRANSACTIONAL', body: '{{unsubscribeUrl}}' })
    expect([headerOf(source, 'List-Unsubscribe'), headerOf(source, 'List-Unsubscribe-Post')]).toEqual([undefined, undefined])
  })

  test.each<[string, Record<string, string>, (string | undefined)[]]>([
    ['one header', { 'list-unsubscribe': '<mailto:leave@example.com>' }, ['<mailto:leave@example.com>', undefined]],
    ['the other', { 'LIST-UNSUBSCRIBE-POST': ONE_CLICK }, [undefined, ONE_CLICK]],
    ['both', { 'List-Unsubscribe': '<https://own.example/u>', 'List-Unsubscribe-Post': ONE_CLICK }, ['<https://own.example/u>', ONE_CLICK]],
  ])('with custom %s has only those', async (_, headers, expected) => {
    const source = await project.deliver({ headers })
    expect([headerOf(source, 'List-Unsubscribe'), headerOf(source, 'List-Unsubscribe-Post')]).toEqual(expected)
    expect(source.match(/^list-unsubscribe/gim)).toHaveLength(expected.filter(Boolean).length)
  })
})

/** The DNS records of the domains of these projects. */
async function resolver(name: string) {
  const [selector, , ...domain] = name.split('.')
  const row = await one(
    sterna.db,
    sql<{ key: string }>`select dkim_public_key as key from domains where domain = ${domain.join('.')} and dkim_selector = ${selector}`,
  )
  return [[`v=DKIM1; k=rsa; p=${row.key}`]]
}
