import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { one } from '../../src/db/index.ts'
import { useSharedApp } from '../support/app.ts'
import { times } from '../support/times.ts'
import { filter, newSegmentProject } from './segment-project.ts'

const LENGTH = 65_000
const FILTERS = 100
const PATIENT = { timeout: 40_000 }

/** Folds and searches of texts of this length, and the most searches in one turn of the event loop. */
const seen = { folds: 0, searches: 0, inThisTurn: 0, mostInATurn: 0 }
const forget = () => Object.assign(seen, { folds: 0, searches: 0, inThisTurn: 0, mostInATurn: 0 })

let isOver = false
beforeAll(() => {
  const { replace, includes } = String.prototype
  vi.spyOn(String.prototype, 'replace').mockImplementation(function (this: string, ...args: Parameters<typeof replace>) {
    if (this.length === LENGTH) seen.folds++
    return replace.apply(this, args)
  } as typeof replace)
  vi.spyOn(String.prototype, 'includes').mockImplementation(function (this: string, ...args) {
    if (this.length === LENGTH) {
      seen.searches++
      seen.mostInATurn = Math.max(seen.mostInATurn, ++seen.inThisTurn)
    }
    return includes.apply(this, args)
  })
  // Every pause is long enough to yield, however fast this machine is.
  const now = performance.now.bind(performance)
  let calls = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 6 * calls++)
  const countTurns = () => {
    seen.inThisTurn = 0
    if (!isOver) setImmediate(countTurns)
  }
  countTurns()
})
afterAll(() => {
  isOver = true
  vi.restoreAllMocks()
})

const sterna = useSharedApp()

/** None of them is in the text. */
const searches = times(FILTERS, (n) => filter('data.text', 'contains', `Ä${n}.`))
const any = { logic: 'OR', groups: searches.map((search) => ({ filters: [search] })) }

let project: Awaited<ReturnType<typeof newSegmentProject>>
let contactId: string
beforeAll(async () => {
  project = await newSegmentProject(sterna)
  contactId = (await project.add('ada', { text: 'é'.repeat(LENGTH) })).id
})
beforeEach(() => void forget())

describe('a hundred filters that search a text of 65,000 characters', () => {
  test('fold it once for an explanation, with a pause after each filter', async () => {
    const nested = { logic: 'AND', groups: [{ filters: [], conditions: any }] }
    const { id } = await project.dynamic(nested)
    const { status, body } = await project.call('GET', `/segments/${id}/explain/${contactId}`)
    expect([status, body.matches, body.explanation.groups[0].conditions.groups.length]).toEqual([200, false, FILTERS])
    expect(seen).toMatchObject({ folds: 1, searches: FILTERS, mostInATurn: 1 })
  })

  test('fold it once for all segments of a contact, with a pause after each filter', async () => {
    for (const part of [searches.slice(0, 50), searches.slice(50)])
      await project.dynamic({ logic: 'OR', groups: part.map((search) => ({ filters: [search] })) })
    const { status, body } = await project.call('GET', `/contacts/${contactId}/segments`)
    expect([status, body]).toEqual([200, []])
    expect(seen).toMatchObject({ folds: 1, mostInATurn: 1 })
    expect(seen.searches).toBeGreaterThanOrEqual(FILTERS)
  })

  test('fold it once for a re-check of all tracked segments, with a pause after each filter', async () => {
    await project.dynamic(any, { trackMembership: true })
    await project.dynamic(any, { trackMembership: true })
    const count = (query: ReturnType<typeof sql<{ count: number }>>) => async () => (await one(sterna.db, query)).count
    const computed = sql<{ count: number }>`
      select count(*)::int as count from tracked_segments where project_id = ${project.id} and computed_revision = revision
    `
    await expect.poll(count(computed), PATIENT).toBe(2)
    forget()
    await project.call('PATCH', `/contacts/${contactId}`, { data: { text: `${'é'.repeat(LENGTH - 4)}ä99.` } })
    const members = sql<{ count: number }>`select count(*)::int as count from segment_members where contact_id = ${contactId}`
    await expect.poll(count(members), PATIENT).toBe(2)
    expect(seen).toMatchObject({ folds: 1, searches: 2 * FILTERS, mostInATurn: 1 })
  })
})
