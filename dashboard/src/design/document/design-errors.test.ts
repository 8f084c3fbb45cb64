import { expect, test } from 'vitest'
import { designErrors } from './design-errors.ts'

test('an error is shown at the innermost block of its path', () => {
  const paragraph = { type: 'paragraph' as const, attrs: { id: 'inner' }, content: [{ type: 'text' as const, text: '{{' }] }
  const design = { version: 1 as const, content: [{ type: 'section' as const, attrs: { id: 'outer' }, content: [paragraph] }] }
  const errors = [
    { field: 'design.content.0.content.0.content.0.text', message: 'Not closed.' },
    { field: 'design.content.0.attrs.bg', message: 'Must be a colour.' },
    { field: 'design', message: 'Too large.' },
    { field: 'subject', message: 'Required.' },
  ]
  expect(designErrors(design, errors)).toEqual([
    { severity: 'error', message: 'Not closed.', blockId: 'inner' },
    { severity: 'error', message: 'bg: Must be a colour.', blockId: 'outer' },
    { severity: 'error', message: 'Too large.' },
  ])
})
