import fc from 'fast-check'
import { sql } from 'kysely'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { type ContactUpsert, mergeUpserts, toUpsert, upsertContacts } from '../../src/contacts/changes/upsert.ts'
import { type DataPatch, NO_DATA, readData } from '../../src/contacts/record/data.ts'
import { many, transact } from '../../src/db/index.ts'
import { newId } from '../../src/lib/id.ts'
import { outcome } from '../support/answers.ts'
import { ADA, BOB, times, useHeldEmails, useSending } from '../support/delivery/sending.ts'

const { sterna, newProject, quiet, busy, expectNothingOf, expectRefused } = useSending()
const { hold, release } = useHeldEmails(sterna)

describe('contacts', () => {
  test.each<[string, boolean | undefined, boolean | undefined, boolean, string[]]>([
    ['a new one is not subscribed', undefined, undefined, false, []],
    ['a new one that should be is subscribed, which is no change', undefined, true, true, []],
    ['a new one that should not be is not, which is no change', undefined, false, false, []],
    ['a subscriber stays one when nothing is said', true, undefined, true, []],
    ['one that opted out stays out when nothing is said', false, undefined, false, []],
    ['a subscriber that should be one is not told so', true, true, true, []],
    ['a subscriber leaves when asked for', true, false, false, ['contact.unsubscribed']],
    ['one that opted out comes back when asked for', false, true, true, ['contact.subscribed']],
  ])('%s', async (_, before, given, after, expected) => {
    const project = await newProject()
    if (before !== undefined) await project.call('POST', '/contacts', { email: ADA, subscribed: before })
    await project.ended(await project.send(given === undefined ? {} : { subscribed: given }))
    expect((await project.contact()).subscribed).toBe(after)
    expect((await project.names()).filter((name) => name.startsWith('contact.'))).toEqual(expected)
    expect(await project.consents()).toEqual(expected.length ? [{ subscribed: after, source: 'secret-key' }] : [])
    const { total } = (await project.call('GET', '/contacts?subscribed=true')).body
    expect(total).toBe(after ? 1 : 0)
  })

  test('are updated by the rules of `data`, and the template sees all of it', async () => {
    const project = await newProject()
    await project.call('POST', '/contacts', { email: ADA, data: { kept: 'k', gone: 'g', same: 'e', code: 'old' } })
    const email = await project.deliver({
      subject: '{{kept}}|{{gone}}|{{same}}|{{code}}|{{list}}|{{o.a}}|{{data["first name"]}}|{{flag}}|{{stored}}',
      body: '<p>{{id}}|{{email}}|{{unsubscribeUrl}}|{{subscribed}}</p>',
      data: {
        gone: null,
        same: '',
        code: { value: 'secret', persistent: false },
        list: [1, 2],
        o: { a: 'x' },
        'first name': 'Ada',
        flag: false,
        stored: { value: 's', persistent: true },
        id: 'spoof',
        email: { value: 'spoof', persistent: false },
        unsubscribeUrl: { value: 'https://evil.example', persistent: false },
        service_id: 'spoof',
        sterna_id: 'spoof',
      },
    })
    expect(email.subject).toBe('k||e|secret|1,2|x|Ada|false|s')
    expect(email.html).toContain(ADA)
    expect(email.html).not.toContain('spoof')
    expect(email.html).not.toContain('evil')
    expect((await project.contact()).data).toEqual({
      kept: 'k',
      same: 'e',
      code: 'old',
      list: [1, 2],
      o: { a: 'x' },
      'first name': 'Ada',
      flag: false,
      stored: 's',
    })
  })

  test('changed by a later request do not change the email of an earlier one', async () => {
    const project = await newProject()
    await hold(project)
    const answers = []
    for (const code of ['111', '222', null]) answers.push(await project.send({ subject: 'Code {{code ?? "none"}}', data: { code } }))
    await release(project)
    const emails = await Promise.all(answers.map(async (answer) => (await project.ended(answer))[0]!))
    const subjects = await Promise.all(emails.map(async ({ id }) => (await PostalMime.parse(await project.source(id))).subject))
    expect(subjects).toEqual(['Code 111', 'Code 222', 'Code none'])
  })

  test.each<[string, object | undefined, object, unknown]>([
    ['fills an empty one', undefined, {}, 'Ada'],
    ['fills one without a name', { plan: 'pro' }, {}, 'Ada'],
    ['does not replace one', { name: 'Countess' }, {}, 'Countess'],
    ['does not replace one that is false', { name: false }, {}, false],
    ['counts behind data', undefined, { name: 'Given' }, 'Given'],
    ['counts behind data of a known one', { name: 'Countess' }, { name: 'Given' }, 'Given'],
    ['does not undo a deletion', { name: 'Countess' }, { name: null }, undefined],
    ['does not fill what is to be empty', undefined, { name: null }, undefined],
    ['counts when data says nothing', undefined, { name: '' }, 'Ada'],
    ['is not kept when data has one for this mail', undefined, { name: { value: 'T', persistent: false } }, undefined],
  ])('the name of a recipient %s', async (_, before, data, expected) => {
    const project = await newProject()
    if (before) await project.call('POST', '/contacts', { email: ADA, data: before })
    expect(outcome(await project.send({ to: { name: 'Ada', email: ADA }, data }))).toEqual([200])
    expect((await project.contact()).data?.name).toEqual(expected)
  })

  test('the first of two names is kept, and the field is known', async () => {
    const project = await newProject()
    await project.send({ to: [{ name: 'First', email: ADA }, { name: 'Second', email: ADA }, { name: 'B', email: BOB }, 'c@example.com'] })
    expect([(await project.contact()).data, (await project.contact(BOB)).data, (await project.contact('c@example.com')).data]).toEqual([
      { name: 'First' },
      { name: 'B' },
      null,
    ])
    expect((await project.call('GET', '/contacts/fields')).body.fields).toContainEqual(
      expect.objectContaining({ field: 'data.name', type: 'string' }),
    )
  })

  test('requests for one contact in one batch amount to the same as one after the other', async () => {
    const request = fc.record({
      fill: fc.option(fc.constantFrom('Ada', 'Bea')),
      data: fc.constantFrom({}, { name: 'Set' }, { name: null }, { name: '' }, { name: { value: 'T', persistent: false } }),
    })
    const source = { by: 'secret-key' as const }
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 5 }), fc.boolean(), async (requests, known) => {
        const [one, other] = [`${newId()}@example.com`, `${newId()}@example.com`]
        const wanted = (email: string): ContactUpsert[] =>
          requests.map(({ fill, data }) =>
            toUpsert({
              projectId: busy.id,
              email,
              subscribedIfNew: false,
              patch: readData(data),
              fill: fill ? { name: fill } : {},
              source,
            }),
          )
        const before: DataPatch = known ? readData({ name: 'Known' }) : NO_DATA
        for (const email of [one, other])
          await transact(sterna.db, (tx) =>
            upsertContacts(tx, [toUpsert({ projectId: busy.id, email, subscribedIfNew: false, patch: before, source })]),
          )
        for (const each of wanted(one)) await transact(sterna.db, (tx) => upsertContacts(tx, [each]))
        await transact(sterna.db, (tx) => upsertContacts(tx, mergeUpserts(wanted(other))))
        const rows = await many(
          sterna.db,
          sql<{
            email: string
            data: object
          }>`select email, data from contacts where project_id = ${busy.id} and email in (${one}, ${other})`,
        )
        expect(rows.find(({ email }) => email === other)!.data).toEqual(rows.find(({ email }) => email === one)!.data)
      }),
      { numRuns: 100 },
    )
  })

  test('data that cannot be stored is refused with its key', () =>
    expectRefused([
      ['a list', { data: [] }, [['data', 'invalid_type']]],
      ['a text', { data: 'x' }, [['data', 'invalid_type']]],
      ['501 keys', { data: Object.fromEntries(times(501, (index) => [`k${index}`, 1])) }, [['data', 'too_big']]],
      ['a long key', { data: { ['k'.repeat(10_000)]: 1 } }, [[`data.${'k'.repeat(50)}`, 'too_big']]],
      ['a megabyte', { data: { x: 'x'.repeat(1_000_000) } }, [['data.x', 'too_big']]],
      ['a locale that is a number', { data: { locale: 7 } }, [['data.locale', 'invalid_type']]],
      ['300 KB', { data: Object.fromEntries(times(5, (index) => [`k${index}`, 'x'.repeat(60_000)])) }, [['data', 'too_big']]],
      [
        'much for many',
        {
          to: times(1_000, (index) => `r${index}@example.com`),
          data: Object.fromEntries(times(10, (index) => [`k${index}`, 'x'.repeat(2_000)])),
        },
        [['data', 'too_big']],
      ],
    ]))

  test('data with the names of prototypes is data, or nothing', async () => {
    const project = await newProject()
    const text = JSON.stringify(project.sendBody({ subject: '{{toString}}|{{hasOwnProperty}}|{{x}}' }))
    const data = '{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}},"toString":"t","hasOwnProperty":1,"valueOf":"v"}'
    const answer = await sterna.call('POST', '/v1/send', { key: project.sk, body: `${text.slice(0, -1)},"data":${data}}` })
    expect(outcome(answer)).toEqual([200])
    const [email] = await project.ended(answer)
    expect((await PostalMime.parse(await project.source(email!.id))).subject).toBe('t|1|')
    expect((await project.contact()).data).toEqual({ constructor: { prototype: { y: 1 } }, toString: 't', hasOwnProperty: 1, valueOf: 'v' })
    expect(({} as Record<string, unknown>).x ?? ({} as Record<string, unknown>).y).toBeUndefined()
  })

  test.each(['{"n":1e400}', '{"n":9007199254740993}', '{"n":"\\ud800"}', '{"n":"\\u0000"}', '{"a\\u0000":1}'])(
    'data %s is refused',
    async (data) => {
      const text = JSON.stringify(quiet.sendBody())
      await expectNothingOf(async () => {
        const answer = await sterna.call('POST', '/v1/send', { key: quiet.sk, body: `${text.slice(0, -1)},"data":${data}}` })
        expect(outcome(answer)).toEqual([422, 'VALIDATION_ERROR'])
      })
    },
  )
})
