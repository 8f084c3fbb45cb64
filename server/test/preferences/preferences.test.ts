import fc from 'fast-check'
import { sql } from 'kysely'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import PostalMime from 'postal-mime'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { many, one } from '../../src/db/index.ts'
import { preferenceLinks, readPreferenceToken } from '../../src/preferences/link.ts'
import { maskAddress } from '../../src/preferences/page.ts'
import { languageFor, textsIn } from '../../src/preferences/texts.ts'
import { type Answer, startApp, useApp } from '../support/app.ts'
import { cloneDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const ENV = { RATE_LIMIT_PER_MINUTE: '0', TRUST_PROXY: '127.0.0.1', PUBLIC_URL: 'https://mail.example' }
const sterna = useApp({ env: ENV })

const ADA = 'ada@example.com'
const PURPOSES = ['unsubscribe', 'subscribe', 'manage'] as const
const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'nl', 'pt', 'pl', 'ja', 'zh'] as const
const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const ONE_CLICK = 'List-Unsubscribe=One-Click'

const pathOf = (url: string) => url.replace('https://mail.example', '')
const titleOf = ({ body }: Answer) => /<h1>(.*?)<\/h1>/.exec(body)?.[1]

/** A new network for each request: wrong links are limited per network. */
let ips = 0
const fromNewIp = () => ({ 'x-forwarded-for': `10.9.${Math.floor(++ips / 250)}.${ips % 250}` })
const open = (url: string, headers: Record<string, string> = {}) =>
  sterna.call('GET', pathOf(url), { headers: { ...fromNewIp(), ...BROWSER, ...headers } })
const post = (url: string, payload?: string | Buffer, headers: Record<string, string> = {}) =>
  sterna.call('POST', pathOf(url), {
    ...(payload === undefined ? {} : { body: payload.toString() }),
    headers: { ...fromNewIp(), ...BROWSER, ...headers },
  })

type Options = { at?: Pick<typeof sterna, 'call' | 'newProject'> }
type Message = { type?: 'MARKETING' | 'HEADLESS' | 'TRANSACTIONAL'; body?: string; to?: string; headers?: Record<string, string> }
type Contact = { id: string; email: string; subscribed: boolean }
let projects = 0

/** A project with a verified domain, without link tracking. */
async function newProject({ at = sterna }: Options = {}) {
  const { id, sk, owner } = await at.newProject()
  const domain = `project${++projects}.example`
  // Tracked links would be rewritten.
  await owner.call('PATCH', `/users/@me/projects/${id}`, { body: { name: 'Test', tracking: 'DISABLED' } })
  const call = (method: string, url: string, body?: unknown) => at.call(method, url, { key: sk, ...(body === undefined ? {} : { body }) })
  await call('POST', '/domains', { domain })
  const template = async ({ type = 'MARKETING', body = '<p>News</p>' }: Message): Promise<string> => {
    const content = { name: 'T', subject: 'News', body, from: `news@${domain}`, type: type === 'HEADLESS' ? 'MARKETING' : type }
    const created = (await call('POST', '/templates', content)).body.id
    if (type === 'HEADLESS') await call('PATCH', `/templates/${created}`, { type })
    return created
  }
  const send = async ({ to = ADA, headers = {}, ...message }: Message & { subscribed?: boolean }) =>
    call('POST', '/v1/send', { to, template: await template(message), subscribed: true, headers })
  const email = async (emailId: string) => (await call('GET', `/emails/${emailId}`)).body
  const source = async (emailId: string): Promise<string> => {
    await eventually(async () => expect((await email(emailId)).status).toBe('SENT'))
    const message = await one(sterna.db, sql<{ id: string }>`select id from sandbox_messages where email_id = ${emailId}`)
    return (await call('GET', `/sandbox/messages/${message.id}`)).body.source
  }
  const linksFor = async ({ id: contactId }: Contact): Promise<Record<(typeof PURPOSES)[number], string>> => {
    const preview = await call(
      'POST',
      `/templates/${await template({ body: '{{unsubscribeUrl}} {{subscribeUrl}} {{manageUrl}}' })}/preview`,
      {
        contactId,
      },
    )
    const [unsubscribe, subscribe, manage] = preview.body.html.split(' ')
    return { unsubscribe, subscribe, manage }
  }
  return {
    id,
    sk,
    owner,
    domain,
    call,
    template,
    send,
    email,
    source,
    /** Sends an email and returns its message. */
    deliver: async (message: Message) => source((await send(message)).body.data.emails[0].email),
    linksFor,
    contact: async (body: object = {}): Promise<Contact> =>
      (await call('POST', '/contacts', { email: ADA, subscribed: true, ...body })).body,
    isSubscribed: async ({ id: contactId }: Contact): Promise<boolean> => (await call('GET', `/contacts/${contactId}`)).body.subscribed,
    events: async (): Promise<string[]> =>
      (await call('GET', '/events?limit=100')).body.data.map(({ name }: { name: string }) => name).toReversed(),
    consents: async (contactId: string): Promise<[boolean, string][]> =>
      (await call('GET', `/contacts/${contactId}/consent`)).body.data.map((each: { subscribed: boolean; source: string }) => [
        each.subscribed,
        each.source,
      ]),
    change: (body: object) => owner.call('PATCH', `/users/@me/projects/${id}`, { body }),
  }
}
type Project = Awaited<ReturnType<typeof newProject>>

