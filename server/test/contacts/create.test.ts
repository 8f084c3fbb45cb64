import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { plainError, statuses } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { times } from '../support/times.ts'

const sterna = useSharedApp()
const newProject = async () => sterna.newProject(await sterna.sharedOwner())

describe('POST /contacts', () => {
  test('creates a contact, answers 201 with the whole contact, and the contact is listed', async () => {
    const project = await newProject()
    const { status, body } = await project.call('POST', '/contacts', { email: 'Ada@Example.com', data: { plan: 'pro', age: 36 } })
    expect(status).toBe(201)
    const { _meta, ...contact } = body
    expect(contact).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      email: 'ada@example.com',
      subscribed: true,
      data: { plan: 'pro', age: 36 },
      projectId: project.id,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: contact.createdAt,
    })
    expect(_meta).toEqual({ isNew: true, isUpdate: false })
    expect(await project.contacts.get(contact.id)).toEqual(contact)
    expect((await project.contacts.list()).data).toEqual([contact])
  })

  test('updates an existing contact, answers 200 and keeps fields that were not sent', async () => {
    const project = await newProject()
    const first = await project.contacts.create('ada@example.com', { data: { plan: 'pro', city: 'Bonn', tags: ['a'] } })
    const { status, body } = await project.call('POST', '/contacts', {
      email: 'ada@example.com',
      data: { plan: 'max', city: null, tags: { b: 1 } },
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({ id: first.id, createdAt: first.createdAt, data: { plan: 'max', tags: { b: 1 } } })
    expect(body._meta).toEqual({ isNew: false, isUpdate: true })
    expect(Object.keys(body.data).sort()).toEqual(['plan', 'tags'])
    expect(Date.parse(body.updatedAt)).toBeGreaterThanOrEqual(Date.parse(first.updatedAt))
  })

  test.each<[string, object | undefined, object, boolean]>([
    ['subscribes a new contact by default', undefined, {}, true],
    ['creates an unsubscribed contact if asked to', undefined, { subscribed: false }, false],
    ['keeps an opted-out contact unsubscribed by default', { subscribed: false }, {}, false],
    ['subscribes an opted-out contact if asked to', { subscribed: false }, { subscribed: true }, true],
    ['keeps a subscribed contact subscribed by default', {}, {}, true],
    ['unsubscribes a subscribed contact if asked to', {}, { subscribed: false }, false],
  ])('%s', async (_, before, sent, after) => {
    const project = await newProject()
    if (before) await project.contacts.create('ada@example.com', before)
    expect((await project.contacts.create('ada@example.com', sent)).subscribed).toBe(after)
    expect((await project.contacts.rows())[0]!.subscribed).toBe(after)
  })

  test.each<[string, unknown]>([
    ['no email', {}],
    ['no email but data', { data: { a: 1 }, subscribed: true }],
    ['an email under another name', { Email: 'ada@example.com' }],
    ['null as email', { email: null }],
  ])('with %s is a plain 400', async (_, body) => {
    const project = await newProject()
    const answer = await project.call('POST', '/contacts', body)
    expect(answer).toMatchObject({ status: 400, body: plainError })
    expect(Object.keys(answer.body)).toEqual(['error'])
    expect(await project.contacts.rows()).toEqual([])
  })

  test.each<[string, object, string, string]>([
    ['a number as email', { email: 123 }, 'email', 'invalid_type'],
    ['a list as email', { email: ['ada@example.com'] }, 'email', 'invalid_type'],
    ['no at sign', { email: 'ada' }, 'email', 'invalid_string'],
    ['an empty email', { email: '' }, 'email', 'invalid_string'],
    ['two addresses', { email: 'a@example.com, b@example.com' }, 'email', 'invalid_string'],
    ['an address with a name', { email: 'Ada <ada@example.com>' }, 'email', 'invalid_string'],
    ['a header in the address', { email: 'ada@example.com\r\nBcc: x@y.z' }, 'email', 'invalid_string'],
    ['U+0000 in the address', { email: 'a\0@example.com' }, 'email', 'invalid_string'],
    ['an address that is too long', { email: `${'a'.repeat(310)}@example.com` }, 'email', 'too_big'],
    ['a string as subscribed', { email: 'ada@example.com', subscribed: 'true' }, 'subscribed', 'invalid_type'],
    ['a number as subscribed', { email: 'ada@example.com', subscribed: 1 }, 'subscribed', 'invalid_type'],
    ['null as subscribed', { email: 'ada@example.com', subscribed: null }, 'subscribed', 'invalid_type'],
    ['a list as data', { email: 'ada@example.com', data: [] }, 'data', 'invalid_type'],
    ['a string as data', { email: 'ada@example.com', data: 'x' }, 'data', 'invalid_type'],
    ['a number as data', { email: 'ada@example.com', data: 1 }, 'data', 'invalid_type'],
    ['a locale that is not a string', { email: 'ada@example.com', data: { locale: 1 } }, 'data.locale', 'invalid_type'],
    ['U+0000 in a value', { email: 'ada@example.com', data: { a: '\0' } }, 'data.a', 'invalid_string'],
    ['half a surrogate pair', { email: 'ada@example.com', data: { a: '\ud800' } }, 'data.a', 'invalid_string'],
    ['a key of 256 bytes', { email: 'ada@example.com', data: { ['k'.repeat(256)]: 1 } }, `data.${'k'.repeat(50)}`, 'too_big'],
    ['a value that is too long', { email: 'ada@example.com', data: { a: 'x'.repeat(65_537) } }, 'data.a', 'too_big'],
  ])('with %s is a 422 that names the field', async (_, body, field, code) => {
    const project = await newProject()
    const answer = await project.call('POST', '/contacts', body)
    expect(answer).toMatchObject({ status: 422, body: { success: false, error: { code: 'VALIDATION_ERROR', errors: [{ field, code }] } } })
    expect(await project.contacts.rows()).toEqual([])
  })

  test('ignores fields that only the server sets', async () => {
    const project = await newProject()
    const other = await newProject()
    const forged = {
      id: randomUUID(),
      projectId: other.id,
      project_id: other.id,
      createdAt: '2001-01-01T00:00:00.000Z',
      _meta: { isNew: false },
    }
    const created = await project.call('POST', '/contacts', { email: 'ada@example.com', ...forged })
    expect(created.status).toBe(201)
    expect(created.body).toMatchObject({ projectId: project.id, _meta: { isNew: true } })
    expect(created.body.id).not.toBe(forged.id)
    expect(created.body.createdAt).not.toBe(forged.createdAt)
    const { body } = await project.contacts.update(created.body.id, { ...forged, updatedAt: forged.createdAt })
    expect(body).toMatchObject({ id: created.body.id, projectId: project.id, createdAt: created.body.createdAt })
    expect(body.updatedAt).not.toBe(forged.createdAt)
    expect(await other.contacts.rows()).toEqual([])
  })

  test.each([
    ['ada@example.com', 'ADA@EXAMPLE.COM', ' Ada@Example.com\t'],
    ['ada@bücher.example', 'ADA@BÜCHER.example', 'ada@xn--bcher-kva.example', 'ada@XN--BCHER-KVA.EXAMPLE', 'ada@bu\u0308cher.example'],
    ['caf\u00e9@example.com', 'cafe\u0301@example.com', 'CAFe\u0301@EXAMPLE.com', 'CAF\u00c9@example.com'],
    ['i\u0307stanbul@example.com', '\u0130stanbul@example.com', 'I\u0307STANBUL@example.com'],
  ])('treats all spellings of %s as one contact', async (...spellings) => {
    const project = await newProject()
    const { id } = await project.contacts.create(spellings[0]!)
    for (const email of spellings)
      expect(await project.contacts.create(email)).toMatchObject({ id, _meta: { isNew: false, isUpdate: true } })
    expect(await project.contacts.rows()).toHaveLength(1)
    expect((await project.contacts.list()).total).toBe(1)
  })

  test('stores data as sent, with any key', async () => {
    const project = await newProject()
    const data = {
      constructor: 1,
      toString: 'x',
      'a b': ' ',
      'a.b': { 'c"d': [1, { e: null }, ''] },
      "'; drop table contacts; --": true,
      'x\\y': '\\',
      émoji: '😀\u2028\t\n',
      subscribed: 'custom',
      createdAt: 'custom',
      zero: 0,
      price: 1.1,
      html: '<img src=x onerror=alert(1)>{{7*7}}',
    }
    const { id } = await project.contacts.create('ada@example.com', { data })
    expect((await project.contacts.get(id)).data).toEqual(data)
    expect((await project.contacts.list()).data[0].data).toEqual(data)
  })

  test('does not store reserved keys, "" and values that are not persistent, and null deletes a key', async () => {
    const project = await newProject()
    const { id } = await project.contacts.create('ada@example.com', { data: { a: 1, b: 1 } })
    const dropped = Object.fromEntries(
      ['id', 'email', 'service_id', 'service_email', 'sterna_id', 'sterna_email', 'unsubscribeUrl', 'subscribeUrl', 'manageUrl'].map(
        (key) => [key, 'x@y.zz'],
      ),
    )
    const data = { ...dropped, a: '', b: null, c: { value: 1, persistent: false }, d: { value: 2, persistent: true } }
    for (const send of [() => project.contacts.create('ada@example.com', { data }), () => project.contacts.update(id, { data })])
      await send()
    expect(await project.contacts.get(id)).toMatchObject({ email: 'ada@example.com', data: { a: 1, d: 2 } })
    expect(Object.keys((await project.contacts.get(id)).data!).sort()).toEqual(['a', 'd'])
  })

  test('answers data: null for a contact without data', async () => {
    const project = await newProject()
    const { id, data } = await project.contacts.create('ada@example.com', { data: null })
    expect(data).toBeNull()
    await project.contacts.update(id, { data: { a: 1 } })
    expect((await project.contacts.update(id, { data: { a: null } })).body.data).toBeNull()
  })

  test('creates one contact for many concurrent requests with the same address', async () => {
    const project = await newProject()
    const answers = await Promise.all(
      times(60, (n) => project.call('POST', '/contacts', { email: n % 2 ? 'ada@example.com' : 'ADA@example.com', data: { [`k${n}`]: n } })),
    )
    expect(statuses(answers)).toEqual([...times(59, () => 200), 201])
    expect(answers.filter(({ body }) => body._meta.isNew).map(({ status }) => status)).toEqual([201])
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    const { data, total } = await project.contacts.list()
    expect(total).toBe(1)
    expect(data[0].data).toEqual(Object.fromEntries(times(60, (n) => [`k${n}`, n])))
    expect(await project.events.namesOf(data[0].id)).toEqual([])
  })

  test('answers each of many concurrent requests by itself, of several projects, also beside one that is refused', async () => {
    const projects = [await newProject(), await newProject()]
    const tooMuch = Object.fromEntries(times(5, (n) => [`k${n}`, 'x'.repeat(65_000)]))
    const answers = await Promise.all(
      times(40, (n) => {
        const choice = n % 5 === 1 ? { subscribed: false } : {}
        return projects[n % 2]!.call('POST', '/contacts', { email: `${n}@example.com`, data: n === 7 ? tooMuch : { n }, ...choice })
      }),
    )
    for (const [n, { status, body }] of answers.entries()) {
      if (n === 7) expect([status, body.error.errors[0].code]).toEqual([422, 'too_big'])
      else
        expect([status, body]).toMatchObject([
          201,
          { email: `${n}@example.com`, data: { n }, subscribed: n % 5 !== 1, projectId: projects[n % 2]!.id },
        ])
    }
    for (const [index, project] of projects.entries()) expect((await project.contacts.list()).total).toBe(index ? 19 : 20)
  })

  test('serves a signed-in person, and tells them what is wrong', async () => {
    const project = await newProject()
    const create = (body: object) => project.owner.call('POST', '/contacts', { headers: { 'x-project-id': project.id }, body })
    expect((await create({ email: 'ada@example.com' })).status).toBe(201)
    expect((await create({ email: 'ada@example.com', data: { a: 1 } })).body).toMatchObject({ data: { a: 1 }, _meta: { isNew: false } })
    expect((await create({})).status).toBe(400)
    expect((await create({ email: 'nobody' })).status).toBe(422)
  })

  test('with more data than a contact may have is a 422 and changes nothing', async () => {
    const project = await newProject()
    const large = Object.fromEntries(times(4, (n) => [`k${n}`, 'x'.repeat(65_000)]))
    const { id } = await project.contacts.create('ada@example.com', { data: large })
    expect(Object.keys((await project.contacts.get(id)).data!)).toHaveLength(4)

    const tooMuch = { data: { k5: 'x'.repeat(10_000) }, subscribed: false }
    const answers = [
      await project.call('POST', '/contacts', { email: 'new@example.com', data: { ...large, ...tooMuch.data } }),
      await project.call('POST', '/contacts', { email: 'ada@example.com', ...tooMuch }),
      await project.contacts.update(id, tooMuch),
    ]
    expect(answers.map(({ status, body }) => [status, body.error.code])).toEqual(times(3, () => [422, 'VALIDATION_ERROR']))
    expect(answers[0]!.body.error.errors).toMatchObject([{ field: 'data', code: 'too_big' }])
    expect(await project.contacts.get(id)).toMatchObject({ subscribed: true, data: large })
    expect((await project.contacts.list()).total).toBe(1)
  })
})
