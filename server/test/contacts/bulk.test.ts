import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { plainError } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { times } from '../support/times.ts'

const sterna = useSharedApp()
const newProject = async () => sterna.newProject(await sterna.sharedOwner())

describe('a bulk job', () => {
  test.each<[string, (ids: string[]) => object]>([
    ['contactIds', (contactIds) => ({ contactIds })],
    ['ids', (ids) => ({ ids })],
    ['mode ids', (contactIds) => ({ mode: 'ids', contactIds })],
    ['mode ids and ids', (ids) => ({ mode: 'ids', ids })],
    ['ids in upper case', (ids) => ({ contactIds: ids.map((id) => id.toUpperCase()) })],
  ])('accepts %s and changes exactly those contacts', async (_, selection) => {
    const project = await newProject()
    const [on, off, kept] = [
      await project.contacts.create('a@example.com'),
      await project.contacts.create('b@example.com', { subscribed: false }),
      await project.contacts.create('c@example.com'),
    ]
    const ids = [on.id, off.id]
    const states = async () => (await project.contacts.rows()).map(({ email, subscribed }) => `${email[0]} ${subscribed ? 'on' : 'off'}`)
    const result = { totalRequested: 2, successCount: 2, failureCount: 0, errors: [] }

    expect((await project.contacts.bulk('unsubscribe', selection(ids))).result).toEqual({
      ...result,
      operation: 'unsubscribe',
      unchangedCount: 1,
    })
    expect(await states()).toEqual(['a off', 'b off', 'c on'])
    expect((await project.contacts.bulk('subscribe', selection(ids))).result).toEqual({
      ...result,
      operation: 'subscribe',
      unchangedCount: 0,
    })
    expect(await states()).toEqual(['a on', 'b on', 'c on'])
    expect(await project.events.byEmail()).toEqual([
      'a@example.com contact.subscribed',
      'a@example.com contact.unsubscribed',
      'b@example.com contact.subscribed',
    ])
    expect((await project.contacts.bulk('delete', selection(ids))).result).toEqual({ ...result, operation: 'delete', unchangedCount: 0 })
    expect(await project.contacts.rows()).toMatchObject([{ id: kept.id }])
    expect((await project.call('GET', '/contacts')).body.total).toBe(1)
  })

  test.each<[string, unknown]>([
    ['no ids', { contactIds: [] }],
    ['no ids under the other name', { ids: [] }],
    ['nothing', {}],
    ['mode ids without ids', { mode: 'ids' }],
    ['a filter without a mode', { filter: { subscribed: true } }],
    ['1,001 ids', { contactIds: times(1_001, () => randomUUID()) }],
    ['1,001 times the same', { contactIds: times(1_001, () => '018f0000-0000-7000-8000-000000000000') }],
    ['1,001 ids under the other name', { ids: times(1_001, () => randomUUID()) }],
  ])('with %s is a plain 400', async (_, body) => {
    const project = await newProject()
    await project.contacts.create('a@example.com')
    for (const operation of ['subscribe', 'unsubscribe', 'delete']) {
      const answer = await project.call('POST', `/contacts/bulk-${operation}`, body)
      expect(answer).toMatchObject({ status: 400, body: plainError })
      expect(Object.keys(answer.body)).toEqual(['error'])
    }
    expect(await project.contacts.rows()).toHaveLength(1)
  })

  test.each<[string, unknown]>([
    ['a text as ids', { contactIds: 'x' }],
    ['numbers as ids', { contactIds: [1] }],
    ['null as ids', { contactIds: null }],
    ['an unknown mode', { mode: 'all', contactIds: [randomUUID()] }],
    ['a filter that is no object', { mode: 'query', filter: 'x' }],
    ['no filter', { mode: 'query' }],
    ['an empty filter', { mode: 'query', filter: {} }],
    ['a blank search', { mode: 'query', filter: { search: ' ' } }],
    ['all that is no boolean', { mode: 'query', all: 'true' }],
    ['a field without a value', { mode: 'query', filter: { field: 'plan' } }],
    ['a value without a field', { mode: 'query', filter: { value: 'pro' } }],
    ['a day that does not exist', { mode: 'query', filter: { createdFrom: '2026-02-30' } }],
    ['a segment that is no id', { mode: 'query', filter: { segmentId: 'x' } }],
    ['a subscribed that is no boolean', { mode: 'query', filter: { subscribed: 'true' } }],
    ['a search that is too long', { mode: 'query', filter: { search: 'x'.repeat(256) } }],
    ['excludeIds that are no list', { mode: 'query', excludeIds: 'x' }],
  ])('with %s is a 422 and does nothing', async (_, body) => {
    const project = await newProject()
    await project.contacts.create('a@example.com')
    expect(await project.call('POST', '/contacts/bulk-delete', body)).toMatchObject({
      status: 422,
      body: { error: { code: 'VALIDATION_ERROR' } },
    })
    expect(await project.contacts.rows()).toHaveLength(1)
  })

  test.each(['subscribd', 'status', 'email', 'where', 'constructor'])(
    'with the unknown key %j in its filter is a 422 that names it',
    async (key) => {
      const project = await newProject()
      await project.contacts.create('a@example.com')
      const answer = await project.call('POST', '/contacts/bulk-delete', { mode: 'query', filter: { subscribed: true, [key]: false } })
      expect(answer).toMatchObject({ status: 422, body: { error: { code: 'VALIDATION_ERROR', errors: [{ field: `filter.${key}` }] } } })
      expect(await project.contacts.rows()).toHaveLength(1)
    },
  )

  test('with an empty filter is an error that explains how to select all contacts', async () => {
    const { call } = await newProject()
    expect((await call('POST', '/contacts/bulk-delete', { mode: 'query', filter: {} })).body.error.errors).toEqual([
      { field: 'filter', message: 'Give a filter, or "all": true to act on every contact.', code: 'required' },
    ])
  })

  test('with a segment that does not exist is a 404', async () => {
    const project = await newProject()
    await project.contacts.create('a@example.com')
    const filter = { segmentId: randomUUID() }
    expect(await project.call('POST', '/contacts/bulk-delete', { mode: 'query', filter })).toMatchObject({
      status: 404,
      body: { error: { code: 'RESOURCE_NOT_FOUND', details: { resource: 'segment', id: filter.segmentId } } },
    })
    expect(await project.contacts.rows()).toHaveLength(1)
  })

  test('counts malformed, unknown and foreign ids as not found and changes nothing for them', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const mine = await project.contacts.create('a@example.com')
    const theirs = await other.contacts.create('theirs@example.com')
    const missing = ['x', '', randomUUID(), theirs.id, "'; drop table contacts; --", 'é'.repeat(50)]
    for (const operation of ['unsubscribe', 'subscribe', 'delete']) {
      const { result } = await project.contacts.bulk(operation, { contactIds: [missing[0], mine.id, ...missing.slice(1)] })
      expect(result).toMatchObject({ totalRequested: 7, successCount: 1, unchangedCount: 0, failureCount: 6 })
      expect(result.errors).toEqual(missing.map((contactId) => ({ contactId, error: expect.stringMatching(/not found/i) })))
    }
    expect(await other.contacts.rows()).toMatchObject([{ id: theirs.id, subscribed: true }])
    expect(await other.events.byEmail()).toEqual([])
  })

  test.each(['subscribe', 'unsubscribe', 'delete'])('%s with one id 1,000 times has the effect of one', async (operation) => {
    const project = await newProject()
    const { id } = await project.contacts.create('a@example.com', { subscribed: operation !== 'subscribe' })
    const { result } = await project.contacts.bulk(operation, { contactIds: times(1_000, (n) => (n % 2 ? id : id.toUpperCase())) })
    expect(result).toMatchObject({ totalRequested: 1_000, successCount: 1_000, unchangedCount: 999, failureCount: 0, errors: [] })
    expect(await project.events.byEmail()).toEqual(operation === 'delete' ? [] : [`a@example.com contact.${operation}d`])
    expect((await project.call('GET', '/contacts?subscribed=true')).body.total).toBe(operation === 'subscribe' ? 1 : 0)
  })

  test('accepts 1,000 ids and reports the missing ones', async () => {
    const project = await newProject()
    const ids = await project.contacts.createMany(990)
    const missing = times(10, () => randomUUID())
    const contactIds = [...ids.slice(0, 495), ...missing, ...ids.slice(495)]
    const { result } = await project.contacts.bulk('unsubscribe', { contactIds })
    expect(result).toMatchObject({ totalRequested: 1_000, successCount: 990, unchangedCount: 0, failureCount: 10 })
    expect(result.errors.map(({ contactId }: { contactId: string }) => contactId)).toEqual(missing)
    expect(await project.events.byEmail()).toHaveLength(990)
    expect((await project.contacts.bulk('delete', { contactIds })).result).toMatchObject({ successCount: 990, failureCount: 10 })
    expect(await project.contacts.rows()).toEqual([])
  })

  test.each<[string, object, (contact: { n: number; on: boolean }) => boolean]>([
    ['all contacts', { all: true }, () => true],
    ['all contacts with an empty filter', { filter: {}, all: true }, () => true],
    ['only matches if a filter is given beside all', { filter: { subscribed: true }, all: true }, ({ on }) => on],
    ['a search', { filter: { search: 'C1' } }, ({ n }) => String(n).startsWith('1')],
    ['a search for a wildcard', { filter: { search: '%' } }, () => false],
    ['subscribers', { filter: { subscribed: true } }, ({ on }) => on],
    ['unsubscribed contacts', { filter: { subscribed: false } }, ({ on }) => !on],
    ['matches of both conditions', { filter: { search: '@example', subscribed: true } }, ({ on }) => on],
  ])('by query selects %s across pages', async (_, query, isSelected) => {
    const project = await newProject()
    await (await newProject()).contacts.create('c1@example.com')
    const contacts = times(1_101, (n) => ({ n, on: n % 3 > 0 }))
    await project.contacts.import(`email,subscribed\n${contacts.map(({ n, on }) => `c${n}@example.com,${on}`).join('\n')}`)
    const selected = contacts.filter(isSelected)
    const changing = selected.filter(({ on }) => on).length
    const { result } = await project.contacts.bulk('unsubscribe', { mode: 'query', ...query })
    expect(result).toEqual({
      operation: 'unsubscribe',
      totalRequested: selected.length,
      successCount: selected.length,
      unchangedCount: selected.length - changing,
      failureCount: 0,
      errors: [],
    })
    expect(await project.events.byEmail()).toHaveLength(changing)
    expect((await project.call('GET', '/contacts?subscribed=true')).body.total).toBe(contacts.filter(({ on }) => on).length - changing)
  })

  test.each<[string, (ids: string[]) => unknown[]]>([
    ['in lower case', (ids) => ids],
    ['in upper case', (ids) => ids.map((id) => id.toUpperCase())],
    ['among invalid and repeated ids', (ids) => ['x', randomUUID(), '', ...ids, ...ids]],
  ])('by query skips excludeIds given %s', async (_, given) => {
    const project = await newProject()
    const ids = await project.contacts.createMany(620)
    const spared = ids.filter((_, n) => n % 100 === 0)
    const { result } = await project.contacts.bulk('delete', { mode: 'query', filter: { search: 'example' }, excludeIds: given(spared) })
    expect((await project.contacts.rows()).map(({ id }) => id).sort()).toEqual([...spared].sort())
    expect(result).toMatchObject({ totalRequested: 613, successCount: 613, failureCount: 0 })
  })

  test('runs concurrently with other jobs and updates without a deadlock', async () => {
    const project = await newProject()
    const ids = await project.contacts.createMany(400)
    const jobs = await Promise.all(
      times(8, (n) =>
        project.call('POST', `/contacts/bulk-${n % 2 ? 'subscribe' : 'unsubscribe'}`, { contactIds: n % 3 ? ids : ids.toReversed() }),
      ),
    )
    const patches = Promise.all(times(60, (n) => project.call('PATCH', `/contacts/${ids[n * 6]}`, { data: { n } })))
    const done = await Promise.all(jobs.map(({ body }) => project.finished('bulk', body.jobId)))
    expect((await patches).map(({ status }) => status)).toEqual(times(60, () => 200))
    expect(done.map(({ result }) => [result.successCount, result.failureCount])).toEqual(times(8, () => [400, 0]))
    const rows = await project.contacts.rows()
    const events = await project.events.byEmail()
    const subscribed = rows.filter((row) => row.subscribed).length
    expect(
      events.filter((event) => event.endsWith('.unsubscribed')).length - events.filter((event) => event.endsWith('.subscribed')).length,
    ).toBe(400 - subscribed)
    const changes = done.reduce((sum, { result }) => sum + result.successCount - result.unchangedCount, 0)
    expect(events).toHaveLength(changes)
    expect((await project.call('GET', '/contacts?subscribed=true')).body.total).toBe(subscribed)
  })
})
