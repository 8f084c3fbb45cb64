import { expect, test } from 'vitest'
import { historyQuery, pageOfSegments, recentChanges, type SegmentRow, type Uses, usedBy } from './segments-list.ts'

const uses = (more: Partial<Uses> = {}): Uses => ({
  id: '',
  segmentCount: 0,
  campaignCount: 0,
  workflowCount: 0,
  entered: null,
  left: null,
  ...more,
})
const segment = (name: string, more: Partial<SegmentRow> = {}) =>
  ({
    id: name,
    name,
    description: null,
    type: 'DYNAMIC',
    trackMembership: false,
    memberCount: 0,
    createdAt: name,
    updatedAt: name,
    uses: uses(),
    ...more,
  }) as SegmentRow

const ALL = [
  segment('a', { type: 'STATIC', memberCount: 5 }),
  segment('b', { trackMembership: true, uses: uses({ campaignCount: 1 }) }),
  segment('c', { description: 'for the fair' }),
]
const names = (request: Partial<Parameters<typeof pageOfSegments>[1]>) =>
  pageOfSegments(ALL, { limit: 25, filters: {}, ...request }).data.map(({ name }) => name)

test('segments are searched, filtered and ordered in the browser', () => {
  expect(names({})).toEqual(['c', 'b', 'a'])
  expect(names({ q: 'FAIR' })).toEqual(['c'])
  expect(names({ filters: { kind: 'STATIC' } })).toEqual(['a'])
  expect(names({ filters: { tracked: 'true' } })).toEqual(['b'])
  expect(names({ filters: { used: 'false' } })).toEqual(['c', 'a'])
  expect(names({ sort: 'members', dir: 'desc' })[0]).toBe('a')
  expect(names({ sort: 'no such order' })).toEqual(['c', 'b', 'a'])
})

test('the total is that of all pages', () => {
  const first = pageOfSegments(ALL, { limit: 2, filters: {} })
  expect([first.data.length, first.total, first.cursor]).toEqual([2, 3, '2'])
  expect(pageOfSegments(ALL, { limit: 2, cursor: '2', filters: {} })).toMatchObject({ hasMore: false, cursor: null })
})

test('uses and changes are put in words', () => {
  expect(usedBy(uses())).toBe('Nothing')
  expect(usedBy(uses({ campaignCount: 2, workflowCount: 1 }))).toBe('2 campaigns, 1 workflow')
  expect(recentChanges(uses())).toBeUndefined()
  expect(recentChanges(uses({ entered: 0, left: 0 }))).toEqual([])
  expect(recentChanges(uses({ entered: 12, left: 3 }))).toEqual([
    { type: 'entry', text: '+12', label: '12 entered in 7 days' },
    { type: 'exit', text: '−3', label: '3 left in 7 days' },
  ])
})

test('a request for the history has days, and leaves out what the API would refuse', () => {
  const when = '2026-01-01..2026-01-02T10:00:00.000Z'
  expect(historyQuery({ limit: 25, filters: { type: 'exit', when } })).toEqual({
    limit: 25,
    type: 'exit',
    from: '2026-01-01',
    to: '2026-01-02',
  })
  expect(historyQuery({ limit: 25, cursor: 'next', filters: { type: 'x', when: 'x..y' } })).toEqual({ limit: 25, cursor: 'next' })
})
