import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { useApp } from '../support/app.ts'
import { startSterna } from '../support/process.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0', PUBLIC_URL: 'https://mail.example' } })

type Template = { id: string; name: string; subject: string; body: string; type: string; createdAt: string; updatedAt: string }

const WELCOME = { name: 'Welcome', subject: 'Hi {{ first name ?? "you" }}', body: '<p>Hi {{ first name }}</p>', type: 'TRANSACTIONAL' }

let owner: Awaited<ReturnType<typeof sterna.newPerson>>
beforeAll(async () => {
  owner = await sterna.newPerson()
})

/** A project with what a customer does with its templates. */
async function newShelf() {
  const { id, sk } = await sterna.newProject(owner)
  const call = (method: string, url: string, body?: unknown) =>
    sterna.call(method, url, { key: sk, ...(body === undefined ? {} : { body }) })
  return {
    id,
    call,
    add: async (more: object = {}): Promise<Template> => (await call('POST', '/templates', { ...WELCOME, ...more })).body,
    names: async (query = ''): Promise<string[]> => (await call('GET', `/templates${query}`)).body.data.map(({ name }: Template) => name),
    lint: async (content: object): Promise<[string, string, number?][]> =>
      (await call('POST', '/templates/lint', { subject: 'x', ...content })).body.issues.map(
        ({ code, severity, line }: { code: string; severity: string; line?: number }) => [code, severity, ...(line ? [line] : [])],
      ),
  }
}
type Shelf = Awaited<ReturnType<typeof newShelf>>

const fieldsOf = ({ body }: { body: { error?: { errors?: { field: string }[] } } }) => body.error?.errors?.map(({ field }) => field)

