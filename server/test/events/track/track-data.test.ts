import { beforeAll, describe, expect, test } from 'vitest'
import { issues } from '../../support/answers.ts'
import { useSharedApp } from '../../support/app.ts'
import { times } from '../../support/times.ts'
import { TRACK_ROUTES } from './track-routes.ts'

const sterna = useSharedApp()
const newProject = async () => sterna.newProject(await sterna.sharedOwner())
type Project = Awaited<ReturnType<typeof newProject>>

const ADA = 'ada@example.com'

describe.each(TRACK_ROUTES)('%s', (_, track) => {
  /** One project for all refused requests: none of them may leave anything behind. */
  let quiet: Project
  beforeAll(async () => {
    quiet = await newProject()
  })
  const expectQuiet = async () => {
    expect((await quiet.contacts.list()).total).toBe(0)
    expect(await quiet.events.list()).toEqual([])
  }

  test('merges data, deletes by null, ignores "", and stores values that are not persistent in the event only', async () => {
    const project = await newProject()
    await track(project, { email: ADA, event: 'one', data: { a: 1, b: 'x', c: true, d: { e: [1, { f: null }] }, list: [1, 'two', null] } })
    expect((await project.contacts.find(ADA)).data).toEqual({ a: 1, b: 'x', c: true, d: { e: [1, { f: null }] }, list: [1, 'two', null] })

    await track(project, {
      email: ADA,
      event: 'two',
      data: {
        a: 2,
        b: null,
        c: '',
        d: { g: 1 },
        code: { value: 'secret', persistent: false },
        kept: { value: [1], persistent: true },
        odd: { value: 1 },
        none: { value: null, persistent: false },
        empty: { value: '', persistent: false },
      },
    })
    expect((await project.contacts.find(ADA)).data).toEqual({
      a: 2,
      c: true,
      d: { g: 1 },
      list: [1, 'two', null],
      kept: [1],
      odd: { value: 1 },
    })
    const [event] = await project.events.list()
    expect(event!.data).toEqual({ a: 2, d: { g: 1 }, code: 'secret', kept: [1], odd: { value: 1 }, none: null })
    expect((await project.call('GET', '/contacts/fields')).body.fields.map(({ field }: { field: string }) => field)).not.toContain(
      'data.code',
    )
  })

  test('drops reserved keys, persistent or not, from the contact and from the event', async () => {
    const project = await newProject()
    const reserved = [
      'id',
      'email',
      'service_id',
      'service_email',
      'sterna_id',
      'sterna_email',
      'unsubscribeUrl',
      'subscribeUrl',
      'manageUrl',
    ]
    const forms = [
      (key: string) => `${key}@y.zz`,
      () => ({ value: 'x', persistent: false }),
      () => ({ value: 'x', persistent: true }),
      () => null,
    ]
    for (const form of forms) {
      const data = { ...Object.fromEntries(reserved.map((key) => [key, form(key)])), ok: 1 }
      expect((await track(project, { email: ADA, event: 'e', data })).status).toBe(200)
      expect((await project.events.list())[0]!.data).toEqual({ ok: 1 })
    }
    expect(await project.contacts.find(ADA)).toMatchObject({ email: ADA, data: { ok: 1 } })
    expect(Object.keys((await project.contacts.find(ADA)).data)).toEqual(['ok'])
  })

  test('stores any key, and text that looks like code', async () => {
    const project = await newProject()
    const data = {
      constructor: 1,
      toString: 'x',
      hasOwnProperty: false,
      'a b': ' ',
      'a.b': [],
      "'; drop table events; --": '{{7*7}}<script>',
      émoji: '😀\u2028\n',
      locale: 'de',
      subscribed: 'custom',
      price: -1.5,
    }
    await track(project, { email: ADA, event: 'e', data })
    expect((await project.contacts.find(ADA)).data).toEqual(data)
    expect((await project.events.list())[0]!.data).toEqual(data)
  })

  test('without data keeps the stored data', async () => {
    const project = await newProject()
    await track(project, { email: ADA, event: 'e', data: { a: 1 } })
    for (const data of [undefined, null, {}]) expect((await track(project, { email: ADA, event: 'e', data })).status).toBe(200)
    expect((await project.contacts.find(ADA)).data).toEqual({ a: 1 })
    expect((await project.events.list())[0]!.data).toEqual({})
  })

  test.each<[string, string, string[][]]>([
    ['a number that JSON cannot hold', `{"n":1e400}`, [['data.n', 'too_big']]],
    ['a number beyond 2^53', `{"n":9007199254740993}`, [['data.n', 'too_big']]],
    ['half a surrogate pair', `{"a":"\\ud800"}`, [['data.a', 'invalid_string']]],
    ['U+0000', `{"a":"\\u0000"}`, [['data.a', 'invalid_string']]],
    ['U+0000 deep inside', `{"a":[{"b":"x\\u0000"}]}`, [['data.a.0.b', 'invalid_string']]],
    ['a key with U+0000', `{"a\\u0000":1}`, [['data', 'invalid_string']]],
    ['a key of 10 kB', `{"${'k'.repeat(10_000)}":1}`, [[`data.${'k'.repeat(50)}`, 'too_big']]],
    ['5,000 keys', `{${times(5_000, (n) => `"k${n}":${n}`).join()}}`, [['data', 'too_big']]],
    ['a value of 900 kB', `{"a":"${'x'.repeat(900_000)}"}`, [['data', 'too_big']]],
    ['a large value that is not persistent', `{"a":{"value":"${'x'.repeat(70_000)}","persistent":false}}`, [['data', 'too_big']]],
    ['a locale that is not a string', `{"locale":7}`, [['data.locale', 'invalid_type']]],
    ['a list', '[]', [['data', 'invalid_type']]],
    ['a string', '"x"', [['data', 'invalid_type']]],
  ])('refuses data with %s', async (__, data, expected) => {
    const answer = await track(quiet, `{"email":"${ADA}","event":"e","data":${data}}`)
    expect([answer.status, issues(answer)]).toEqual([422, expected])
    await expectQuiet()
  })

  test('changes nothing if it is refused', async () => {
    const project = await newProject()
    await track(project, { email: ADA, event: 'before', data: { n: 1, a: 2 } })
    const answer = await track(project, `{"email":"${ADA}","event":"e","subscribed":false,"data":{"a":3,"n":1e400}}`)
    expect(answer.status).toBe(422)
    expect(await project.contacts.find(ADA)).toMatchObject({ subscribed: true, data: { n: 1, a: 2 } })
    expect(await project.events.names()).toEqual(['before'])
  })

  test.each<[string, string, unknown]>([
    ['minus zero', '{"a":-0}', { a: 0 }],
    ['a prototype', '{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}},"b":1}', { constructor: { prototype: { x: 1 } }, b: 1 }],
    ['30 levels', `{"a":${'['.repeat(29)}${']'.repeat(29)}}`, { a: JSON.parse(`${'['.repeat(29)}${']'.repeat(29)}`) }],
    ['a function-like object', '{"f":{"$eval":"1+1","toJSON":"x"}}', { f: { $eval: '1+1', toJSON: 'x' } }],
    ['a small exponent', '{"a":1e-300}', { a: 1e-300 }],
  ])('accepts data with %s', async (__, data, stored) => {
    const project = await newProject()
    expect((await track(project, `{"email":"${ADA}","event":"e","data":${data}}`)).status).toBe(200)
    expect((await project.contacts.find(ADA)).data).toEqual(stored)
    expect((await project.events.list())[0]!.data).toEqual(stored)
  })
})

