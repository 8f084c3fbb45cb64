import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { sql } from 'kysely'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { many, one } from '../../src/db/index.ts'
import { tokensFor } from '../../src/delivery/message/links/tracking-token.ts'
import { newId } from '../../src/lib/id.ts'
import { deriveSecrets } from '../../src/lib/secrets.ts'
import { readHtml } from '../../src/mime/html/html-to-text.ts'
import { BURST } from '../../src/opens-clicks/rules.ts'
import { type Answer, startApp, useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { times } from '../support/times.ts'

/** Opens and clicks that wait for others of their email, until a test records them. */
const held = new Set<() => Promise<void>>()
const sterna = useApp({
  isPatient: false,
  env: { RATE_LIMIT_PER_MINUTE: '0', TRUST_PROXY: '127.0.0.1' },
  delayRelease: (release) => {
    held.add(release)
    return () => held.delete(release)
  },
})
const record = () => Promise.all([...held].map((release) => release()))

const HERE = 'http://localhost:3000'
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

type Event = { name: string; data: Record<string, unknown>; contactId: string | null }
type Visit = { method?: string; agent?: string; from?: string; headers?: Record<string, string>; at?: Pick<typeof sterna, 'call'> }

/** Requests a URL of an email, by default as a reader at home does. */
const visit = (url: string, { method = 'GET', agent = FIREFOX, from = '203.0.113.7', headers = {}, at = sterna }: Visit = {}) =>
  at.call(method, url.replace(HERE, ''), { headers: { 'user-agent': agent, 'x-forwarded-for': from, ...headers } })

const locationOf = ({ status, headers }: Answer) => [status, Buffer.from(String(headers.location), 'latin1').toString()]

let projects = 0
async function newProject(tracking?: string) {
  const project = await sterna.newProject()
  if (tracking) {
    const changed = await project.owner.call('PATCH', `/users/@me/projects/${project.id}`, { body: { tracking } })
    expect(changed.body.tracking).toBe(tracking)
  }
  const domain = `project${++projects}.example`
  const call = (method: string, url: string, body?: object) => sterna.call(method, url, { key: project.sk, ...(body ? { body } : {}) })
  await call('POST', '/domains', { domain })

  /** Sends an email, and backdates it by an hour. */
  async function deliver(body: string, more: object = {}) {
    const sent = await call('POST', '/v1/send', { to: 'ada@example.com', from: `a@${domain}`, subject: 'Hi', body, ...more })
    expect(sent.status).toBe(200)
    const id: string = sent.body.data.emails[0].email
    const { source } = await eventually(() =>
      one(
        sterna.db,
        sql<{ source: Buffer }>`
          select source from sandbox_messages s join emails e on e.project_id = s.project_id and e.id = s.email_id
          where s.email_id = ${id} and e.state = 'sent'
        `,
      ),
    )
    await sql`update emails set sent_at = now() - interval '1 hour' where id = ${id}`.execute(sterna.db)
    const { html = '', text = '' } = await PostalMime.parse(source)
    const links = readHtml(html).links.map(({ target }) => target)
    const trap = links.find((_, index) => /<a hidden [^>]*style="display:none/.test(html) && index === links.length - 1) ?? ''
    return {
      id,
      html,
      text,
      /** Without the hidden one. */
      links: trap ? links.slice(0, -1) : links,
      trap,
      pixel: /(?:<img src="|background-image:url\(')([^"']+\/t\/o\/[^"']+)["']/.exec(html)?.[1] ?? '',
      read: async () => (await call('GET', `/emails/${id}`)).body,
      events: async (): Promise<Event[]> => {
        const { body } = await call('GET', '/events?limit=100')
        return body.data
          .filter(({ emailId, name }: { emailId: string; name: string }) => emailId === id && /open|click/.test(name))
          .reverse()
      },
    }
  }
  return { ...project, call, deliver }
}

const LINK = '<p>See <a href="https://shop.example/sale">the sale</a></p>'
const LINKS = `<p>${['a', 'b', 'c', 'd'].map((page) => `<a href="https://shop.example/${page}">${page}</a>`).join(' ')}</p>`
const facts = ({ data: { machine, by, reason, opens, isFirstOpen, clicks, isFirstClick, link }, name }: Event) =>
  name === 'email.open' ? { name, opens, isFirstOpen, machine, by, reason } : { name, link, clicks, isFirstClick, machine, by, reason }

describe('a link', () => {
  const escaped = (text: string) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;')
  const address = fc
    .tuple(
      fc.constantFrom('https://shop.example/', 'HTTP://Shop.example:8080/a/', 'https://müller.example/?', 'https://u:p@[::1]/#'),
      fc.array(
        fc.oneof(
          fc.constantFrom('&', '&amp;', '&copy=1', '%', '%20', '%2', ' ', '  ', '#', '?', '"', "'", '<', '>', '\\', '+', '/../', '\u00a0'),
          fc.string({ unit: 'grapheme', maxLength: 5 }).map((text) => text.replace(/[{}\p{Cc}]/gu, '')),
        ),
        { maxLength: 12 },
      ),
    )
    .map(([start, rest]) => `${start}${rest.join('')}~`)

  test('leads to exactly its original target, whatever characters it contains and however it is written', async () => {
    const project = await newProject()
    await fc.assert(
      fc.asyncProperty(fc.array(address, { minLength: 1, maxLength: 20 }), async (targets) => {
        const written = [
          ...targets.map((target) => `<a class=x href="${escaped(target)}" id=1>x</a>`),
          ...targets.map((target) => `<A\nHREF = '${escaped(target)}'>x</A>`),
          ...targets.map((target) => `<area href=${escaped(target).replaceAll(/\s/g, (blank) => `&#${blank.charCodeAt(0)};`)}>`),
          '{% for target in targets %}<a href="{{ target }}">x</a>{% endfor %}',
          ...targets.map((_, index) => `<a href="https://shop.example/?to={{ targets[${index}] }}&amp;n={{ n }}#{{ n }}">x</a>`),
        ]
        const email = await project.deliver(`<div>${written.join('\n')}</div>`, {
          data: { targets: { value: targets, persistent: false }, n: 7 },
        })
        const withVariables = targets.map((target) => `https://shop.example/?to=${target}&n=7#7`)
        const answers = await Promise.all(email.links.map((link) => visit(link)))
        expect(email.links.every((link) => link.startsWith(`${HERE}/t/c/`))).toBe(true)
        expect(answers.map(locationOf)).toEqual(
          [...targets, ...targets, ...targets, ...targets, ...withVariables].map((target) => [302, target]),
        )
      }),
      { numRuns: 8 },
    )
  })

  test('is found between blanks, however many', async () => {
    const { links } = await (await newProject()).deliver(
      `<a href="\n https://shop.example/${' '.repeat(50_000)}">a</a><a href=" https://shop.example/b\t" href="https://shop.example/c">b</a>`,
    )
    expect((await Promise.all(links.map((link) => visit(link)))).map(locationOf)).toEqual([
      [302, 'https://shop.example/'],
      [302, 'https://shop.example/b'],
    ])
  })

  test('sends no referrer and is not cached', async () => {
    const { links } = await (await newProject()).deliver(LINK)
    const { status, headers } = await visit(links[0]!)
    expect([status, headers.location, headers['referrer-policy'], headers['cache-control']]).toEqual([
      302,
      'https://shop.example/sale',
      'no-referrer',
      'no-store',
    ])
  })

  test('redirects without waiting for the database', async () => {
    const { id, links, read } = await (await newProject()).deliver(LINK)
    await sterna.db.transaction().execute(async (tx) => {
      await sql`select 1 from emails where id = ${id} for update`.execute(tx)
      expect((await visit(links[0]!)).status).toBe(302)
      // The writer waits for the lock, gives up, and tries again.
      void record()
      const waiting = () =>
        many(
          sterna.db,
          sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from emails e join%'`,
        )
      await eventually(async () => expect(await waiting()).toHaveLength(1))
      await eventually(async () => expect(await waiting()).toHaveLength(0))
    })
    await eventually(async () => expect(await read()).toMatchObject({ clicks: 1 }))
  })

  test('to something other than a web page, or to the unsubscribe pages, is not rewritten', async () => {
    const untouched = [
      'mailto:a@example.com?subject=https://x.example',
      'tel:+123',
      'sms:+123',
      '#top',
      'cid:picture',
      'data:text/html,https://x.example',
      'javascript:alert(1)',
      'JavaScript:https://x.example',
      '/relative',
      '//shop.example/',
      'https:',
      'https://',
      'ftp://shop.example/',
      '',
      'https://shop.example/a\nb',
      `https://shop.example/${'x'.repeat(1_400)}`,
    ]
    const body = `${untouched.map((target) => `<a href="${target}">x</a>`).join('')}
      <a href="{{ unsubscribeUrl }}">u</a> <a href="{{ subscribeUrl }}?x=1">s</a> <a href="{{ manageUrl }}">m</a>
      <link href="https://shop.example/x.css"><img src="https://shop.example/x.png">`
    const { links, html, pixel, trap } = await (await newProject()).deliver(body)
    expect(links.slice(0, untouched.length)).toEqual(untouched)
    expect(links.slice(untouched.length)).toEqual([
      expect.stringContaining(`${HERE}/unsubscribe/`),
      expect.stringMatching(`${HERE}/subscribe/.*\\?x=1`),
      expect.stringContaining(`${HERE}/manage/`),
    ])
    expect(html).toContain('<link href="https://shop.example/x.css"><img src="https://shop.example/x.png">')
    expect([pixel, trap]).toEqual([expect.stringContaining('/t/o/'), ''])
  })

  test('in a comment, a style or a text is not rewritten', async () => {
    const body = `<!-- <a href="https://a.example/">a</a> --><style>p{content:'<a href="https://b.example/">'}</style>&lt;a href="https://c.example/"&gt;
      <img alt='<a href="https://d.example/">'><a data-href="https://e.example/" title="href='https://f.example/'">x</a>`
    const { html, links } = await (await newProject()).deliver(body)
    expect(html).toContain(body)
    expect(links).toEqual([])
  })

  test('in an email that nests deeper than the parser follows is rewritten like any other', async () => {
    const deep = '<div>'.repeat(5_000)
    const { html, links } = await (await newProject()).deliver(`${deep}${LINK}`)
    expect(html).toContain(`${deep}<p>See <a href="${links[0]}">`)
    expect(links.map((link) => link.includes('/t/c/'))).toEqual([true])
  })
})

describe('an email', () => {
  test('has its pixel before the end of its body, and keeps its links in the plain text', async () => {
    const project = await newProject()
    const { html, text } = await project.deliver(`<html><body>${LINK}</body><!-- </body> --></html>`)
    expect(html.trim()).toMatch(
      /<a hidden href="[^"]+" style="display:none[^>]*><\/a><div style="background-image:url\('[^"]+'\)[^"]*"><\/div><!--[^!]*<!\[endif\]--><\/body><!-- <\/body> --><\/html>$/,
    )
    expect(text.trim()).toBe('See the sale (https://shop.example/sale)')
    expect((await project.deliver('Hi')).html.trim()).toMatch(
      /^Hi<div style="background-image:url\('[^"]+\/t\/o\/[^"']+'\);[^"]*"><\/div><!--/,
    )
    const long = await project.deliver(`<p>${'Hi '.repeat(2_000)}</p>`)
    expect(long.html.trim()).toMatch(/<img src="[^"]+\/t\/o\/[^"]+" width="1" height="1" alt=""[^>]*>$/)
  })

  test('is tracked by the setting of its project: always, never, or marketing only', async () => {
    const isTracked = async (project: Awaited<ReturnType<typeof newProject>>, type: string) => {
      const template = { name: 'T', subject: 'Hi', body: LINK, type: 'MARKETING' }
      const { id } = (await project.call('POST', '/templates', template)).body
      await project.call('PATCH', `/templates/${id}`, { type })
      const { pixel, links } = await project.deliver(LINK, { template: id, subscribed: true })
      return [pixel !== '', links[0] !== 'https://shop.example/sale']
    }
    const found = ['ENABLED', 'DISABLED', 'MARKETING_ONLY'].map(async (mode) => {
      const project = await newProject(mode)
      return [mode, await isTracked(project, 'TRANSACTIONAL'), await isTracked(project, 'MARKETING'), await isTracked(project, 'HEADLESS')]
    })
    const [yes, no] = [
      [true, true],
      [false, false],
    ]
    expect(await Promise.all(found)).toEqual([
      ['ENABLED', yes, yes, yes],
      ['DISABLED', no, no, no],
      ['MARKETING_ONLY', no, yes, yes],
    ])
  })

  test('is tracked by default, and no longer from the moment the project turns it off', async () => {
    const project = await newProject()
    expect((await project.deliver(LINK)).pixel).not.toBe('')
    await project.owner.call('PATCH', `/users/@me/projects/${project.id}`, { body: { tracking: 'DISABLED' } })
    expect((await project.deliver(LINK)).html.trim()).toBe(LINK)
  })
})