describe('creating a template', () => {
  test('answers 201 with all of it, and it is found again', async () => {
    const shelf = await newShelf()
    const given = { ...WELCOME, description: 'For everyone', fromName: 'Ada', replyTo: 'Ada@Example.com' }
    const { status, body } = await shelf.call('POST', '/templates', given)
    expect(status).toBe(201)
    expect(body).toEqual({
      ...given,
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      projectId: shelf.id,
      from: null,
      replyTo: 'ada@example.com',
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      updatedAt: body.createdAt,
    })
    expect((await shelf.call('GET', `/templates/${body.id}`)).body).toEqual(body)
  })

  test.each<[string, object, string[]]>([
    ['without a name', { name: undefined }, ['name']],
    ['without a subject', { subject: undefined }, ['subject']],
    ['without a body', { body: undefined }, ['body']],
    ['without a type', { type: undefined }, ['type']],
    ['with an empty name', { name: ' ' }, ['name']],
    ['with a name of 256 characters', { name: 'x'.repeat(256) }, ['name']],
    ['with an empty subject', { subject: '' }, ['subject']],
    ['with an empty body', { body: '' }, ['body']],
    ['with a subject of 999 characters', { subject: 'x'.repeat(999) }, ['subject']],
    ['with a subject of two lines', { subject: 'a\nb' }, ['subject']],
    ['with a subject with a carriage return', { subject: 'a\rb' }, ['subject']],
    ['with a type of its own', { type: 'NEWSLETTER' }, ['type']],
    ['that is HEADLESS from the start', { type: 'HEADLESS' }, ['type']],
    ['from no address', { from: 'nobody' }, ['from']],
    ['with a sender name of two lines', { fromName: 'a\nb' }, ['fromName']],
    ['that answers go nowhere', { replyTo: 'x' }, ['replyTo']],
    ['of 2,000,001 characters', { body: 'x'.repeat(2_000_001) }, ['body']],
    ['with bad syntax in both', { subject: '{{', body: '{% if %}' }, ['subject', 'body']],
  ])('%s is refused by name', async (_, change, fields) => {
    const shelf = await newShelf()
    const answer = await shelf.call('POST', '/templates', { ...WELCOME, ...change })
    expect([answer.status, answer.body.error?.code, fieldsOf(answer)]).toEqual([422, 'VALIDATION_ERROR', fields])
    expect((await shelf.call('GET', '/templates')).body.total).toBe(0)
  })

  test.each([
    ['{{ name | nope }}', 'Line 1, column 11: Unknown filter "nope".'],
    ['<p>\n  {% include "x" %}\n</p>', 'Line 2, column 3: The tag "include" is not available.'],
    ['{{ first name ?? "x" }}\n\n{% if a %}', 'Line 3, column 1: {% if %} is not closed by {% endif %}.'],
  ])('says where the syntax is wrong: %j', async (body, message) => {
    const shelf = await newShelf()
    const answer = await shelf.call('POST', '/templates', { ...WELCOME, body })
    expect([answer.status, answer.body.error.errors]).toEqual([422, [{ field: 'body', message, code: 'custom' }]])
  })

  test('takes a subject of 998 characters and a body of 2,000,000', async () => {
    const shelf = await newShelf()
    const { subject, body } = await shelf.add({ subject: 'x'.repeat(998), body: 'x'.repeat(2_000_000) })
    expect([subject.length, body.length]).toEqual([998, 2_000_000])
  })

  test('from a domain that is not verified is refused', async () => {
    const shelf = await newShelf()
    const created = await shelf.call('POST', '/templates', { ...WELCOME, from: 'ada@example.com' })
    expect([created.status, created.body.error.code]).toEqual([403, 'DOMAIN_NOT_VERIFIED'])
    const { id } = await shelf.add()
    const changed = await shelf.call('PATCH', `/templates/${id}`, { from: 'ada@example.com' })
    expect([changed.status, changed.body.error.code]).toEqual([403, 'DOMAIN_NOT_VERIFIED'])
  })

  test('from a verified domain is kept, and not from one below it, of another project, or once it is gone', async () => {
    const [shelf, other] = [await newShelf(), await newShelf()]
    const domain = `${randomUUID()}.example`
    const added = await shelf.call('POST', '/domains', { domain })
    expect((await shelf.call('POST', '/templates', { ...WELCOME, from: `Ada@${domain}` })).body.from).toBe(`ada@${domain}`)
    const { id } = await shelf.add()
    expect((await shelf.call('PATCH', `/templates/${id}`, { from: `ada@${domain}` })).body.from).toBe(`ada@${domain}`)
    expect((await shelf.call('PATCH', `/templates/${id}`, { from: `ada@mail.${domain}` })).status).toBe(403)
    expect((await other.call('POST', '/templates', { ...WELCOME, from: `ada@${domain}` })).status).toBe(403)
    await shelf.call('DELETE', `/domains/${added.body.id}`)
    expect((await shelf.call('POST', '/templates', { ...WELCOME, from: `ada@${domain}` })).status).toBe(403)
  })

  test('with another address as the name of its sender is refused', async () => {
    const shelf = await newShelf()
    const domain = `${randomUUID()}.example`
    await shelf.call('POST', '/domains', { domain })
    const refused = [422, ['fromName']]
    const post = async (more: object) => {
      const answer = await shelf.call('POST', '/templates', { ...WELCOME, ...more })
      return answer.status === 201 ? 201 : [answer.status, fieldsOf(answer)]
    }
    for (const fromName of ['ceo@bank.com', 'The Boss <CEO@bank.com>', 'ceo＠bank.com']) {
      expect(await post({ fromName })).toEqual(refused)
      expect(await post({ fromName, from: `ada@${domain}` })).toEqual(refused)
    }
    expect(await post({ fromName: `ada@${domain}`, from: `ada@${domain}` })).toBe(201)
    expect(await post({ fromName: 'Ada @ home' })).toBe(201)

    const { id } = await shelf.add({ from: `ada@${domain}`, fromName: `ada@${domain}` })
    const patch = async (change: object) => (await shelf.call('PATCH', `/templates/${id}`, change)).status
    expect(await patch({ fromName: 'ceo@bank.com' })).toBe(422)
    expect(await patch({ from: `bob@${domain}` })).toBe(422)
    expect(await patch({ from: `bob@${domain}`, fromName: 'Bob' })).toBe(200)
  })

  test('sets nothing that is not the caller’s to set', async () => {
    const shelf = await newShelf()
    const other = await newShelf()
    const id = randomUUID()
    const created = await shelf.add({ id, projectId: other.id, createdAt: '2000-01-01T00:00:00.000Z' })
    expect(created).toMatchObject({ projectId: shelf.id })
    expect([created.id === id, created.createdAt.startsWith('2000')]).toEqual([false, false])
  })
})

