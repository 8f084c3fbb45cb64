import { expect, test } from 'vitest'
import { keyNameOf, showKeys } from './shortcuts.ts'

const press = (key: string, rest: Partial<{ metaKey: boolean; ctrlKey: boolean; altKey: boolean }> = {}) =>
  keyNameOf({ key, metaKey: false, ctrlKey: false, altKey: false, ...rest })

test('a key press is named as shortcuts write it', () => {
  expect(press('X')).toBe('x')
  expect(press(' ')).toBe('Space')
  expect(press('?')).toBe('?')
  expect(press('k', { metaKey: true })).toBe('mod+k')
  expect(press('s', { ctrlKey: true })).toBe('mod+s')
})

test('combinations with Alt are left to the browser', () => {
  expect(press('x', { altKey: true })).toBeUndefined()
})

test('keys are shown as the keyboard of the user names them', () => {
  expect(showKeys('mod+k', true)).toBe('⌘K')
  expect(showKeys('mod+k', false)).toBe('Ctrl+K')
  expect(showKeys('mod+Enter', true)).toBe('⌘↵')
  expect(showKeys('g c', false)).toBe('G then C')
  expect(showKeys('Escape', false)).toBe('Esc')
})
