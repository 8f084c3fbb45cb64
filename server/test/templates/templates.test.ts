import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { useSharedApp } from '../support/app.ts'
import { startSterna } from '../support/process.ts'
import { newSendingProject } from '../support/project.ts'
import { newTemplateProject, WELCOME } from './template-project.ts'

const sterna = useSharedApp()
const newProject = () => newTemplateProject(sterna)
type Project = Awaited<ReturnType<typeof newProject>>

const fieldsOf = ({ body }: { body: { error?: { errors?: { field: string }[] } } }) => body.error?.errors?.map(({ field }) => field)

describe('creating a template', () => {
  test('answers 201 with the whole template, which is then found', async () => {
    const project = await newProject()
    const given = { ...WELCOME, description: 'For everyone', fromName: 'Ada', previewText: 'Soon', replyTo: 'Ada@Example.com' }
    const { status, body } = await project.call('POST', '/templates', given)
    expect(status).toBe(201)
    expect(body).toEqual({
      ...given,
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      projectId: project.id,
      from: null,
      replyTo: 'ada@example.com',
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      updatedAt: body.createdAt,
      version: 1,
      design: null,
      hasDesign: false,
      workflowId: null,
    })
    expect((await project.call('GET', `/templates/${body.id}`)).body).toEqual(body)
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
    ['with an unknown type', { type: 'NEWSLETTER' }, ['type']],
    ['of the type HEADLESS', { type: 'HEADLESS' }, ['type']],
    ['with an invalid from', { from: 'nobody' }, ['from']],
    ['with a fromName of two lines', { fromName: 'a\nb' }, ['fromName']],
    ['with an invalid replyTo', { replyTo: 'x' }, ['replyTo']],
    ['of 2,000,001 characters', { body: 'x'.repeat(2_000_001) }, ['body']],
    ['with bad syntax in both', { subject: '{{', body: '{% if %}' }, ['subject', 'body']],
  ])('%s is a 422 that names the field', async (_, change, fields) => {
    const project = await newProject()
    const answer = await project.call('POST', '/templates', { ...WELCOME, ...change })
    expect([answer.status, answer.body.error?.code, fieldsOf(answer)]).toEqual([422, 'VALIDATION_ERROR', fields])
    expect((await project.call('GET', '/templates')).body.total).toBe(0)
  })

  test.each([
    ['{{ name | nope }}', 'Line 1, column 11: Unknown filter "nope".'],
    ['<p>\n  {% include "x" %}\n</p>', 'Line 2, column 3: The tag "include" is not available.'],
    ['{{ first name ?? "x" }}\n\n{% if a %}', 'Line 3, column 1: {% if %} is not closed by {% endif %}.'],
  ])('reports the position of the syntax error in %j', async (body, message) => {
    const project = await newProject()
    const answer = await project.call('POST', '/templates', { ...WELCOME, body })
    expect([answer.status, answer.body.error.errors]).toEqual([422, [{ field: 'body', message, code: 'custom' }]])
  })

  test('accepts a subject of 998 characters and a body of 2,000,000', async () => {
    const project = await newProject()
    const { subject, body } = await project.add({ subject: 'x'.repeat(998), body: 'x'.repeat(2_000_000) })
    expect([subject.length, body.length]).toEqual([998, 2_000_000])
  })

  test('with an unverified from domain is refused', async () => {
    const project = await newProject()
    const created = await project.call('POST', '/templates', { ...WELCOME, from: 'ada@example.com' })
    expect([created.status, created.body.error.code]).toEqual([403, 'DOMAIN_NOT_VERIFIED'])
    const { id } = await project.add()
    const changed = await project.call('PATCH', `/templates/${id}`, { from: 'ada@example.com' })
    expect([changed.status, changed.body.error.code]).toEqual([403, 'DOMAIN_NOT_VERIFIED'])
  })

  test('with a verified from domain succeeds, but not with a subdomain, a domain of another project or a removed domain', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const domain = `${randomUUID()}.example`
    const added = await project.call('POST', '/domains', { domain })
    expect((await project.call('POST', '/templates', { ...WELCOME, from: `Ada@${domain}` })).body.from).toBe(`ada@${domain}`)
    const { id } = await project.add()
    expect((await project.call('PATCH', `/templates/${id}`, { from: `ada@${domain}` })).body.from).toBe(`ada@${domain}`)
    expect((await project.call('PATCH', `/templates/${id}`, { from: `ada@mail.${domain}` })).status).toBe(403)
    expect((await other.call('POST', '/templates', { ...WELCOME, from: `ada@${domain}` })).status).toBe(403)
    await project.call('DELETE', `/domains/${added.body.id}`)
    expect((await project.call('POST', '/templates', { ...WELCOME, from: `ada@${domain}` })).status).toBe(403)
  })

  test('with another address as fromName is refused', async () => {
    const project = await newProject()
    const domain = `${randomUUID()}.example`
    await project.call('POST', '/domains', { domain })
    const refused = [422, ['fromName']]
    const post = async (more: object) => {
      const answer = await project.call('POST', '/templates', { ...WELCOME, ...more })
      return answer.status === 201 ? 201 : [answer.status, fieldsOf(answer)]
    }
    for (const fromName of [
      'ceo@bank.com',
      'The Boss <CEO@bank.com>',
      'ceo＠bank.com',
      'ceo@bank。com',
      'ceo @ bank.com',
      '\u202emoc.knab@oec',
    ]) {
      expect(await post({ fromName })).toEqual(refused)
      expect(await post({ fromName, from: `ada@${domain}` })).toEqual(refused)
    }
    expect(await post({ fromName: `ada@${domain}`, from: `ada@${domain}` })).toBe(201)
    expect(await post({ fromName: 'Ada @ home' })).toBe(201)

    const { id } = await project.add({ from: `ada@${domain}`, fromName: `ada@${domain}` })
    const patch = async (change: object) => (await project.call('PATCH', `/templates/${id}`, change)).status
    expect(await patch({ fromName: 'ceo@bank.com' })).toBe(422)
    expect(await patch({ from: `bob@${domain}` })).toBe(422)
    expect(await patch({ from: `bob@${domain}`, fromName: 'Bob' })).toBe(200)
  })

  test('ignores fields that only the server sets', async () => {
    const project = await newProject()
    const other = await newProject()
    const id = randomUUID()
    const created = await project.add({ id, projectId: other.id, createdAt: '2000-01-01T00:00:00.000Z' })
    expect(created).toMatchObject({ projectId: project.id })
    expect([created.id === id, created.createdAt.startsWith('2000')]).toEqual([false, false])
  })
})