describe('changing a template', () => {
  test('changes what is given and nothing else', async () => {
    const shelf = await newShelf()
    const before = await shelf.add({ description: 'old', fromName: 'Ada' })
    const { status, body } = await shelf.call('PATCH', `/templates/${before.id}`, { subject: 'New', type: 'HEADLESS', description: null })
    expect([status, body]).toEqual([200, { ...before, subject: 'New', type: 'HEADLESS', description: null, updatedAt: expect.any(String) }])
    expect(body.updatedAt > before.updatedAt).toBe(true)
    expect((await shelf.call('GET', `/templates/${before.id}`)).body).toEqual(body)
  })

  test('is checked like creating one', async () => {
    const shelf = await newShelf()
    const { id } = await shelf.add()
    for (const change of [{ name: '' }, { subject: 'a\nb' }, { body: '{{ x | y }}' }, { type: 'X' }, { name: null }]) {
      const answer = await shelf.call('PATCH', `/templates/${id}`, change)
      expect([answer.status, fieldsOf(answer)]).toEqual([422, Object.keys(change)])
    }
  })

  test('duplicating it makes another with the same content', async () => {
    const shelf = await newShelf()
    const { id, ...template } = await shelf.add({ description: 'd', name: 'x'.repeat(255) })
    const { status, body } = await shelf.call('POST', `/templates/${id}/duplicate`)
    expect(status).toBe(201)
    expect(body).toEqual({
      ...template,
      id: expect.not.stringMatching(id),
      name: `${'x'.repeat(248)} (Copy)`,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect((await shelf.call('POST', `/templates/${(await shelf.add()).id}/duplicate`)).body.name).toBe('Welcome (Copy)')
  })

  test('deleting it answers 204 and it is gone', async () => {
    const shelf = await newShelf()
    const { id } = await shelf.add()
    const { status, body } = await shelf.call('DELETE', `/templates/${id}`)
    expect([status, body]).toEqual([204, ''])
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/duplicate'],
      ['GET', '/usage'],
      ['POST', '/lint'],
    ] as const) {
      const answer = await shelf.call(method, `/templates/${id}${path}`)
      expect([answer.status, answer.body.error.code]).toEqual([404, 'TEMPLATE_NOT_FOUND'])
    }
  })

  test('resetting the project removes all of its templates and no other’s', async () => {
    const shelf = await newShelf()
    const other = await newShelf()
    await shelf.add()
    await other.add()
    await owner.call('POST', `/users/@me/projects/${shelf.id}/reset`)
    await expect.poll(() => shelf.names()).toEqual([])
    expect(await other.names()).toEqual(['Welcome'])
  })
})

