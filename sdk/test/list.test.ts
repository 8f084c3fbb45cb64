import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Sterna } from '../src/index.ts'
import { errorOf, ok, refusal, useReplies } from './support/api.ts'

const serve = useReplies()

const contacts = (...ids: number[]) => ids.map((id) => ({ id: `c${id}` }))
const cursorPage = (ids: number[], cursor: string | null) => ok({ data: contacts(...ids), cursor, hasMore: cursor !== null, total: 0 })
const numberedPage = (ids: number[], page: number, totalPages: number) =>
  ok({ data: contacts(...ids), page, pageSize: 2, total: 3, totalPages })

async function idsOf(items: AsyncIterable<unknown>) {
  const ids: string[] = []
  for await (const item of items) ids.push((item as { id: string }).id)
  return ids
}

type Document = {
  paths: Record<string, Record<string, { responses: Record<string, { content?: Record<string, { schema: object }> }> }>>
  components: { schemas: Record<string, object> }
}
const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

test('every list of the API has an iterator', () => {
  const { paths, components }: Document = JSON.parse(read('../../docs/openapi.json'))
  const methods = read('../src/generated.ts')
  const shapeOf = (schema: { $ref?: string; type?: string; properties?: Record<string, object> } = {}): string[] => {
    if (schema.$ref) return shapeOf(components.schemas[schema.$ref.split('/').at(-1)!])
    return schema.type === 'array' ? ['items'] : Object.keys(schema.properties ?? {})
  }
  const lists = Object.entries(paths).flatMap(([path, { get }]) => {
    const shape = shapeOf(get?.responses['200']?.content?.['application/json']?.schema)
    const isPaged = shape.includes('hasMore') || shape.includes('totalPages')
    return isPaged || shape.join() === 'data' || shape.join() === 'items' ? [`GET ${path}`] : []
  })
  const hasIterator = (name: string) => methods.includes(`Items<Result<'${name}'>`)
  expect(lists.filter((name) => !hasIterator(name))).toEqual([])
  expect(lists).toEqual(
    expect.arrayContaining([
      'GET /segments',
      'GET /campaigns/{id}/recipients',
      'GET /workflows',
      'GET /activity',
      'GET /domains/project/{projectId}',
    ]),
  )
})

test.each<[string, (client: Sterna) => AsyncIterable<unknown>]>([
  ['/contacts?subscribed=true&limit=100', ({ contacts }) => contacts.all({ subscribed: true })],
  ['/segments/s1/contacts?limit=100', ({ segments }) => segments.allContacts('s1')],
  ['/segments/s1/history?limit=100', ({ segments }) => segments.allHistory('s1')],
  ['/campaigns/c1/recipients?outcome=failed&limit=100', ({ campaigns }) => campaigns.allRecipients('c1', { outcome: 'failed' })],
  ['/campaigns/c1/excluded?limit=100', ({ campaigns }) => campaigns.allExcluded('c1')],
  [
    '/workflows/w1/steps/s1/visits?outcome=failed&limit=100',
    ({ workflows }) => workflows.allStepVisits('w1', 's1', { outcome: ['failed'] }),
  ],
  ['/activity?limit=100', ({ activity }) => activity.all()],
])('GET %s is read to its end, with the filters on every page', async (path, iterate) => {
  const { client, requests } = await serve([cursorPage([1, 2], 'x'), cursorPage([3], null)])
  expect(await idsOf(iterate(client))).toEqual(['c1', 'c2', 'c3'])
  expect(requests.map(({ line }) => line)).toEqual([`GET ${path}`, `GET ${path}&cursor=x`])
})

test.each<[string, (client: Sterna) => AsyncIterable<unknown>]>([
  ['/campaigns?status=SENT&pageSize=100', ({ campaigns }) => campaigns.all({ status: 'SENT' })],
  ['/workflows?pageSize=100', ({ workflows }) => workflows.all()],
  ['/workflows/w1/executions?status=WAITING&pageSize=100', ({ workflows }) => workflows.allExecutions('w1', { status: ['WAITING'] })],
])('GET %s is read by page numbers, with the filters on every page', async (path, iterate) => {
  const { client, requests } = await serve([numberedPage([1, 2], 1, 2), numberedPage([3], 2, 2)])
  expect(await idsOf(iterate(client))).toEqual(['c1', 'c2', 'c3'])
  expect(requests.map(({ line }) => line)).toEqual([`GET ${path}&page=1`, `GET ${path}&page=2`])
})

