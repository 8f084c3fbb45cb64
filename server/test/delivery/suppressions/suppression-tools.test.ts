import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { outcome } from '../../support/answers.ts'
import { useSharedApp } from '../../support/app.ts'

const sterna = useSharedApp()

let project: Awaited<ReturnType<typeof sterna.newProject>>
beforeAll(async () => {
  project = await sterna.newProject()
})

const check = async (email: string) => (await project.call('POST', '/suppressions/check', { email })).body
const rulesOf = async (email: string) => {
  const { wouldSend, rules } = await check(email)
  return [wouldSend.transactional, wouldSend.marketing, rules.map(({ rule }: { rule: string }) => rule)]
}

describe('many suppressions at once', () => {
  test('are addresses and whole domains; invalid entries are returned', async () => {
    await project.call('POST', '/suppressions', { address: 'known@example.com' })
    const entries = [
      'Ada@Example.com',
      ' ada@example.com ',
      'known@example.com',
      'spam.example',
      '@other.example',
      'not an address',
      '',
      'a@b@c',
    ]
    const { status, body } = await project.call('POST', '/suppressions/bulk', { entries })
    expect([status, body]).toEqual([200, { addedCount: 3, existingCount: 1, invalid: ['not an address', 'a@b@c'] }])
    const listed = (await project.call('GET', '/suppressions')).body.data
    expect(listed.map(({ address, domain }: { address: string | null; domain: string | null }) => address ?? `@${domain}`).sort()).toEqual([
      ...['@other.example', '@spam.example', 'ada@example.com', 'known@example.com'],
    ])
  })

  test('are 1 to 1,000', async () => {
    expect(outcome(await project.call('POST', '/suppressions/bulk', { entries: [] }))).toEqual([422, 'VALIDATION_ERROR'])
    expect(outcome(await project.call('POST', '/suppressions/bulk', { entries: Array(1_001).fill('a@b.example') }))).toEqual([
      422,
      'VALIDATION_ERROR',
    ])
  })
})

describe('the check of an address', () => {
  test('names each rule that keeps an email from being sent', async () => {
    await project.contacts.create('free@example.com')
    await project.contacts.create('left@example.com', { subscribed: false })
    await project.contacts.create('both@spam.example', { subscribed: false })
    await project.call('POST', '/suppressions', { address: 'both@spam.example' })
    expect(await rulesOf('Free@Example.com')).toEqual([true, true, []])
    expect(await rulesOf('left@example.com')).toEqual([true, false, ['unsubscribed']])
    expect(await rulesOf('nobody@example.com')).toEqual([true, false, ['no_contact']])
    expect(await rulesOf('x@spam.example')).toEqual([false, false, ['domain_suppressed', 'no_contact']])
    const [transactional, marketing, rules] = await rulesOf('both@spam.example')
    expect([transactional, marketing, (rules as string[]).sort()]).toEqual([
      false,
      false,
      ['address_suppressed', 'domain_suppressed', 'unsubscribed'],
    ])
    const [rule] = (await check('known@example.com')).rules
    expect(rule.suppression).toMatchObject({ address: 'known@example.com', domain: null, reason: 'MANUAL', createdAt: expect.any(String) })
  })

  test('is allowed for a disabled project, and says that it is disabled after what is about the recipient', async () => {
    const disabled = await sterna.newProject()
    await disabled.call('POST', '/suppressions', { address: 'ada@example.com' })
    await sql`update projects set disabled = true where id = ${disabled.id}`.execute(sterna.db)
    const { status, body } = await disabled.call('POST', '/suppressions/check', { email: 'ada@example.com' })
    expect([status, body.wouldSend]).toEqual([200, { transactional: false, marketing: false }])
    expect(body.rules.map(({ rule }: { rule: string }) => rule)).toEqual(['address_suppressed', 'no_contact', 'project_disabled'])
  })
})

test('suppressions are found by a part of the address', async () => {
  const find = async (q: string) => (await project.call('GET', `/suppressions?q=${encodeURIComponent(q)}`)).body
  expect((await find('SPAM')).data.map(({ address, domain }: Record<string, string>) => address ?? domain)).toEqual([
    'both@spam.example',
    'spam.example',
  ])
  expect(await find('%')).toMatchObject({ data: [], total: 0 })
})

test('the export has all suppressions of the project as CSV', async () => {
  await project.call('POST', '/suppressions', { address: '=cmd@example.com' })
  const { status, headers, body } = await project.call('GET', '/suppressions/export')
  expect([status, headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8'])
  const [header, ...rows] = body.trim().split('\r\n')
  expect([header, rows.length]).toEqual(['address,domain,reason,createdAt', 6])
  expect(rows).toContainEqual(expect.stringMatching(/^,"spam\.example","MANUAL","\d{4}-/))
  expect(rows).toContainEqual(expect.stringMatching(/^"'=cmd@example\.com",,/))
})