describe('the list', () => {
  let shelf: Shelf
  beforeAll(async () => {
    shelf = await newShelf()
    await shelf.add({ name: 'banana', subject: 'Fruit 100%', type: 'MARKETING' })
    await shelf.add({ name: 'Apple', description: 'A_red one über alles', subject: 'Order' })
    const cherry = await shelf.add({ name: 'cherry', subject: 'back\\slash' })
    await shelf.call('PATCH', `/templates/${cherry.id}`, { type: 'HEADLESS' })
    const first = (await shelf.call('GET', '/templates?sort=name')).body.data.at(-1)
    await shelf.call('PATCH', `/templates/${first.id}`, { fromName: 'touched' })
  })

  test.each<[string, string[]]>([
    ['', ['cherry', 'Apple', 'banana']],
    ['?dir=asc', ['banana', 'Apple', 'cherry']],
    ['?sort=name&dir=asc', ['Apple', 'banana', 'cherry']],
    ['?sort=name', ['cherry', 'banana', 'Apple']],
    ['?sort=updatedAt', ['Apple', 'cherry', 'banana']],
    ['?sort=nonsense&dir=nonsense', ['cherry', 'Apple', 'banana']],
    ['?type=MARKETING', ['banana']],
    ['?type=HEADLESS', ['cherry']],
    ['?search=APPLE', ['Apple']],
    ['?search=order', ['Apple']],
    ['?search=red', ['Apple']],
    ['?search=%C3%9CBER', ['Apple']],
    ['?search=%25', ['banana']],
    ['?search=_', ['Apple']],
    ['?search=%5C', ['cherry']],
    ['?search=an&type=TRANSACTIONAL', []],
    ['?search=', ['cherry', 'Apple', 'banana']],
    ['?pageSize=2', ['cherry', 'Apple']],
    ['?pageSize=2&page=2', ['banana']],
    ['?pageSize=2&page=9', []],
  ])('%s', async (query, names) => {
    expect(await shelf.names(query)).toEqual(names)
  })

  test.each<[string, object]>([
    ['', { page: 1, pageSize: 20, total: 3, totalPages: 1 }],
    ['?page=2&pageSize=2', { page: 2, pageSize: 2, total: 3, totalPages: 2 }],
    ['?pageSize=1000000000', { page: 1, pageSize: 100, total: 3, totalPages: 1 }],
    ['?page=0&pageSize=0', { page: 1, pageSize: 20, total: 3, totalPages: 1 }],
    ['?page=-1&pageSize=x', { page: 1, pageSize: 20, total: 3, totalPages: 1 }],
    ['?page=9007199254740992&pageSize=100', { page: 1_000_000_000, total: 3, totalPages: 1 }],
    ['?search=nothing', { total: 0, totalPages: 0 }],
    ['?type=MARKETING', { total: 1, totalPages: 1 }],
  ])('%s says what it used', async (query, expected) => {
    const { status, body } = await shelf.call('GET', `/templates${query}`)
    expect([status, body]).toEqual([200, expect.objectContaining(expected)])
  })

  test('refuses a type that is none', async () => {
    expect((await shelf.call('GET', '/templates?type=X')).status).toBe(422)
  })
})

test('a template of another project is not found, whatever is done with it', async () => {
  const [mine, theirs] = [await newShelf(), await newShelf()]
  const { id } = await theirs.add()
  const before = await many(sterna.db, sql`select * from templates where project_id = ${theirs.id}`)
  for (const [method, path, body] of [
    ['GET', ''],
    ['PATCH', '', { name: 'Mine now' }],
    ['DELETE', ''],
    ['POST', '/duplicate'],
    ['GET', '/usage'],
    ['POST', '/preview', {}],
    ['POST', '/lint'],
  ] as const) {
    const foreign = await mine.call(method, `/templates/${id}${path}`, body)
    const unknown = await mine.call(method, `/templates/${randomUUID()}${path}`, body)
    expect([method, path, foreign.status, foreign.body.error.code]).toEqual([method, path, 404, 'TEMPLATE_NOT_FOUND'])
    expect(Object.keys(foreign.body.error)).toEqual(Object.keys(unknown.body.error))
  }
  expect(await mine.names()).toEqual([])
  expect(await many(sterna.db, sql`select * from templates where project_id = ${theirs.id}`)).toEqual(before)
})

test('the usage of a template is nothing yet', async () => {
  const shelf = await newShelf()
  const { id } = await shelf.add()
  const { status, body } = await shelf.call('GET', `/templates/${id}/usage`)
  expect([status, body]).toEqual([200, { campaigns: [], workflowSteps: [], emailsSent: 0 }])
})