describe('changing a template', () => {
  test('changes the given fields and no others', async () => {
    const project = await newProject()
    const before = await project.add({ description: 'old', fromName: 'Ada' })
    const { status, body } = await project.call('PATCH', `/templates/${before.id}`, { subject: 'New', type: 'HEADLESS', description: null })
    const changed = { subject: 'New', type: 'HEADLESS', description: null, updatedAt: expect.any(String), version: 2 }
    expect([status, body]).toEqual([200, { ...before, ...changed }])
    expect(body.updatedAt > before.updatedAt).toBe(true)
    expect((await project.call('GET', `/templates/${before.id}`)).body).toEqual(body)
  })

  test('has the same checks as creating one', async () => {
    const project = await newProject()
    const { id } = await project.add()
    for (const change of [{ name: '' }, { subject: 'a\nb' }, { body: '{{ x | y }}' }, { type: 'X' }, { name: null }]) {
      const answer = await project.call('PATCH', `/templates/${id}`, change)
      expect([answer.status, fieldsOf(answer)]).toEqual([422, Object.keys(change)])
    }
  })

  test('by duplication creates another one with the same content', async () => {
    const project = await newProject()
    const { id, ...template } = await project.add({ description: 'd', name: 'x'.repeat(255) })
    const { status, body } = await project.call('POST', `/templates/${id}/duplicate`)
    expect(status).toBe(201)
    expect(body).toEqual({
      ...template,
      id: expect.not.stringMatching(id),
      name: `${'x'.repeat(248)} (Copy)`,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect((await project.call('POST', `/templates/${(await project.add()).id}/duplicate`)).body.name).toBe('Welcome (Copy)')
  })

  test('by deletion answers 204 and removes it', async () => {
    const project = await newProject()
    const { id } = await project.add()
    const { status, body } = await project.call('DELETE', `/templates/${id}`)
    expect([status, body]).toEqual([204, ''])
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/duplicate'],
      ['GET', '/usage'],
      ['POST', '/lint'],
    ] as const) {
      const answer = await project.call(method, `/templates/${id}${path}`)
      expect([answer.status, answer.body.error.code]).toEqual([404, 'TEMPLATE_NOT_FOUND'])
    }
  })

  test('by a reset of the project removes its templates and no others', async () => {
    const project = await newProject()
    const other = await newProject()
    await project.add()
    await other.add()
    await project.owner.call('POST', `/users/@me/projects/${project.id}/reset`)
    await expect.poll(() => project.names()).toEqual([])
    expect(await other.names()).toEqual(['Welcome'])
  })
})

