import { describe, expect, test } from 'vitest'
import { STARTERS } from '../../../content/starters.ts'
import { openPartsOf } from './open-parts.ts'

const written = { name: 'May news', audienceType: 'SEGMENT', subject: 'What is new in May', body: '<p>News</p>' } as const
const newsletter = STARTERS.find(({ id }) => id === 'newsletter')!

describe('the open parts of a draft', () => {
  test('are none once the audience, the subject and the body were written', () => {
    expect(openPartsOf(written, [])).toEqual({})
  })

  test.each([
    ['audience', { ...written, audienceType: 'ALL' as const }],
    ['subject', { ...written, subject: 'May news ' }],
    ['subject', { ...written, subject: newsletter.subject }],
    ['body', { ...written, body: newsletter.body }],
  ] as const)('have the %s while it is as it was made, until a person confirms it', (part, values) => {
    expect(Object.keys(openPartsOf(values, []))).toEqual([part])
    expect(openPartsOf(values, [part])).toEqual({})
  })

  test('are all three in a new draft, blank or from a starter', () => {
    const blank = STARTERS.find(({ id }) => id === 'blank')!
    for (const { subject, body } of [{ ...blank, subject: 'May news' }, newsletter])
      expect(Object.keys(openPartsOf({ ...written, audienceType: 'ALL', subject, body }, []))).toEqual(['audience', 'subject', 'body'])
  })
})
