import { expect, test } from 'vitest'
import { hasOpenTag, lineSeparatorOf } from './content-values.ts'

test('the line separator never changes a text that is split and joined by it', () => {
  for (const text of ['', 'a\nb', 'a\r\nb\r\n', 'a\r\nb\nc', '\n\r\n', 'a\rb']) {
    const separator = lineSeparatorOf(text)
    expect(text.split(separator).join(separator)).toBe(text)
  }
  expect(lineSeparatorOf('a\r\nb\r\n')).toBe('\r\n')
  expect(lineSeparatorOf('a\r\nb\nc')).toBe('\n')
})

test.each([
  ['<p>{{ pl', true],
  ['{% if a', true],
  ['{{ a }} {{ b', true],
  ['{{ a }} {% if b %}', false],
  ['{{ a }', true],
  ['no tag } }', false],
  ['', false],
])('an unfinished tag in %j: %s', (text, isOpen) => {
  expect(hasOpenTag(text)).toBe(isOpen)
})