describe('a list with cursors', () => {
  test('is read to its end, with the filters on every page', async () => {
    const { client, requests } = await serve([cursorPage([1, 2], 'x'), cursorPage([3, 4], 'y'), cursorPage([5], null)])
    expect(await idsOf(client.contacts.all({ subscribed: true }))).toEqual(['c1', 'c2', 'c3', 'c4', 'c5'])
    expect(requests.at(-1)!.line).toBe('GET /contacts?subscribed=true&limit=100&cursor=y')
  })

  test('is read one page ahead of the loop at most', async () => {
    const { client, requests } = await serve([cursorPage([1, 2], 'x')])
    for await (const { id } of client.contacts.all()) if (id === 'c2') break
    expect(requests).toHaveLength(1)
  })

  test.each<[number, string[], number]>([
    [0, [], 0],
    [1, ['c1'], 1],
    [2, ['c1', 'c2'], 1],
    [3, ['c1', 'c2', 'c3'], 2],
  ])('ends after max: %i', async (max, expected, pages) => {
    const { client, requests } = await serve([cursorPage([1, 2], 'x'), cursorPage([3, 4], 'y')])
    expect(await idsOf(client.contacts.all({}, { max }))).toEqual(expected)
    expect(requests).toHaveLength(pages)
  })

  test('asks for no larger pages than needed', async () => {
    const { client, requests } = await serve([cursorPage([1], null)])
    await idsOf(client.contacts.all({}, { max: 7 }))
    await idsOf(client.contacts.all({ limit: 50 }))
    expect(requests.map(({ line }) => line)).toEqual(['GET /contacts?limit=7', 'GET /contacts?limit=50'])
  })

  test('goes on after an empty page', async () => {
    const { client } = await serve([cursorPage([], 'x'), cursorPage([1], null)])
    expect(await idsOf(client.contacts.all())).toEqual(['c1'])
  })

  test('does not go round in circles', async () => {
    const { client, requests } = await serve([cursorPage([1], 'x')])
    expect(await errorOf(idsOf(client.contacts.all()))).toMatchObject({ code: 'UNEXPECTED_RESPONSE' })
    expect(requests).toHaveLength(2)
  })

  test('of one resource takes its id', async () => {
    const { client, requests } = await serve([cursorPage([1], null)])
    expect(await idsOf(client.contacts.allConsent('c1'))).toEqual(['c1'])
    expect(requests[0]!.line).toBe('GET /contacts/c1/consent?limit=100')
  })

  test('fails with the error of the page', async () => {
    const { client } = await serve([cursorPage([1], 'x'), refusal(401, 'INVALID_API_KEY')])
    expect(await errorOf(idsOf(client.contacts.all()))).toMatchObject({ code: 'INVALID_API_KEY' })
  })

  test('stops at an aborted signal', async () => {
    const { client } = await serve([cursorPage([1], 'x')])
    const controller = new AbortController()
    const items = client.contacts.all({}, { signal: controller.signal })
    await items.next()
    controller.abort()
    await expect(items.next()).rejects.toMatchObject({ name: 'AbortError' })
  })
})

describe('a list with page numbers', () => {
  test('is read to its end', async () => {
    const { client, requests } = await serve([numberedPage([1, 2], 1, 2), numberedPage([3], 2, 2)])
    expect(await idsOf(client.templates.all({ type: 'MARKETING', pageSize: 2 }))).toEqual(['c1', 'c2', 'c3'])
    expect(requests.map(({ line }) => line)).toEqual([
      'GET /templates?type=MARKETING&pageSize=2&page=1',
      'GET /templates?type=MARKETING&pageSize=2&page=2',
    ])
  })

  test('ends at an empty page, whatever the number of pages', async () => {
    const { client, requests } = await serve([numberedPage([1, 2], 1, 9), numberedPage([], 2, 9)])
    expect(await idsOf(client.templates.all())).toEqual(['c1', 'c2'])
    expect(requests).toHaveLength(2)
  })

  test('ends after max', async () => {
    const { client, requests } = await serve([numberedPage([1, 2], 1, 2), numberedPage([3], 2, 2)])
    expect(await idsOf(client.templates.all({}, { max: 1 }))).toEqual(['c1'])
    expect(requests.map(({ line }) => line)).toEqual(['GET /templates?pageSize=1&page=1'])
  })
})

describe('a list without pages', () => {
  test('is read the same way', async () => {
    const { client, requests } = await serve([ok(contacts(1, 2))])
    expect(await idsOf(client.domains.all())).toEqual(['c1', 'c2'])
    expect(await idsOf(client.projects.all({ max: 1 }))).toEqual(['c1'])
    expect(await idsOf(client.contacts.allSegments('p1'))).toEqual(['c1', 'c2'])
    expect(requests.map(({ line }) => line)).toEqual([
      'GET /domains/project/current',
      'GET /users/@me/projects',
      'GET /contacts/p1/segments',
    ])
  })

  test('is read the same way from its only property', async () => {
    const { client, requests } = await serve([ok({ activities: contacts(1, 2) })])
    expect(await idsOf(client.activity.allUpcoming({ limit: 5 }, { max: 1 }))).toEqual(['c1'])
    expect(requests.map(({ line }) => line)).toEqual(['GET /activity/upcoming?limit=5'])
  })
})