describe('a token', () => {
  test('that is altered in any character, shortened or extended is not found', async () => {
    const { links, pixel, read } = await (await newProject()).deliver(LINK)
    const altered = [links[0]!, pixel].flatMap((url) => {
      const from = url.lastIndexOf('/') + 1
      const letters = Array.from({ length: url.length - from }, (_, index) => {
        const at = from + index
        return `${url.slice(0, at)}${url[at] === 'A' ? 'B' : 'A'}${url.slice(at + 1)}`
      })
      return [...letters, url.slice(0, -1), `${url}A`, `${url}=`, `${url}%0A`, url.slice(0, from), `${url.slice(0, from)}A`, `${url}/`]
    })
    const answers = await Promise.all(altered.map((url) => visit(url)))
    expect(answers.map(({ status, headers }) => [status, headers.location])).toEqual(altered.map(() => [404, undefined]))
    await record()
    expect(await read()).toMatchObject({ opens: 0, clicks: 0 })
  })

  test('is valid for its own use only, and only with our signature', async () => {
    const { links, pixel, id } = await (await newProject()).deliver(LINK)
    const foreign = tokensFor(deriveSecrets('another secret key, of more than 32 characters'), { projectId: newId(), emailId: id })
    const bad = [
      links[0]!.replace('/t/c/', '/t/o/'),
      pixel.replace('/t/o/', '/t/c/'),
      `/t/c/${foreign.click(1, 'https://evil.example/')}`,
      `/t/o/${foreign.open()}`,
      `/t/c/x?url=https://evil.example/`,
      `${links[0]!.slice(0, 100)}${Buffer.from('https://evil.example/').toString('base64url')}`,
    ]
    const answers = await Promise.all(bad.map((url) => visit(url)))
    expect(answers.map(({ status, headers }) => [status, headers.location])).toEqual(bad.map(() => [404, undefined]))
  })

  test('still redirects when its email is gone, and nothing is written', async () => {
    const project = await newProject()
    const { links, id } = await project.deliver(LINK)
    await project.owner.call('POST', `/users/@me/projects/${project.id}/reset`)
    await eventually(async () => expect(await many(sterna.db, sql`select 1 from emails where id = ${id}`)).toEqual([]))
    expect(locationOf(await visit(links[0]!))).toEqual([302, 'https://shop.example/sale'])
  })
})

