import { expect, test } from 'vitest'
import { listHeaders } from './list-headers.ts'

const BULK = ['Precedence', 'X-Auto-Response-Suppress', 'List-Id']

test.each([
  ['CAMPAIGN', 'MARKETING', BULK],
  ['CAMPAIGN', 'HEADLESS', BULK],
  ['CAMPAIGN', 'TRANSACTIONAL', []],
  ['WORKFLOW', 'MARKETING', [...BULK, 'Auto-Submitted']],
  ['WORKFLOW', 'TRANSACTIONAL', ['Auto-Submitted']],
  ['TRANSACTIONAL', 'TRANSACTIONAL', ['Auto-Submitted']],
  ['TRANSACTIONAL', 'MARKETING', [...BULK, 'Auto-Submitted']],
] as const)('%s of type %s has %j', (sourceType, type, names) => {
  const added = listHeaders({ projectId: 'p', sourceType, type, headers: {} }, 'mail.example.com')
  expect(Object.keys(added)).toEqual(names)
  if (type !== 'TRANSACTIONAL')
    expect(added).toMatchObject({ Precedence: 'bulk', 'X-Auto-Response-Suppress': 'OOF, AutoReply', 'List-Id': '<p.mail.example.com>' })
})

test('a header of the content wins, in any case spelling', () => {
  const headers = { precedence: 'list', 'AUTO-SUBMITTED': 'no' }
  expect(Object.keys(listHeaders({ projectId: 'p', sourceType: 'WORKFLOW', type: 'MARKETING', headers }, 'h'))).toEqual([
    'X-Auto-Response-Suppress',
    'List-Id',
  ])
})