describe('a preview', () => {
  const preview = async (shelf: Shelf, content: object, sample: object) => {
    const { id } = await shelf.add(content)
    return shelf.call('POST', `/templates/${id}/preview`, sample)
  }

  test('shows subject, markup and text for a sample', async () => {
    const body =
      '<h1>Hi {{ first name }}</h1><p>{{ plan }} {{ nickname ?? "-" }} {{ company }} {% if vip %}{{ vip }}{% endif %} {{ email }} {{ locale }}</p>'
    const sample = { email: 'Ada@Example.com', locale: 'de', data: { 'first name': 'A<b>', plan: { value: 'pro', persistent: false } } }
    const answer = await preview(await newShelf(), { body }, sample)
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        subject: 'Hi A<b>',
        html: '<h1>Hi A&lt;b&gt;</h1><p>pro -   ada@example.com de</p>',
        text: 'Hi A<b>\n\npro - ada@example.com de\n',
        missingVariables: ['company'],
      },
    ])
  })

  test('shows it for a contact, with what the sample says first', async () => {
    const shelf = await newShelf()
    const contact = (await shelf.call('POST', '/contacts', { email: 'grace@example.com', data: { plan: 'pro', city: 'Rome' } })).body
    const body = '{{ id }} {{ email }} {{ plan }} {{ city }} {{ subscribed }} {{ unsubscribeUrl }}'
    const answer = await preview(shelf, { body }, { contactId: contact.id, data: { plan: 'free', city: null } })
    expect(answer.body).toMatchObject({
      html: expect.stringMatching(new RegExp(`^${contact.id} grace@example.com free  true https://mail.example/unsubscribe/[\\w-]{66}$`)),
      missingVariables: ['city'],
    })
  })

  test('of a contact of another project is not found', async () => {
    const [mine, theirs] = [await newShelf(), await newShelf()]
    const contact = (await theirs.call('POST', '/contacts', { email: 'grace@example.com' })).body
    const answer = await preview(mine, {}, { contactId: contact.id })
    expect([answer.status, answer.body.error.code]).toEqual([404, 'CONTACT_NOT_FOUND'])
    expect((await preview(mine, {}, { contactId: 'x' })).status).toBe(422)
  })

  test('of a template that never ends is refused with the reason', async () => {
    const body = '{% for i in (1..9999) %}{% for j in (1..9999) %}{% endfor %}{% endfor %}'
    const answer = await preview(await newShelf(), { body }, {})
    expect([answer.status, fieldsOf(answer)]).toEqual([422, ['body']])
    expect(answer.body.error.errors[0].message).toMatch(/too much memory|took longer/)
  })

  test('has no way to reserved names', async () => {
    const answer = await preview(
      await newShelf(),
      { body: '{{ id }} {{ unsubscribeUrl }}' },
      { data: { id: 'x', unsubscribeUrl: 'https://evil.example' } },
    )
    expect(answer.body.html).toMatch(/^00000000-0000-0000-0000-000000000000 https:\/\/mail\.example\/unsubscribe\/[\w-]{66}$/)
  })
})

