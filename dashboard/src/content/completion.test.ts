import { expect, test } from 'vitest'
import { FILTERS as KNOWN_FILTERS } from '../../../server/src/templates/language/filters.ts'
import { FILTERS, fieldWords, placeOf, writeField } from './completion.ts'

test('variables are offered inside an output tag, and nothing outside of tags', () => {
  expect(placeOf('<p>Hi {{ fir')).toEqual({ kind: 'variable', typed: 'fir' })
  expect(placeOf('<p>Hi {{')).toEqual({ kind: 'variable', typed: '' })
  expect(placeOf('<p>Hi {{ name }} and')).toBeUndefined()
  expect(placeOf('<p>plain')).toBeUndefined()
})

test('filters are offered after a bar, tag names at the start of a tag, variables after them', () => {
  expect(placeOf('{{ name | up')).toEqual({ kind: 'filter', typed: 'up' })
  expect(placeOf('{% f')).toEqual({ kind: 'tag', typed: 'f' })
  expect(placeOf('{% if pl')).toEqual({ kind: 'variable', typed: 'pl' })
  expect(placeOf('{% if plan %}te')).toBeUndefined()
})

test('nothing is offered inside a text', () => {
  expect(placeOf('{{ name ?? "yo')).toBeUndefined()
})

test('a field that is no plain name, or that a standard variable hides, is written by its key', () => {
  expect(writeField('plan')).toBe('plan')
  expect(writeField('first name')).toBe("data['first name']")
  expect(writeField('email')).toBe("data['email']")
  expect(writeField("it's")).toBe("data['it\\'s']")
  expect(fieldWords([{ field: 'plan', coverage: 0.725 }])).toEqual([{ label: 'plan', detail: '73% of contacts', apply: 'plan' }])
})

test('every filter that is offered exists on the server', () => {
  expect(FILTERS.filter(({ label }) => !KNOWN_FILTERS.has(label))).toEqual([])
})
