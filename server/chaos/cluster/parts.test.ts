import { expect, test } from 'vitest'
import { mergeLines, type Outcome, readLines, skippedWithTools, writeLines } from './parts.ts'

const ran: Outcome = { part: '5. PgBouncer', versions: ['pgbouncer 1.25.2'], missing: [], result: { figures: '0 lost', problems: [] } }
const lacking: Outcome = { part: '5. PgBouncer', versions: [], missing: ['pgbouncer'] }
const broken: Outcome = { part: '5. PgBouncer', versions: [], missing: [], unusable: 'it does not start' }
const committed = mergeLines([], [ran], 'abc')

test('the lines of a table are read as they were written', () => {
  expect(readLines(`Machine.\n\n${writeLines(committed)}\n`)).toEqual(committed)
})

test('a part that lacks a tool keeps the line of the machine that had it', () => {
  expect(mergeLines(committed, [lacking], 'def')).toEqual(committed)
  expect(mergeLines([], [lacking], 'def')).toEqual([{ part: '5. PgBouncer', state: 'SKIPPED', cells: ['needs pgbouncer', '', 'def'] }])
})

test('lines of parts that were not asked for stay', () => {
  const other: Outcome = { ...ran, part: '1. kill' }
  expect(mergeLines(committed, [other], 'def').map(({ part, cells }) => [part, cells.at(-1)])).toEqual([
    ['1. kill', 'def'],
    ['5. PgBouncer', 'abc'],
  ])
})

test.each([
  ['ran again', ran, 0],
  ['lacks its tool', lacking, 0],
  ['is skipped although its tool is there', broken, 1],
])('a part that ran before and now %s', (_, outcome, problems) => {
  expect(skippedWithTools(committed, [outcome])).toHaveLength(problems)
  expect(skippedWithTools([], [outcome])).toEqual([])
})
