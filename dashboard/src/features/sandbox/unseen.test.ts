import { expect, test } from 'vitest'
import { countUnseen } from './unseen.ts'

const at = (second: number) => ({ createdAt: `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z` })

test('the badge counts the messages since the page was last looked at', () => {
  const messages = [at(5), at(4), at(3)]
  expect(countUnseen(messages, at(3).createdAt)).toBe('2')
  expect(countUnseen(messages, at(5).createdAt)).toBeUndefined()
  expect(countUnseen(messages, '')).toBe('3')
  expect(countUnseen([], '')).toBeUndefined()
})

test('more messages than were asked for are counted as a minimum', () => {
  expect(
    countUnseen(
      Array.from({ length: 20 }, (_, index) => at(index + 1)),
      '',
    ),
  ).toBe('20+')
})