describe('the data of an event', () => {
  /** Data of the given size as JSON in bytes, with characters of two bytes. */
  const dataOf = (bytes: number) => {
    const around = JSON.stringify({ a: { value: '', persistent: false } }).length
    return { a: { value: 'é'.repeat(1_000).padEnd(bytes - around - 1_000, 'x'), persistent: false } }
  }

  test.each(['/v1/track', '/events/track'])('has at most 32 KB as JSON on %s', async (url) => {
    const project = await newProject()
    const send = (data: unknown) =>
      sterna.call('POST', url, {
        key: url === '/v1/track' ? project.pk : project.sk,
        body: JSON.stringify({ email: ADA, event: 'e', data }, null, 2),
      })
    const fits = dataOf(32 * 1024)
    expect(Buffer.byteLength(JSON.stringify(fits))).toBe(32 * 1024)
    expect((await send(fits)).status).toBe(200)
    for (const data of [dataOf(32 * 1024 + 1), { many: times(90_000, () => 0) }, times(40_000, () => 1), 'x'.repeat(40_000)]) {
      const answer = await send(data)
      expect([answer.status, issues(answer)]).toEqual([422, [['data', 'too_big']]])
    }
    expect(await project.events.names()).toEqual(['e'])
  })

  test('is limited without the ignored fields of the body', async () => {
    const project = await newProject()
    expect((await project.track({ email: ADA, event: 'e', data: { a: 1 }, ignored: 'x'.repeat(900_000) })).status).toBe(200)
  })
})