let project: Project
beforeAll(async () => {
  project = await newProject()
})

/** A contact of the project with a new address, and its links. */
let contacts = 0
async function newContact(more: object = {}, at: Project = project) {
  const contact = await at.contact({ email: `contact${++contacts}@example.com`, ...more })
  return { contact, links: await at.linksFor(contact) }
}

const UNCOUNTED = { except: ['attempts'] }

async function expectNothingChanged(work: () => Promise<unknown>) {
  await eventually(async () => expect(await many(sterna.db, sql`select 1 from emails where state in ('queued', 'sending')`)).toEqual([]))
  const before = await sterna.digest(UNCOUNTED)
  await work()
  expect(await sterna.digest(UNCOUNTED)).toBe(before)
}

const tokenOf = (url: string) => url.slice(url.lastIndexOf('/') + 1)

// Links ----------------------------------------------------------------------------------------------------------------

describe('a preference link', () => {
  test('names the contact and the email that contains it; in a preview, the contact only', async () => {
    const { contact, links } = await newContact()
    const answer = await project.send({
      to: contact.email,
      type: 'TRANSACTIONAL',
      body: '{{unsubscribeUrl}}\n{{subscribeUrl}}\n{{manageUrl}}',
    })
    const emailId = answer.body.data.emails[0].email
    const { html } = await PostalMime.parse(await project.source(emailId))
    const read = (urls: string[]) => PURPOSES.map((purpose, index) => readPreferenceToken(sterna.secrets, purpose, tokenOf(urls[index]!)))
    const owner = { projectId: project.id, contactId: contact.id }
    expect(read(html!.trim().split(/\s+/))).toEqual(PURPOSES.map(() => ({ ...owner, emailId })))
    expect(read(PURPOSES.map((purpose) => links[purpose]))).toEqual(PURPOSES.map(() => owner))
    for (const purpose of PURPOSES) expect(links[purpose]).toMatch(new RegExp(`^https://mail\\.example/${purpose}/[\\w-]{88}$`))
  })

  test('of the first version stays valid', async () => {
    const { contact } = await newContact()
    const ids = Buffer.from((project.id + contact.id).replaceAll('-', ''), 'hex')
    const mac = sterna.secrets.hash('preference-link', `1\0unsubscribe\0${project.id}\0${contact.id}`).subarray(0, 16)
    const token = Buffer.concat([Buffer.of(1), ids, mac]).toString('base64url')
    expect((await open(`/subscribe/${token}`)).status).toBe(404)
    expect((await post(`/unsubscribe/${token}`, ONE_CLICK, FORM)).status).toBe(200)
    expect(await project.isSubscribed(contact)).toBe(false)
  })

  test('of an email counts an unsubscription for that email, and the consent record names it', async () => {
    const { contact } = await newContact()
    const answer = await project.send({ to: contact.email, type: 'TRANSACTIONAL', body: 'Hi' })
    const emailId = answer.body.data.emails[0].email as string
    const { unsubscribeUrl, subscribeUrl } = preferenceLinks(sterna.secrets, '', { projectId: project.id, contactId: contact.id, emailId })
    const times = () =>
      many(
        sterna.db,
        sql<{ at: Date | null }>`select unsubscribed_at as at from emails where project_id = ${project.id} and contact_id = ${contact.id}`,
      )
    await post(subscribeUrl, '', FORM)
    expect(await times()).toEqual([{ at: null }])
    await post(unsubscribeUrl, ONE_CLICK, FORM)
    await eventually(async () => expect(await times()).toEqual([{ at: expect.any(Date) }]))
    const { body } = await project.call('GET', `/contacts/${contact.id}/consent`)
    expect(body.data[0]).toMatchObject({ subscribed: false, source: 'one-click', details: { emailId } })
  })

  test('of one purpose is not found for another and changes nothing', async () => {
    const { links } = await newContact()
    await expectNothingChanged(async () => {
      for (const purpose of PURPOSES) {
        for (const other of PURPOSES.filter((each) => each !== purpose)) {
          const url = `/${other}/${tokenOf(links[purpose])}`
          const answers = [
            await open(url),
            await post(url, 'subscribed=false', FORM),
            await sterna.call('HEAD', url, { headers: fromNewIp() }),
          ]
          expect([url, answers.map(({ status }) => status)]).toEqual([url, [404, 404, 404]])
        }
      }
    })
  })

  test('of one contact or project is not found for another', async () => {
    const mine = await newContact()
    const theirs = await newContact({}, await newProject())
    const bytes = [mine, theirs].map(({ links }) => Buffer.from(tokenOf(links.unsubscribe), 'base64url'))
    const [a, b] = bytes as [Buffer, Buffer]
    const mixed = [
      Buffer.concat([a.subarray(0, 18), b.subarray(18, 34), a.subarray(34)]), // the other contact, the own project and signature
      Buffer.concat([a.subarray(0, 2), b.subarray(2, 18), a.subarray(18)]), // the other project
      Buffer.concat([a.subarray(0, 34), b.subarray(18, 34), a.subarray(50)]), // an email
      Buffer.concat([a.subarray(0, 50), b.subarray(50)]), // the other signature
      Buffer.concat([b.subarray(0, 50), a.subarray(50)]),
      Buffer.concat([Buffer.of(3), a.subarray(1)]), // another version
      Buffer.concat([Buffer.of(0), a.subarray(1)]),
      Buffer.concat([Buffer.of(2, 2), a.subarray(2)]), // another key
      Buffer.concat([Buffer.of(1), a.subarray(2, 34), a.subarray(50)]), // the first version
    ]
    for (const token of mixed) expect(readPreferenceToken(sterna.secrets, 'unsubscribe', token.toString('base64url'))).toBeUndefined()
    await expectNothingChanged(async () => {
      for (const token of mixed) expect((await post(`/unsubscribe/${token.toString('base64url')}`, ONE_CLICK, FORM)).status).toBe(404)
      for (const id of [mine.contact.id, project.id]) expect((await post(`/unsubscribe/${id}`, ONE_CLICK, FORM)).status).toBe(404)
    })
  })

  test('with any change is not found', async () => {
    const { links } = await newContact()
    const token = tokenOf(links.unsubscribe)
    const swap = (char: string) => (char === 'A' ? 'B' : 'A')
    const altered = [
      ...[...token].map((char, at) => token.slice(0, at) + swap(char) + token.slice(at + 1)),
      token.slice(0, -1),
      `${token}A`,
      `${token}=`,
      `${token}%20`,
      `${token}.`,
      `%20${token}`,
      token.toUpperCase(),
      'preview',
      '%00',
    ]
    await expectNothingChanged(async () => {
      for (const each of altered) expect([each, (await post(`/unsubscribe/${each}`, ONE_CLICK, FORM)).status]).toEqual([each, 404])
    })
    expect((await open(links.unsubscribe)).status).toBe(200)
  })

  test('names its contact and cannot be forged', () => {
    fc.assert(
      fc.property(
        fc.record({ projectId: fc.uuid(), contactId: fc.uuid(), emailId: fc.uuid() }),
        fc.constantFrom(...PURPOSES),
        fc.constantFrom(...PURPOSES),
        (owner, made, used) => {
          const links = preferenceLinks(sterna.secrets, '', owner)
          const read = readPreferenceToken(sterna.secrets, used, tokenOf(links[`${made}Url`]))
          expect(read).toEqual(made === used ? owner : undefined)
        },
      ),
    )
    fc.assert(fc.property(fc.base64String(), (token) => readPreferenceToken(sterna.secrets, 'unsubscribe', token) === undefined))
  })

  test('of a deleted contact or project is not found, in the language of the link', async () => {
    const gone = await newProject()
    await gone.change({ language: 'de' })
    const { contact, links } = await newContact({}, gone)
    await gone.call('DELETE', `/contacts/${contact.id}`)
    const answer = await open(links.unsubscribe)
    expect([answer.status, titleOf(answer)]).toEqual([404, 'Dieser Link funktioniert nicht'])
    expect((await post(links.unsubscribe, ONE_CLICK, FORM)).status).toBe(404)
    const other = await newContact({}, gone)
    await sql`update projects set deleted_at = now() where id = ${gone.id}`.execute(sterna.db)
    expect((await post(other.links.unsubscribe, ONE_CLICK, FORM)).status).toBe(404)
    expect(titleOf(await open(other.links.unsubscribe))).toBe('This link does not work')
  })

  test('works while the project is disabled', async () => {
    const disabled = await newProject()
    const { contact, links } = await newContact({}, disabled)
    await sql`update projects set disabled = true where id = ${disabled.id}`.execute(sterna.db)
    expect((await post(links.unsubscribe, ONE_CLICK, FORM)).status).toBe(200)
    expect(await disabled.isSubscribed(contact)).toBe(false)
  })

  test('that is wrong may be tried a hundred times a minute from one network; valid ones still work there', async () => {
    const { links } = await newContact()
    const from = (ip: string, url: string) => sterna.call('GET', pathOf(url), { headers: { ...BROWSER, 'x-forwarded-for': ip } })
    for (let tried = 0; tried < 100; tried++) expect((await from('2001:db8::1', '/unsubscribe/x')).status).toBe(404)
    const refused = await from('2001:db8::ffff', '/manage/x')
    expect([refused.status, titleOf(refused)]).toEqual([429, 'Something went wrong'])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect((await from('2001:db8::1', links.unsubscribe)).status).toBe(200)
    expect((await from('2001:db8:1::1', '/unsubscribe/x')).status).toBe(404)
  })

  test('may be used sixty times a minute from one network', async () => {
    const { links } = await newContact()
    const other = await newContact()
    const use = (url: string) => sterna.call('POST', pathOf(url), { headers: { 'x-forwarded-for': '10.8.8.8' } })
    for (let used = 0; used < 60; used++) expect((await use(links.unsubscribe)).status).toBe(200)
    expect((await use(links.unsubscribe)).status).toBe(429)
    expect((await use(other.links.unsubscribe)).status).toBe(200)
  })
})

