import { expect, test } from 'vitest'
import { emailFilter, emailsQuery } from './email-filter.ts'

const TEMPLATE = '0190a0b0-0000-7000-8000-0123456789ab'

test('the filters of the URL become the query of the API', () => {
  const filters = {
    status: 'BOUNCED,FAILED',
    source: 'TRANSACTIONAL',
    template: TEMPLATE,
    domain: 'someone@gmail.com',
    campaign: TEMPLATE,
    created: '2026-01-01..2026-02-01',
    fact: 'bounced',
    when: '2026-01-03..',
  }
  expect(emailsQuery({ q: 'receipt', limit: 25, cursor: 'abc', filters })).toEqual({
    search: 'receipt',
    limit: 25,
    cursor: 'abc',
    status: ['BOUNCED', 'FAILED'],
    sourceType: 'TRANSACTIONAL',
    templateId: TEMPLATE,
    domain: 'gmail.com',
    campaignId: TEMPLATE,
    createdFrom: '2026-01-01',
    createdTo: '2026-02-01',
    fact: 'bounced',
    factFrom: '2026-01-03',
  })
})

test('values of the URL that mean nothing are left out', () => {
  const filters = { status: 'LOST,toString', source: 'constructor', template: 'x', created: 'soon', fact: 'toString', when: 'later' }
  expect(emailsQuery({ limit: 25, filters })).toEqual({ limit: 25 })
})

test('a time without a fact is that of sending', () => {
  expect(emailsQuery({ limit: 25, filters: { when: '2026-01-03..2026-01-04' } })).toMatchObject({
    fact: 'sent',
    factFrom: '2026-01-03',
    factTo: '2026-01-04',
  })
})

test('an export has the filters of the list, but not its page', () => {
  expect(emailFilter({ q: 'receipt', filters: { status: 'FAILED' } })).toEqual({ search: 'receipt', status: ['FAILED'] })
})
