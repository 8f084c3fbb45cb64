import { beforeAll, describe, expect, test } from 'vitest'
import { eventLedger } from '../../src/events/counts.ts'
import { outcome } from '../support/answers.ts'
import { ADA, idAt, type Project, useEvents } from './event-client.ts'

const { sterna, newProject } = useEvents()

describe('event statistics', () => {
  let project: Project
  beforeAll(async () => {
    project = await newProject()
    const other = await newProject()
    const at = (name: string, time: string) => ({ name, id: idAt(time) })
    await project.events.write([
      at('a', '2026-01-30T23:59:59.999Z'),
      at('a', '2026-01-31T00:00:00.000Z'),
      at('b', '2026-01-31T23:59:59.999Z'),
      at('b', '2026-02-01T00:00:00.000Z'),
      at('b', '2026-02-02T12:00:00.000Z'),
    ])
    await other.events.write([at('a', '2026-01-31T00:00:00.000Z')])
  })

  test.each<[string, [string, number][]]>([
    [
      '',
      [
        ['b', 3],
        ['a', 2],
      ],
    ],
    [
      '?startDate=&endDate=',
      [
        ['b', 3],
        ['a', 2],
      ],
    ],
    [
      '?startDate=2026-01-31',
      [
        ['b', 3],
        ['a', 1],
      ],
    ],
    [
      '?endDate=2026-01-31',
      [
        ['a', 2],
        ['b', 1],
      ],
    ],
    [
      '?startDate=2026-01-31&endDate=2026-01-31',
      [
        ['a', 1],
        ['b', 1],
      ],
    ],
    ['?startDate=2026-02-01&endDate=2026-02-02', [['b', 2]]],
    [
      '?startDate=2026-01-31T23:00:00Z&endDate=2026-02-01T00:00:00.000Z',
      [
        ['b', 2],
        ['a', 1],
      ],
    ],
    [
      '?startDate=2026-02-01T00:30:00%2B01:00&endDate=2026-01-31',
      [
        ['a', 1],
        ['b', 1],
      ],
    ],
    [
      '?startDate=2026-01-31T12:00&endDate=2026-01-31T12:00:00',
      [
        ['a', 1],
        ['b', 1],
      ],
    ],
    ['?startDate=2030-01-01', []],
    ['?endDate=0001-01-01', []],
    ['?startDate=9999-12-31', []],
  ])('for %j are %j', async (query, expected) => {
    expect((await project.events.stats(query)).map(({ name, count }) => [name, count])).toEqual(expected)
    await eventLedger.fold(sterna.db)
    expect((await project.events.stats(query)).map(({ name, count }) => [name, count])).toEqual(expected)
  })

  test('of an end before the start are refused', async () => {
    const reversed = await project.call('GET', '/events/stats?startDate=2026-02-02&endDate=2026-01-31')
    expect([reversed.status, reversed.body.error.message]).toEqual([400, '"startDate" must not be after "endDate".'])
  })

  test.each([
    'yesterday',
    '2026',
    '2026-13-01',
    '2026-02-30',
    '2026-02-30T00:00:00Z',
    '2026-04-31T12:00:00%2B02:00',
    '2026-01-31T25:00:00Z',
    '2026-01-31T12:61:00Z',
    '2026-01-31 12:00',
    '31.01.2026',
    '1767225600000',
    '-000001-01-01',
    '%2B010000-01-01',
    '0000-01-01',
    '0001-01-01T00:00:00%2B01:00',
    '9999-12-31T23:59:59-01:00',
    "2026-01-31'",
    '2026-01-31T12:00:00Zx',
  ])('for %s are a 400', async (date) => {
    for (const field of ['startDate', 'endDate']) {
      const answer = await project.call('GET', `/events/stats?${field}=${date}`)
      expect([...outcome(answer), answer.body.error.message]).toEqual([400, 'BAD_REQUEST', expect.stringContaining(field)])
    }
  })
})

test('the usage of an event has its count, its contacts and whether it can be deleted', async () => {
  const [project, other] = [await newProject(), await newProject()]
  for (const email of [ADA, 'bob@example.com', ADA]) await project.trackEvent('e', { email })
  await project.events.write([{ name: 'e' }])
  await other.trackEvent('e', { email: 'eve@example.com' })
  await project.trackEvent('x', { subscribed: false })
  const nowhere = { usedInSegments: [], usedInCampaigns: [], usedInWorkflows: [] }
  expect(await project.events.usage('e')).toEqual({ ...nowhere, totalCount: 4, uniqueContacts: 2, canDelete: true })
  expect(await project.events.usage('contact.unsubscribed')).toEqual({ ...nowhere, totalCount: 1, uniqueContacts: 1, canDelete: false })
  expect(await project.events.usage('never')).toEqual({ ...nowhere, totalCount: 0, uniqueContacts: 0, canDelete: true })
})

test('an event named "contact" has a usage like any other', async () => {
  const project = await newProject()
  await project.trackEvent('contact')
  expect(await project.events.usage('contact')).toMatchObject({ totalCount: 1, canDelete: true })
})
