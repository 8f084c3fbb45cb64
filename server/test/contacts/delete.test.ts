import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { one } from '../../src/db/index.ts'
import { statuses } from '../support/answers.ts'
import { useApp } from '../support/app.ts'
import { times } from '../support/times.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })
const newProject = async () => sterna.newProject(await sterna.sharedOwner())

const count = <T>(items: T[], wanted: T) => items.filter((item) => item === wanted).length

describe('a missing contact', () => {
  test.each([
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['GET', '/consent'],
  ])('gives the same 404 to %s /contacts/:id%s for an unknown, malformed, deleted and foreign id', async (method, path) => {
    const project = await newProject()
    const foreign = await (await newProject()).contacts.create('ada@example.com')
    const deleted = await project.contacts.create('gone@example.com')
    await project.call('DELETE', `/contacts/${deleted.id}`)
    const ids = [
      randomUUID(),
      'x',
      '1',
      "'",
      '%25',
      'f'.repeat(36),
      `${randomUUID()}0`,
      `{${randomUUID()}}`,
      deleted.id,
      foreign.id,
      'z'.repeat(1_500),
    ]
    const before = await sterna.digest({ except: ['attempts'] })
    for (const id of ids) {
      const { status, body } = await project.call(method, `/contacts/${id}${path}`, method === 'PATCH' ? { subscribed: false } : undefined)
      expect(status).toBe(404)
      expect(body).toEqual({
        success: false,
        error: {
          code: 'CONTACT_NOT_FOUND',
          message: 'No such contact.',
          statusCode: 404,
          requestId: expect.any(String),
          details: { resource: 'contact', id: decodeURIComponent(id).slice(0, 100) },
        },
        timestamp: expect.any(String),
      })
    }
    expect(await sterna.digest({ except: ['attempts'] })).toBe(before)
    expect((await project.call(method, `/contacts/%00${path}`, method === 'PATCH' ? {} : undefined)).status).toBe(404)
  })
})

describe('deleting a contact', () => {
  test('deletes all its data, and nothing of other contacts', async () => {
    const project = await newProject()
    const [ada, grace] = [
      await project.contacts.create('ada@example.com', { data: { plan: 'pro' } }),
      await project.contacts.create('grace@example.com'),
    ]
    for (const { id } of [ada, grace]) await project.contacts.update(id, { subscribed: false })

    const { status, body } = await project.call('DELETE', `/contacts/${ada.id}`)
    expect([status, body]).toEqual([204, ''])
    expect((await project.call('GET', `/contacts/${ada.id}`)).status).toBe(404)
    expect(
      await Promise.all(['', '?subscribed=true', '?subscribed=false'].map(async (query) => (await project.contacts.list(query)).total)),
    ).toEqual([1, 0, 1])
    expect(await one(sterna.db, sql`select count(*)::int as n from consents where project_id = ${project.id}`)).toEqual({ n: 1 })
    await expect.poll(() => project.events.namesOf(ada.id)).toEqual([])
    expect(await project.events.namesOf(grace.id)).toEqual(['contact.unsubscribed'])

    const again = await project.call('POST', '/contacts', { email: 'ada@example.com' })
    expect(again).toMatchObject({ status: 201, body: { subscribed: true, data: null } })
    expect(again.body.id).not.toBe(ada.id)
    expect((await project.call('GET', `/contacts/${again.body.id}/consent`)).body.data).toEqual([])
  })

  test('succeeds once for many concurrent requests, and the totals are right', async () => {
    const project = await newProject()
    const [{ id }] = [
      await project.contacts.create('ada@example.com'),
      await project.contacts.create('grace@example.com', { subscribed: false }),
    ]
    const answers = await Promise.all(
      times(20, (n) => (n % 4 ? project.call('DELETE', `/contacts/${id}`) : project.contacts.update(id, { subscribed: n % 8 > 0 }))),
    )
    expect(count(statuses(answers), 204)).toBe(1)
    expect(statuses(answers).every((status) => [200, 204, 404].includes(status))).toBe(true)
    expect([
      (await project.contacts.list()).total,
      (await project.contacts.list('?subscribed=true')).total,
      (await project.contacts.list('?subscribed=false')).total,
    ]).toEqual([1, 0, 1])
  })
})