describe('the list of templates', () => {
  let project: Project
  beforeAll(async () => {
    project = await newProject()
    await project.add({ name: 'banana', subject: 'Fruit 100%', type: 'MARKETING' })
    await project.add({ name: 'Apple', description: 'A_red one über alles', subject: 'Order' })
    const cherry = await project.add({ name: 'cherry', subject: 'back\\slash' })
    await project.call('PATCH', `/templates/${cherry.id}`, { type: 'HEADLESS' })
    const first = (await project.call('GET', '/templates?sort=name')).body.data.at(-1)
    await project.call('PATCH', `/templates/${first.id}`, { fromName: 'touched' })
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
  ])('with %j has the matching templates in order', async (query, names) => {
    expect(await project.names(query)).toEqual(names)
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
  ])('with %j has page, size and totals', async (query, expected) => {
    const { status, body } = await project.call('GET', `/templates${query}`)
    expect([status, body]).toEqual([200, expect.objectContaining(expected)])
  })

  test('refuses an unknown type', async () => {
    expect((await project.call('GET', '/templates?type=X')).status).toBe(422)
  })
})

test('a template of another project is not found by any request', async () => {
  const [mine, theirs] = [await newProject(), await newProject()]
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

test('the usage of a new template is empty', async () => {
  const project = await newProject()
  const { id } = await project.add()
  const { status, body } = await project.call('GET', `/templates/${id}/usage`)
  expect([status, body]).toEqual([200, { campaigns: [], workflowSteps: [], emailsSent: 0 }])
})

test('the uses of several templates are counted together, without test emails and those of other projects', async () => {
  const [mine, theirs] = [await newSendingProject(sterna), await newProject()]
  const [used, unused, foreign] = [await mine.template(), await mine.template(), (await theirs.add()).id]
  const sent = (to: string) => mine.sent({ to, template: used, subject: undefined, body: undefined })
  const [, testEmail] = [await sent('ada@example.com'), await sent('eve@example.com')]
  await sql`update emails set test = true where project_id = ${mine.id} and id = ${testEmail.id}`.execute(sterna.db)
  const campaign = { name: 'C', subject: 'S', body: '<p>B</p>', from: `hello@${mine.domain}`, audienceType: 'ALL', templateId: used }
  expect((await mine.call('POST', '/campaigns', campaign)).status).toBe(200)
  const { status, body } = await mine.call('GET', `/templates/usage?ids=${[used, unused, foreign, 'x', used].join()}`)
  expect([status, body.data.length]).toEqual([200, 2])
  expect(body.data).toEqual(
    expect.arrayContaining([
      { id: used, campaignCount: 1, workflowCount: 0, emailsSent: 1 },
      { id: unused, campaignCount: 0, workflowCount: 0, emailsSent: 0 },
    ]),
  )
  for (const query of ['', '?ids=']) expect((await mine.call('GET', `/templates/usage${query}`)).body).toEqual({ data: [] })
  expect((await mine.call('GET', `/templates/usage?ids=${'x'.repeat(4_000)}`)).status).toBe(422)
})

test('the built product starts its render threads and stops with them', async () => {
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
})
