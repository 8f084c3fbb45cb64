import { expect, test } from 'vitest'
import { slugCandidates, slugOf } from './slug.ts'

test.each([
  ['VIP', 'vip'],
  ['Big  Spenders', 'big-spenders'],
  ['a - b', 'a-b'],
  ['A b', 'a-b'],
  ['a-b', 'a-b'],
  ['snake_case', 'snake_case'],
  ['  -Trial users- ', 'trial-users'],
  ['50 % off!', '50-off'],
  ['Kunden (Köln)', 'kunden-kln'],
  ['tab\tand\nline', 'tab-and-line'],
  ['顧客', ''],
  ['---', ''],
  ['', ''],
])('the slug of %j is %j', (name, slug) => {
  expect(slugOf(name)).toBe(slug)
})

const ID = '0192f3a4-b5c6-7d8e-9f01-23456789abcd'

test('a taken slug gets more and more of the id', () => {
  expect(slugCandidates('VIP', ID)).toEqual(['vip', 'vip-0192f3a4', 'vip-0192f3a4-b5c6', `vip-${ID}`])
})

test('an empty slug is a hyphen and the start of the id', () => {
  expect(slugCandidates('顧客', ID)).toEqual(['-0192f3a4', '-0192f3a4-b5c6', `-${ID}`])
})
