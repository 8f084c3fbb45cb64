import { expect, test } from 'vitest'
import { diffLines, foldDiff } from './line-diff.ts'

const show = (before: string, after: string) =>
  diffLines(before, after).map(({ kind, text }) => `${{ same: ' ', removed: '-', added: '+' }[kind]}${text}`)

test('lines that both have stay, the others are removed or added', () => {
  expect(show('a\nb\nc', 'a\nx\nc')).toEqual([' a', '-b', '+x', ' c'])
  expect(show('a\nb', 'a\nb')).toEqual([' a', ' b'])
  expect(show('a\nc\nb\nd', 'a\nb\ne\nd')).toEqual([' a', '-c', ' b', '+e', ' d'])
  expect(show('a\na', 'a')).toEqual([' a', '-a'])
})

test('a text that is too large to compare is removed and added as a whole', () => {
  const [before, after] = ['a', 'b'].map((letter) => Array.from({ length: 1_100 }, (_, line) => `${letter}${line}`).join('\n'))
  const lines = diffLines(before!, after!)
  expect(lines.slice(0, 1_100).every(({ kind }) => kind === 'removed')).toBe(true)
  expect(lines).toHaveLength(2_200)
})

test('lines far from a change are counted, not shown', () => {
  const text = Array.from({ length: 20 }, (_, line) => `${line}`)
  const parts = foldDiff(diffLines(text.join('\n'), text.with(10, 'changed').join('\n')))
  expect(parts.map((part) => (part.kind === 'skipped' ? part.count : part.text))).toEqual([
    7,
    '7',
    '8',
    '9',
    '10',
    'changed',
    '11',
    '12',
    '13',
    6,
  ])
})
