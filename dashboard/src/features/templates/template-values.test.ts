import { expect, test } from 'vitest'
import { changesOf, consequenceOf, problemOf, type TemplateValues } from './template-values.ts'

const saved: TemplateValues = {
  name: 'Receipt',
  subject: 'Your receipt',
  body: '<p>Thanks</p>',
  type: 'TRANSACTIONAL',
  description: '',
  from: 'hello@acme.example',
  fromName: '',
  previewText: '',
  replyTo: '',
}

test('only fields that differ are sent, and an emptied field is null', () => {
  expect(changesOf(saved, saved)).toEqual({})
  expect(changesOf(saved, { ...saved, subject: 'New' })).toEqual({ subject: 'New' })
  expect(changesOf(saved, { ...saved, from: ' ' })).toEqual({ from: null })
  expect(changesOf(saved, { ...saved, previewText: 'In short' })).toEqual({ previewText: 'In short' })
})

test('a template without name, subject or body, or with an error, cannot be saved', () => {
  expect(problemOf(saved)).toBeUndefined()
  expect(problemOf({ ...saved, name: ' ' })).toMatch(/name/)
  expect(problemOf({ ...saved, subject: '' })).toMatch(/subject/)
  expect(problemOf({ ...saved, body: '' })).toMatch(/body/)
  expect(problemOf(saved, [{ message: 'Unexpected "&"' }])).toMatch(/error/)
})

test('the consequence names the new version if emails change, and says so if they do not', () => {
  expect(consequenceOf(saved, { ...saved, body: '<p>Hi</p>' }, 3)).toMatch(/version 4/)
  expect(consequenceOf(saved, { ...saved, name: 'Bill', description: 'x' }, 3)).toMatch(/emails stay the same/)
})
