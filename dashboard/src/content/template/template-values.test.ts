import { expect, test } from 'vitest'
import { type TemplateValues, templateChangesOf, templateConsequenceOf, templateProblemOf } from './template-values.ts'

const saved: TemplateValues = {
  name: 'Receipt',
  subject: 'Your receipt',
  body: '<p>Thanks</p>',
  design: null,
  type: 'TRANSACTIONAL',
  description: '',
  from: 'hello@acme.example',
  fromName: '',
  previewText: '',
  replyTo: '',
}

test('only fields that differ are sent, and an emptied field is null', () => {
  expect(templateChangesOf(saved, saved)).toEqual({})
  expect(templateChangesOf(saved, { ...saved, subject: 'New' })).toEqual({ subject: 'New' })
  expect(templateChangesOf(saved, { ...saved, from: ' ' })).toEqual({ from: null })
  expect(templateChangesOf(saved, { ...saved, previewText: 'In short' })).toEqual({ previewText: 'In short' })
})

test('a changed design is sent without its body, and a dropped one as null', () => {
  const design = { version: 1 as const, content: [] }
  const visual = { ...saved, design }
  expect(templateChangesOf(visual, { ...visual, design: { version: 1, content: [] } })).toEqual({})
  expect(templateChangesOf(saved, { ...visual, body: 'other' })).toEqual({ design })
  expect(templateChangesOf(visual, { ...saved, body: 'other' })).toEqual({ design: null, body: 'other' })
  expect(templateProblemOf({ ...visual, body: '' })).toBeUndefined()
})

test('a template without name, subject or body, or with an error, cannot be saved', () => {
  expect(templateProblemOf(saved)).toBeUndefined()
  expect(templateProblemOf({ ...saved, name: ' ' })).toMatch(/name/)
  expect(templateProblemOf({ ...saved, subject: '' })).toMatch(/subject/)
  expect(templateProblemOf({ ...saved, body: '' })).toMatch(/body/)
  expect(templateProblemOf(saved, [{ message: 'Unexpected "&"' }])).toMatch(/error/)
})

test('the consequence names the new version if emails change, and says so if they do not', () => {
  expect(templateConsequenceOf(saved, { ...saved, body: '<p>Hi</p>' }, 3)).toMatch(/version 4/)
  expect(templateConsequenceOf(saved, { ...saved, name: 'Bill', description: 'x' }, 3)).toMatch(/emails stay the same/)
})