// Pages ----------------------------------------------------------------------------------------------------------------

describe('a preference page', () => {
  test('changes nothing, in any state of the contact', async () => {
    for (const subscribed of [true, false]) {
      const { links } = await newContact({ subscribed })
      await expectNothingChanged(async () => {
        for (const url of Object.values(links)) {
          expect((await open(url)).status).toBe(200)
          const head = await sterna.call('HEAD', pathOf(url), { headers: fromNewIp() })
          expect([head.status, head.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
        }
      })
    }
  })

  test('has no script, no third-party content and only a masked address', async () => {
    const { links } = await newContact({ email: 'grace.hopper@navy.example', data: { name: 'Grace', plan: 'secret-plan' } })
    for (const url of Object.values(links)) {
      const { body, headers } = await open(`${url}?next=https://evil.example&x=<script>alert(1)</script>`, {
        referer: 'https://evil.example',
      })
      expect(body).toContain('g•••@n•••.example')
      for (const word of ['hopper', 'navy', 'Grace', 'secret-plan', 'evil', '<script', 'javascript:', 'onclick'])
        expect(body).not.toContain(word)
      expect(headers).toMatchObject({
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        'x-frame-options': 'DENY',
        'x-robots-tag': 'noindex, nofollow',
        'x-content-type-options': 'nosniff',
      })
      const policy = String(headers['content-security-policy'])
      expect(policy).toMatch(
        /^default-src 'none'; style-src 'sha256-[\w+/=]+'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
      )
      expect(headers['set-cookie']).toBeUndefined()
    }
  })

  test('shows the name of a project as text, not as markup', async () => {
    const odd = await newProject()
    await odd.change({ name: '<b>"Tom" & {address} $&</b>' })
    const { links } = await newContact({}, odd)
    const { body } = await open(links.unsubscribe)
    expect(body).toContain('&lt;b&gt;&quot;Tom&quot; &amp; {address} $&amp;&lt;/b&gt;')
    expect(body).not.toContain('<b>')
  })

  test.each([
    ['ada@example.com', 'a•••@e•••.com'],
    ['a@b.co', 'a•••@b•••.co'],
    ['ünal@mail.example.org', 'ü•••@m•••.org'],
    ['😀x@example.com', '😀•••@e•••.com'],
  ])('shows %s as %s', (address, masked) => {
    expect(maskAddress(address)).toBe(masked)
  })

  test('does not unsubscribe a contact when a scanner follows all links of an email', async () => {
    const { contact } = await newContact()
    const body = '<a href="{{manageUrl}}">Choose</a> <a href="{{subscribeUrl}}">Stay</a>'
    const sources = [await project.deliver({ to: contact.email }), await project.deliver({ to: contact.email, body })]
    const parsed = await Promise.all(sources.map((source) => PostalMime.parse(source)))
    const text = parsed.map(({ html, text, headers }) => `${html} ${text} ${JSON.stringify(headers)}`).join(' ')
    const found = new Set(text.match(/https:\/\/mail\.example\/[\w/-]+/g))
    // The unsubscribe links of the two emails, and two more of the second.
    expect(found.size).toBe(4)
    await expectNothingChanged(async () => {
      const seen = new Set<string>()
      for (const url of found) {
        if (seen.has(url)) continue
        seen.add(url)
        await sterna.call('HEAD', pathOf(url), { headers: fromNewIp() })
        await sterna.call('OPTIONS', pathOf(url), { headers: fromNewIp() })
        const answer = await open(url, { purpose: 'prefetch', 'sec-purpose': 'prefetch;prerender' })
        expect(answer.status).toBe(200)
        for (const [, next] of answer.body.matchAll(/href="\.\.(\/[^"]+)"/g)) found.add(`https://mail.example${next}`)
      }
    })
    expect(await project.isSubscribed(contact)).toBe(true)
  })
})

const boundary = 'xyz'
const multipart = (name: string, value: string) =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n--${boundary}--\r\n`
const MULTIPART = { 'content-type': `multipart/form-data; boundary=${boundary}` }
const JSON_TYPE = { 'content-type': 'application/json' }

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
    await eventually(async () => expect((await project.email(transactional)).attempts).toBe(2))
    expect((await project.email(transactional)).status).toBe('PENDING')
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
    const to = Array.from({ length: 10 }, (_, index) => `contact${index}@example.com`)
    for (const email of to) await own.contact({ email })
    const answer = await own.call('POST', '/v1/send', { to, template: await own.template({}) })
    const sends = answer.body.data.emails as { email: string; contact: Contact }[]
    const links = await Promise.all(sends.map(({ contact }) => own.linksFor(contact)))
    const all = () => Promise.all(sends.map(({ email }) => own.email(email)))
    await eventually(async () => expect((await all()).map(({ status }) => status)).toContain('SENT'))
    await Promise.all(links.map(({ unsubscribe }) => at.call('POST', pathOf(unsubscribe), { body: ONE_CLICK, headers: FORM })))
    const left = Date.now()
    await eventually(async () => expect((await all()).map(({ status }) => status)).not.toContain('SENDING'))
    const skipped = (await all()).filter(({ error }) => error === 'unsubscribed')
    expect(skipped.length).toBeGreaterThan(4)
    const sent = (await all()).filter(({ status }) => status === 'SENT')
    expect(sent.length + skipped.length).toBe(sends.length)
    expect(Math.max(...sent.map(({ sentAt }) => Date.parse(sentAt)))).toBeLessThan(left + 1_000)
  })
})

describe('the form of a page', () => {
  test('is answered by a page with the new state', async () => {
    const { contact, links } = await newContact()
    expect(titleOf(await open(links.unsubscribe))).toBe('Unsubscribe?')
    const left = await post(links.unsubscribe, '', FORM)
    expect([left.status, titleOf(left)]).toEqual([200, 'You are unsubscribed'])
    expect(left.body).not.toContain('<form')
    expect(titleOf(await open(links.unsubscribe))).toBe('You are unsubscribed')
    expect(titleOf(await open(links.subscribe))).toBe('Subscribe?')
    const back = await post(links.subscribe, '', FORM)
    expect([back.status, titleOf(back)]).toEqual([200, 'You are subscribed'])
    expect(titleOf(await open(links.subscribe))).toBe('You are subscribed')
    expect(await project.isSubscribed(contact)).toBe(true)
    expect(await project.consents(contact.id)).toEqual([
      [true, 'page'],
      [false, 'page'],
    ])
  })

  test('links from each state to the page for the other', async () => {
    const { links } = await newContact()
    const left = await post(links.unsubscribe)
    expect(left.body).toContain(`href="..${pathOf(links.subscribe)}"`)
    const back = await post(links.subscribe)
    expect(back.body).toContain(`href="..${pathOf(links.unsubscribe)}"`)
  })

  test.each<[string, string, Record<string, string>, boolean]>([
    ['a form that says no', 'subscribed=false', FORM, false],
    ['a form that says yes', 'subscribed=true', FORM, true],
    ['multipart that says no', multipart('subscribed', 'false'), MULTIPART, false],
    ['JSON that says no', '{"subscribed":false}', JSON_TYPE, false],
    ['JSON that says yes', '{"subscribed":true}', JSON_TYPE, true],
  ])('of preferences accepts %s', async (_, body, headers, wanted) => {
    const own = await newProject()
    const { contact, links } = await newContact({ subscribed: !wanted }, own)
    const answer = await post(links.manage, body, headers)
    expect([answer.status, answer.headers.location]).toEqual([200, undefined])
    expect(answer.body).toContain('role="status"')
    expect(answer.body).toContain(`value="${wanted}" checked`)
    expect(answer.body).not.toContain(`value="${!wanted}" checked`)
    expect(await own.isSubscribed(contact)).toBe(wanted)
    expect((await open(links.manage)).body).not.toContain('role="status"')
    await post(links.manage, body, headers)
    expect(await own.events()).toEqual([wanted ? 'contact.subscribed' : 'contact.unsubscribed'])
  })

  test.each<[string, string | undefined, Record<string, string>, string]>([
    ['nothing', undefined, {}, 'required'],
    ['another field', 'x=true', FORM, 'required'],
    ['another word', 'subscribed=maybe', FORM, 'invalid_type'],
    ['a list', '{"subscribed":[]}', JSON_TYPE, 'invalid_type'],
    ['null', '{"subscribed":null}', JSON_TYPE, 'invalid_type'],
    ['a file', multipart('subscribed"; filename="x', 'true'), MULTIPART, 'invalid_type'],
  ])('of preferences refuses %s', async (_, body, headers, code) => {
    const { links } = await newContact()
    await expectNothingChanged(async () => {
      const answer = await post(links.manage, body, { ...headers, accept: 'application/json' })
      expect([answer.status, answer.body.error.errors]).toMatchObject([422, [{ field: 'subscribed', code }]])
      const page = await post(links.manage, body, headers)
      expect([page.status, titleOf(page)]).toEqual([422, 'Something went wrong'])
    })
  })

  test('of a wrong link is answered with a page for browsers and with the JSON error for others', async () => {
    for (const method of ['GET', 'POST']) {
      const page = await sterna.call(method, '/unsubscribe/x', {
        headers: { ...fromNewIp(), ...BROWSER, 'accept-language': 'tlh, de-AT;q=0.9, fr' },
      })
      expect([page.status, titleOf(page), page.headers['content-type']]).toEqual([
        404,
        'Dieser Link funktioniert nicht',
        'text/html; charset=utf-8',
      ])
      expect(page.body).toContain('<html lang="de">')
      const silent = await sterna.call(method, '/unsubscribe/x', { headers: { ...fromNewIp(), ...BROWSER } })
      expect(titleOf(silent)).toBe('This link does not work')
      expect(page.headers['content-security-policy']).toContain("default-src 'none'")
      const envelope = await sterna.call(method, '/unsubscribe/x', { headers: fromNewIp() })
      expect([envelope.status, envelope.body.error.code, envelope.body.error.details]).toEqual([
        404,
        'RESOURCE_NOT_FOUND',
        { resource: 'link' },
      ])
    }
  })
})

// Languages ------------------------------------------------------------------------------------------------------------

describe('the language', () => {
  test.each(LANGUAGES)('%s has all texts with the same placeholders', (language) => {
    const texts = Object.entries(textsIn(language))
    const blanks = (text: string) => (text.match(/\{\w+\}/g) ?? []).toSorted()
    for (const [name, text] of texts) {
      const english = textsIn('en')[name as keyof ReturnType<typeof textsIn>]
      expect([name, blanks(text)]).toEqual([name, blanks(english)])
      if (language !== 'en') expect([name, text]).not.toEqual([name, english])
    }
    expect(texts).toHaveLength(Object.keys(textsIn('en')).length)
  })

  test.each(LANGUAGES)('of a project may be %s, on its pages and in the footers of its emails', async (language) => {
    const own = await newProject()
    await own.change({ language })
    const { contact, links } = await newContact({}, own)
    const texts = textsIn(language)
    const answer = await open(links.unsubscribe, { 'accept-language': 'sv, fi' })
    expect(answer.body).toContain(`<html lang="${language}">`)
    expect([titleOf(answer), answer.headers['content-language']]).toEqual([texts.unsubscribeAsk, language])
    expect(titleOf(await post(links.unsubscribe))).toBe(texts.unsubscribed)
    expect(titleOf(await open(links.manage))).toBe(texts.manage)
    const { html } = await PostalMime.parse(await own.deliver({ to: contact.email }))
    expect(html).toContain(`<div lang="${language}"`)
    expect(html).toContain(`>${texts.unsubscribe}</a>`)
  })

  test.each<[unknown, string, string]>([
    ['fr', 'de', 'fr'],
    ['de-AT', 'en', 'de'],
    ['pt_BR', 'en', 'pt'],
    ['ZH-Hant-TW', 'en', 'zh'],
    ['sv', 'de', 'de'],
    ['', 'de', 'de'],
    [undefined, 'it', 'it'],
    [null, 'it', 'it'],
    [['fr'], 'it', 'it'],
    ['constructor', 'it', 'it'],
    ['sv', 'tlh', 'en'],
  ])('of a contact with the locale %j in a project in %s is %s', (locale, project, language) => {
    expect(languageFor(locale, project)).toBe(language)
  })

  test('of the contact takes precedence, on pages and in emails', async () => {
    const { contact, links } = await newContact({ data: { locale: 'es-MX' } })
    expect(titleOf(await open(links.unsubscribe))).toBe('¿Quiere darse de baja?')
    const { html, text } = await PostalMime.parse(await project.deliver({ to: contact.email }))
    expect(html).toContain('Darse de baja')
    expect(text).toContain('Darse de baja (https://mail.example/unsubscribe/')
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
    const [, url] = /<a href="(https:\/\/mail\.example\/unsubscribe\/[\w-]{88})"/.exec(html!)!
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
    expect(headerOf(source, 'List-Unsubscribe')).toMatch(/^<https:\/\/mail\.example\/unsubscribe\/[\w-]{88}>$/)
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
