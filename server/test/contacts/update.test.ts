import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { plainError, statuses } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import type { Contact } from '../support/project.ts'
import { times } from '../support/times.ts'

const sterna = useSharedApp()
const newProject = async () => sterna.newProject(await sterna.sharedOwner())

const count = <T>(items: T[], wanted: T) => items.filter((item) => item === wanted).length

describe('PATCH /contacts/:id', () => {
  test.each<[string, object, object]>([
    ['the address', { email: ' Grace@Example.com' }, { email: 'grace@example.com', subscribed: true, data: { a: 1, b: 2 } }],
    ['the subscription', { subscribed: false }, { email: 'ada@example.com', subscribed: false, data: { a: 1, b: 2 } }],
    ['some data', { data: { a: null, b: 3, c: 4 } }, { email: 'ada@example.com', subscribed: true, data: { b: 3, c: 4 } }],
    [
      'all fields',
      { email: 'g@example.com', subscribed: false, data: { a: 'x' } },
      { email: 'g@example.com', subscribed: false, data: { a: 'x', b: 2 } },
    ],
    ['all data', { data: null }, { email: 'ada@example.com', subscribed: true, data: null }],
    ['no field', {}, { email: 'ada@example.com', subscribed: true, data: { a: 1, b: 2 } }],
    ['no data', { data: {} }, { email: 'ada@example.com', subscribed: true, data: { a: 1, b: 2 } }],
    ['no known field', { nonsense: 1 }, { email: 'ada@example.com', subscribed: true, data: { a: 1, b: 2 } }],
  ])('changes %s and nothing else', async (_, patch, after) => {
    const project = await newProject()
    const { _meta, ...before } = (await project.contacts.create('ada@example.com', { data: { a: 1, b: 2 } })) as Contact & {
      _meta: unknown
    }
    const { status, body } = await project.contacts.update(before.id, patch)
    expect(status).toBe(200)
    expect(body).toEqual({ ...before, ...after, updatedAt: expect.any(String) })
    expect(Date.parse(body.updatedAt)).toBeGreaterThanOrEqual(Date.parse(before.updatedAt))
    expect(await project.contacts.get(before.id)).toEqual(body)
  })

  test.each<[string, object]>([
    ['a list as data', { data: [] }],
    ['a string as data', { data: 'x' }],
    ['a bad address', { email: 'nobody' }],
    ['null as address', { email: null }],
    ['null as subscribed', { subscribed: null }],
    ['a locale that is not a string', { data: { locale: {} } }],
    ['U+0000', { data: { a: 'x\0' } }],
  ])('with %s is a 422 and changes nothing', async (_, patch) => {
    const project = await newProject()
    const { id } = await project.contacts.create('ada@example.com')
    const before = await project.contacts.get(id)
    expect(await project.contacts.update(id, { subscribed: false, ...patch })).toMatchObject({
      status: 422,
      body: { error: { code: 'VALIDATION_ERROR' } },
    })
    expect(await project.contacts.get(id)).toEqual(before)
  })

  test.each([
    ['ada@example.com', 'ADA@example.COM', '\tada@example.com '],
    ['ada@bücher.example', 'ada@xn--bcher-kva.example', 'ADA@BU\u0308CHER.example'],
    ['caf\u00e9@example.com', 'cafe\u0301@EXAMPLE.com'],
  ])('to the address of another contact, %s in any spelling, is a plain 409', async (...spellings) => {
    const project = await newProject()
    const elsewhere = await newProject()
    await project.contacts.create(spellings[0]!)
    const { id } = await project.contacts.create('other@example.com')
    for (const email of spellings) {
      const answer = await project.contacts.update(id, { email, subscribed: false, data: { a: 1 } })
      expect(answer).toMatchObject({ status: 409, body: plainError })
      expect(Object.keys(answer.body)).toEqual(['error'])
    }
    expect(await project.contacts.get(id)).toMatchObject({ email: 'other@example.com', subscribed: true, data: null })
    expect(await project.events.namesOf(id)).toEqual([])
    // The same address in another project is no conflict.
    const { id: theirs } = await elsewhere.contacts.create('theirs@example.com')
    expect((await elsewhere.contacts.update(theirs, { email: spellings[1] })).status).toBe(200)
  })

  test('to its own address in another spelling succeeds', async () => {
    const project = await newProject()
    const { id } = await project.contacts.create('ada@bücher.example')
    for (const email of ['ADA@bücher.example', 'ada@xn--bcher-kva.example'])
      expect((await project.contacts.update(id, { email })).status).toBe(200)
  })

  test('succeeds for one of 50 concurrent requests for the same address; the others are a 409', async () => {
    const project = await newProject()
    const contacts = await Promise.all(times(50, (n) => project.contacts.create(`racer${n}@example.com`)))
    const spellings = ['prize@bücher.example', 'PRIZE@BÜCHER.example', 'prize@xn--bcher-kva.example', 'prize@bu\u0308cher.example']
    const answers = await Promise.all(
      contacts.map(({ id }, n) => project.contacts.update(id, { email: spellings[n % 4], data: { racer: n } })),
    )
    expect(count(statuses(answers), 200)).toBe(1)
    expect(count(statuses(answers), 409)).toBe(49)
    for (const { status, body } of answers) if (status === 409) expect(body).toEqual(plainError)
    const winner = answers.findIndex(({ status }) => status === 200)
    const after = await Promise.all(contacts.map(({ id }) => project.contacts.get(id)))
    expect(after.map(({ email, data }) => [email, data])).toEqual(
      times(50, (n) => (n === winner ? ['prize@xn--bcher-kva.example', { racer: n }] : [`racer${n}@example.com`, null])),
    )
  })

  test('and a concurrent POST for the same address have one winner', async () => {
    const project = await newProject()
    const { id } = await project.contacts.create('ada@example.com')
    for (let round = 0; round < 10; round++) {
      const email = `wanted${round}@example.com`
      const [created, patched] = await Promise.all([
        project.call('POST', '/contacts', { email: email.toUpperCase() }),
        project.contacts.update(id, { email }),
      ])
      expect([
        [201, 409],
        [200, 200],
      ]).toContainEqual([created.status, patched.status])
      expect(created.body.id === id).toBe(patched.status === 200)
    }
  })

  test('is a 409 for two contacts that swap addresses, never a 500', async () => {
    const project = await newProject()
    const [a, b] = [await project.contacts.create('a@example.com'), await project.contacts.create('b@example.com')]
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all([
        project.contacts.update(a.id, { email: 'b@example.com' }),
        project.contacts.update(b.id, { email: 'a@example.com' }),
      ])
      expect(statuses(answers)).toEqual([409, 409])
    }
    expect((await project.contacts.emails('?sort=email&dir=asc')).sort()).toEqual(['a@example.com', 'b@example.com'])
  })

  test('loses no key under 100 concurrent updates, upserts and subscription changes', async () => {
    const project = await newProject()
    const { id } = await project.contacts.create('ada@example.com', { data: { old: 1 } })
    const answers = await Promise.all(
      times(100, (n) =>
        n % 3
          ? project.contacts.update(id, { data: { [`k${n}`]: n }, ...(n % 5 ? {} : { subscribed: n % 2 === 0 }) })
          : project.call('POST', '/contacts', { email: 'ada@example.com', data: { [`k${n}`]: n } }),
      ),
    )
    expect(new Set(statuses(answers))).toEqual(new Set([200]))
    expect((await project.contacts.get(id)).data).toEqual({ old: 1, ...Object.fromEntries(times(100, (n) => [`k${n}`, n])) })
  })

  test('merges any two patches of data by the rules', async () => {
    const project = await newProject()
    const key = fc.constantFrom('a', 'b', 'c d', 'constructor', 'e.f', '"g', 'ħ')
    const value = fc.oneof(
      fc.constantFrom<unknown>('', null, 'x', 0, 1.5, true, false, [], {}, [null], { a: null }),
      fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
      fc.integer(),
    )
    const data = fc.dictionary(key, fc.oneof(value, fc.record({ value, persistent: fc.boolean() })), { maxKeys: 5 })
    const isWrapped = (given: unknown): given is { value: unknown; persistent: boolean } =>
      typeof given === 'object' && given !== null && 'persistent' in given
    const model = (before: Map<string, unknown>, patch: Record<string, unknown>) => {
      const after = new Map(before)
      for (const [name, given] of Object.entries(patch)) {
        if (isWrapped(given) && !given.persistent) continue
        const sent = isWrapped(given) ? given.value : given
        if (sent === null) after.delete(name)
        else if (sent !== '') after.set(name, sent)
      }
      return after
    }
    let contacts = 0
    await fc.assert(
      fc.asyncProperty(data, data, fc.boolean(), async (first, second, byId) => {
        const email = `p${++contacts}@example.com`
        const { id } = await project.contacts.create(email, { data: first })
        const { body } = byId
          ? await project.contacts.update(id, { data: second })
          : await project.call('POST', '/contacts', { email, data: second })
        const expected = Object.fromEntries(model(model(new Map(), first), second))
        expect(body.data ?? {}).toEqual(expected)
        expect((await project.contacts.get(id)).data ?? {}).toEqual(expected)
      }),
      { numRuns: 50 },
    )
  })
})