describe('an open or click', () => {
  test('by a reader counts, and is recorded as an event', async () => {
    const project = await newProject()
    const { pixel, links, read, events } = await project.deliver(LINKS)
    const image = await visit(pixel)
    expect([
      image.status,
      image.headers['content-type'],
      image.headers['cache-control'],
      image.headers['cross-origin-resource-policy'],
    ]).toEqual([200, 'image/gif', 'no-store', 'cross-origin'])
    expect(image.body.slice(0, 6)).toBe('GIF89a')
    await record()
    expect(await read()).toMatchObject({ status: 'OPENED', opens: 1, clicks: 0, clickedAt: null })
    await visit(links[1]!)
    await record()
    expect(await read()).toMatchObject({ status: 'CLICKED', opens: 1, clicks: 1 })
    await visit(pixel, { from: '198.51.100.1' })
    await visit(links[1]!, { from: '198.51.100.1' })
    await record()
    expect(await read()).toMatchObject({ status: 'CLICKED', opens: 2, clicks: 2 })

    const email = await read()
    const reader = { machine: false, by: 'human' }
    expect((await events()).map(facts)).toEqual([
      { name: 'email.open', opens: 1, isFirstOpen: true, ...reader },
      { name: 'email.click', link: 'https://shop.example/b', clicks: 1, isFirstClick: true, ...reader },
      { name: 'email.open', opens: 2, isFirstOpen: false, ...reader },
      { name: 'email.click', link: 'https://shop.example/b', clicks: 2, isFirstClick: false, ...reader },
    ])
    expect((await events())[0]).toMatchObject({
      contactId: email.contactId,
      data: { emailId: email.id, messageId: email.messageId, subject: 'Hi', sourceType: 'TRANSACTIONAL', templateId: null },
    })
    expect(email.timeline.map(({ what }: { what: string }) => what)).toEqual([
      'queued',
      'email.sent',
      'email.open',
      'email.click',
      'email.open',
      'email.click',
    ])
    expect(email.openedAt < email.clickedAt).toBe(true)

    // The events go with the contact, the first open and click stay.
    await project.call('DELETE', `/contacts/${email.contactId}`)
    expect((await read()).timeline.slice(2)).toEqual([
      { at: email.openedAt, what: 'email.open', details: { opens: 2, machine: false } },
      { at: email.clickedAt, what: 'email.click', details: { clicks: 2, machine: false } },
    ])
  })

  test('on a link also marks the email as opened', async () => {
    const { links, read, events } = await (await newProject()).deliver(LINK)
    await visit(links[0]!)
    await record()
    expect(await read()).toMatchObject({ status: 'CLICKED', opens: 0, clicks: 1 })
    const { openedAt, clickedAt } = await read()
    expect(openedAt).toBe(clickedAt)
    expect((await events()).map(({ name }) => name)).toEqual(['email.click'])
  })

  test('by a mailbox scanner that requests every image and link in every way counts as a machine, and unsubscribes no contact', async () => {
    const project = await newProject()
    const template = await project.call('POST', '/templates', { name: 'News', subject: 'Hi', body: LINKS, type: 'MARKETING' })
    const news = { template: template.body.id, subscribed: true }
    const { html, links, trap, pixel, read, events } = await project.deliver(LINKS, news)
    const all = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, url]) => url!)
    expect(all).toEqual([...links, trap, pixel])
    expect(links.at(-1)).toMatch(/\/unsubscribe\//)
    for (const method of ['HEAD', 'GET', 'OPTIONS']) for (const url of all) await visit(url, { from: '192.0.2.1', method })
    await record()
    expect((await events()).length).toBeGreaterThanOrEqual(5)
    expect(new Set((await events()).map(({ data }) => data.machine))).toEqual(new Set([true]))
    const { contactId } = await read()
    expect((await project.call('GET', `/contacts/${contactId}`)).body.subscribed).toBe(true)
    expect((await project.call('GET', '/events?eventName=contact.unsubscribed')).body.data).toEqual([])
    expect(await read()).toMatchObject({ status: 'SENT', opens: 0, clicks: 0, openedAt: null, clickedAt: null })
    // The reader is still counted.
    await visit(pixel)
    await record()
    expect(await read()).toMatchObject({ status: 'OPENED', opens: 1 })
  })

  test('from a network that followed the hidden link counts as a machine, also when it came earlier', async () => {
    const { links, trap, pixel, read, events } = await (await newProject()).deliver(LINK)
    await visit(pixel, { from: '192.0.2.1' })
    await visit(links[0]!, { from: '192.0.2.1', agent: `${FIREFOX} other` })
    await visit(links[0]!)
    const trapped = await visit(trap, { from: '192.0.2.1' })
    expect([trapped.status, trapped.headers.location]).toEqual([204, undefined])
    await record()
    expect(await events()).toHaveLength(3)
    expect((await events()).map(({ name, data: { machine, reason } }) => [name, machine, reason])).toEqual([
      ['email.open', true, 'followed the hidden link'],
      ['email.click', true, 'followed the hidden link'],
      ['email.click', false, undefined],
    ])
    // Remembered in the database: the next request may reach another node.
    await visit(pixel, { from: '192.0.2.1', agent: `${FIREFOX} third` })
    await record()
    expect(await events()).toHaveLength(4)
    expect(await read()).toMatchObject({ opens: 0, clicks: 1 })
  })

  test('on several links at once counts as a machine, on one after the other as a reader', async () => {
    const project = await newProject()
    const [burst, calm] = await Promise.all([project.deliver(LINKS), project.deliver(LINKS)])
    await Promise.all([...burst.links.slice(0, 2), burst.pixel].map((url) => visit(url)))
    await visit(calm.links[0]!)
    await record()
    expect(await calm.read()).toMatchObject({ clicks: 1 })
    await sleep(BURST.withinMs + 100)
    await visit(calm.links[1]!)
    await record()
    expect(await calm.read()).toMatchObject({ clicks: 2 })
    expect(await burst.events()).toHaveLength(3)
    expect(await burst.read()).toMatchObject({ opens: 0, clicks: 0, status: 'SENT' })
  })

  test('right after sending counts as a machine', async () => {
    const { id, pixel, read, events } = await (await newProject()).deliver(LINK)
    await sql`update emails set sent_at = now() - interval '1 second' where id = ${id}`.execute(sterna.db)
    await visit(pixel)
    await record()
    expect((await events()).map(facts)).toEqual([
      { name: 'email.open', opens: 0, isFirstOpen: false, machine: true, by: 'machine', reason: 'too soon after sending' },
    ])
    expect(await read()).toMatchObject({ opens: 0, openedAt: null })
    // The same reader, an hour later.
    await sql`update emails set sent_at = now() - interval '1 hour' where id = ${id}`.execute(sterna.db)
    await visit(pixel)
    await record()
    expect(await read()).toMatchObject({ opens: 1 })
  })

  test('by the Gmail image proxy counts as a reader, unless it comes right after sending', async () => {
    const agent = 'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)'
    const { id, pixel, read, events } = await (await newProject()).deliver(LINK)
    const leaves = (when: string) => sql`update emails set sent_at = now() + ${when}::interval where id = ${id}`.execute(sterna.db)
    await leaves('1 minute')
    await visit(pixel, { agent, from: '66.249.84.1' })
    await record()
    expect(await events()).toHaveLength(1)
    await leaves('-1 hour')
    await visit(pixel, { agent, from: '66.249.84.1' })
    await record()
    expect(await read()).toMatchObject({ status: 'OPENED', opens: 1 })
    expect((await events()).map(({ data }) => [data.machine, data.reason ?? data.by])).toEqual([
      [true, 'too soon after sending'],
      [false, 'human'],
    ])
  })

  test('by HEAD, a proxy, a program or a prefetch is answered the same, and counts as a machine', async () => {
    const { links, pixel, read, events } = await (await newProject()).deliver(LINK)
    const head = await visit(links[0]!, { method: 'HEAD' })
    expect(locationOf(head)).toEqual([302, 'https://shop.example/sale'])
    const image = await visit(pixel, { method: 'HEAD' })
    expect([image.status, image.headers['content-type'], image.body]).toEqual([200, 'image/gif', ''])
    expect(locationOf(await visit(links[0]!, { agent: 'curl/8.5.0' }))).toEqual([302, 'https://shop.example/sale'])
    await visit(pixel, { agent: 'Mozilla/5.0' })
    await visit(pixel, { headers: { 'sec-purpose': 'prefetch;anonymous-client-ip' }, from: '198.51.100.2' })
    await record()
    expect(await events()).toHaveLength(5)
    expect((await events()).map(({ name, data }) => [name, data.machine, data.reason])).toEqual([
      ['email.click', true, 'HEAD request'],
      ['email.open', true, 'HEAD request'],
      ['email.click', true, 'program'],
      ['email.open', true, 'Apple Mail Privacy Protection'],
      ['email.open', true, 'prefetch'],
    ])
    expect(await read()).toMatchObject({ opens: 0, clicks: 0 })
  })

  test('that repeats a thousand times counts once for one reader, and a bounded number of times for many', async () => {
    const project = await newProject()
    const [one, crowd] = [await (await newProject()).deliver(LINK), await project.deliver(LINK)]
    for (let round = 0; round < 3; round++) {
      await Promise.all(times(350, () => visit(one.pixel)))
      await Promise.all(times(60, (index) => visit(crowd.pixel, { from: `10.${round}.0.${index}` })))
      await record()
    }
    // At most 50 of those that are held together.
    expect((await crowd.read()).opens).toBe(150)
    expect(await one.read()).toMatchObject({ opens: 1 })
    expect(await one.events()).toHaveLength(1)
    const rows = await many(sterna.db, sql`select 1 from events where project_id = ${project.id} and email_id = ${crowd.id}`)
    expect(rows.length).toBeLessThanOrEqual(101) // with its email.sent
    // Another open by the same reader within the minute does not count either.
    await visit(one.pixel)
    await visit(one.links[0]!)
    await record()
    expect(await one.read()).toMatchObject({ opens: 1, clicks: 1 })
  })

  test('beyond a hundred events of an email still counts, without an event of its own', async () => {
    const project = await newProject()
    const { id, pixel, read, events } = await project.deliver(LINK)
    await sql`insert into email_hits (project_id, email_id, events, machine_events) values (${project.id}, ${id}, 98, 49)`.execute(
      sterna.db,
    )
    for (let index = 0; index < 5; index++) {
      await visit(pixel, { from: `10.0.0.${index}` })
      await visit(pixel, { from: `10.0.0.${index}`, agent: 'curl/8.5.0' })
    }
    await record()
    expect(await read()).toMatchObject({ opens: 5 })
    expect((await events()).map(({ data: { opens, machine } }) => [opens, machine])).toEqual([
      [1, false],
      [1, true],
      [2, false],
    ])
  })

  test('is recorded by a node that stops', async () => {
    const { pixel, read } = await (await newProject()).deliver(LINK)
    const node = await startApp(sterna.url, { env: { TRUST_PROXY: '127.0.0.1' } })
    await visit(pixel, { at: node.sterna })
    await node.close()
    expect(await read()).toMatchObject({ opens: 1 })
  })

  test('is recorded by itself within seconds', async () => {
    const { pixel, read } = await (await newProject()).deliver(LINK)
    const node = await startApp(sterna.url, { env: { TRUST_PROXY: '127.0.0.1' } })
    await visit(pixel, { at: node.sterna })
    await eventually(async () => expect(await read()).toMatchObject({ opens: 1 }))
    await node.close()
  })

  test('of a deleted contact names no contact', async () => {
    const project = await newProject()
    const { pixel, read, events } = await project.deliver(LINK)
    await project.call('DELETE', `/contacts/${(await read()).contactId}`)
    await visit(pixel)
    await record()
    expect(await read()).toMatchObject({ opens: 1, contactId: null })
    expect((await events()).map(({ contactId }) => contactId)).toEqual([null])
    expect((await read()).timeline.at(-1)).toMatchObject({ what: 'email.open' })
  })

  test('leaves nothing behind when the project is reset', async () => {
    const project = await newProject()
    const { pixel, read } = await project.deliver(LINK)
    await visit(pixel)
    await record()
    expect(await read()).toMatchObject({ opens: 1 })
    const rows = () => many(sterna.db, sql`select 1 from email_hits where project_id = ${project.id}`)
    expect(await rows()).toHaveLength(1)
    await project.owner.call('POST', `/users/@me/projects/${project.id}/reset`)
    await eventually(async () => expect(await rows()).toEqual([]))
  })
})