describe('lint', () => {
  test.each<[string, object, [string, string, number?][]]>([
    ['finds nothing in a good mail', { body: '<a href="https://x.example/{{ id }}">x</a><img src="x" alt=""> {{ email }}' }, []],
    ['bad syntax', { body: 'a\n{{ x | y }}' }, [['syntax_error', 'error', 2]]],
    ['bad syntax in the subject', { subject: '{{ x', body: 'x' }, [['syntax_error', 'error']]],
    [
      'variables nobody has',
      { body: '{{ plam }} {{ plan }} {{ plam }} {{ x.y }} {{ z ?? "" }} {% if w %}{{ w }}{% endif %}' },
      [
        ['missing_variable', 'warning'],
        ['missing_variable', 'warning'],
      ],
    ],
    [
      'empty links',
      { body: '<a href="">a</a>\n<a href="#">b</a>\n<a>c</a><a name="top"></a><a href="#top">d</a>' },
      [
        ['empty_link', 'warning', 1],
        ['empty_link', 'warning', 2],
        ['empty_link', 'warning', 3],
      ],
    ],
    [
      'broken links',
      { body: '<a href="http://">a</a><a href="/path">b</a><a href="javascript:x">c</a><a href="https://">d</a>' },
      [
        ['broken_link', 'error', 1],
        ['broken_link', 'error', 1],
        ['broken_link', 'error', 1],
        ['broken_link', 'error', 1],
      ],
    ],
    ['links that are not encrypted', { body: '<a href="http://x.example">a</a>' }, [['insecure_link', 'warning', 1]]],
    [
      'no fault in links that are filled in',
      {
        body: '<a href="{{ email ?? "x" }}">a</a><a href="https://{{ email }}/x">b</a><a {% if email %}href="mailto:a@b.example"{% endif %}>c</a>',
      },
      [],
    ],
    ['images without a text', { body: '<p>\n<img src="x"></p>' }, [['image_without_alt', 'warning', 2]]],
    [
      'names with words that are operators',
      {
        body: '{{ plan and plan ?? "x" }}\n{{ not plan }} {{ data["plan and plan"] ?? "" }} {{ plan ?? "a and b" }}{% if plan and plan %}{% endif %}',
      },
      [
        ['ambiguous_name', 'warning', 1],
        ['ambiguous_name', 'warning', 2],
      ],
    ],
    ['bodies that are clipped', { body: 'x'.repeat(105_000) }, [['too_large', 'warning']]],
    ['no link to unsubscribe', { body: 'x', type: 'MARKETING' }, [['no_unsubscribe_link', 'info']]],
    ['that there is one', { body: '<a href="{{unsubscribeUrl}}">x</a>', type: 'MARKETING' }, []],
    ['that a transactional mail needs none', { body: 'x', type: 'TRANSACTIONAL' }, []],
  ])('finds %s', async (_, content, expected) => {
    const shelf = await newShelf()
    await shelf.call('POST', '/contacts', { email: 'ada@example.com', data: { plan: 'pro' } })
    expect(await shelf.lint(content)).toEqual(expected)
  })

  test('takes a field for unknown that only another project has', async () => {
    const [mine, theirs] = [await newShelf(), await newShelf()]
    await theirs.call('POST', '/contacts', { email: 'ada@example.com', data: { secret: 'x' } })
    expect(await mine.lint({ body: '{{ secret }}' })).toEqual([['missing_variable', 'warning']])
    expect(await theirs.lint({ body: '{{ secret }}' })).toEqual([])
  })

  test('looks at a stored template in the same way', async () => {
    const shelf = await newShelf()
    const { id } = await shelf.add({ type: 'MARKETING' })
    const { status, body } = await shelf.call('POST', `/templates/${id}/lint`)
    expect([status, body.issues.map(({ code }: { code: string }) => code)]).toEqual([200, ['missing_variable', 'no_unsubscribe_link']])
  })

  test('is bounded, also for half a megabyte of links', async () => {
    const shelf = await newShelf()
    const issues = await shelf.lint({ body: '<a href="">'.repeat(45_000) })
    expect(issues).toHaveLength(200)
  })
})

test('the product as it is started finds its threads, and stops with them', async () => {
  const product = await startSterna()
  try {
    const post = async (path: string, body: object, headers: Record<string, string> = {}) =>
      fetch(product.url + path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })
    const json = (answer: Response) => answer.json() as Promise<Record<string, string>>
    const signedUp = await post('/auth/signup', { email: 'threads@example.com', password: 'correct horse' })
    const cookie = signedUp.headers.get('set-cookie')!.split(';')[0]!
    const { secret } = await json(await post('/users/@me/projects', { name: 'Test' }, { cookie }))
    const headers = { authorization: `Bearer ${secret}` }
    const body = '{% for item in items %}{{ item }};{% endfor %}'
    const { id } = await json(await post('/templates', { ...WELCOME, body }, headers))
    const preview = await post(`/templates/${id}/preview`, { data: { items: ['a', 'b'] } }, headers)
    expect(await json(preview)).toMatchObject({ html: 'a;b;', text: 'a;b;\n' })
  } finally {
    await product.stop()
  }
}, 60_000)
