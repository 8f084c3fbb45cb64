import { expect, test } from 'vitest'
import { mergeRows } from './merge-rows.ts'

const row = (id: string, status = 'SENT') => ({ id, status })
const rowId = ({ id }: { id: string }) => id

test('rows on screen are updated in place, and new rows are counted without moving them', () => {
  const shown = [row('b'), row('a')]
  const latest = [row('d'), row('c'), row('b', 'DELIVERED')]
  expect(mergeRows(shown, latest, rowId)).toEqual({ rows: [row('b', 'DELIVERED'), row('a')], newCount: 2 })
})

test('without a later answer the rows are those of the page', () => {
  expect(mergeRows([row('a')], undefined, rowId)).toEqual({ rows: [row('a')], newCount: 0 })
})

test('the first rows of an empty list appear by themselves', () => {
  expect(mergeRows([], [row('a')], rowId)).toEqual({ rows: [row('a')], newCount: 0 })
})
