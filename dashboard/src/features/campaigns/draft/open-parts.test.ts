import type { Design } from '@sterna/sdk'
import { describe, expect, test } from 'vitest'
import { blankDesign } from '../../../design/document/design-json.ts'
import { openPartsOf } from './open-parts.ts'

const designOf = (text: string): Design => ({ version: 1, content: [{ type: 'paragraph', content: [{ type: 'text', text }] }] })
const starters = [{ design: designOf('Starter') }]
const written = { name: 'May news', audienceType: 'SEGMENT', subject: 'What is new in May', design: designOf('News') } as const

describe('the open parts of a draft', () => {
  test('are none once the audience, the subject and the body were written', () => {
    expect(openPartsOf(written, starters, [])).toEqual({})
    expect(openPartsOf({ ...written, design: null }, starters, [])).toEqual({})
  })

  test.each([
    ['audience', { ...written, audienceType: 'ALL' as const }],
    ['subject', { ...written, subject: 'May news ' }],
    ['body', { ...written, design: designOf('Starter') }],
    ['body', { ...written, design: blankDesign() }],
  ] as const)('have the %s while it is as it was made, until a person confirms it', (part, values) => {
    expect(Object.keys(openPartsOf(values, starters, []))).toEqual([part])
    expect(openPartsOf(values, starters, [part])).toEqual({})
  })

  test('are all three in a new draft', () => {
    const draft = { ...written, audienceType: 'ALL', subject: 'May news', design: blankDesign() } as const
    expect(Object.keys(openPartsOf(draft, starters, []))).toEqual(['audience', 'subject', 'body'])
  })
})
