import { parse } from 'csv-parse/sync'
import { beforeAll, describe, expect, test } from 'vitest'
import { issues, outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newSendingProject } from '../support/project.ts'

const sterna = useSharedApp()

let project: Awaited<ReturnType<typeof newSendingProject>>
let other: typeof project
beforeAll(async () => {
  project = await newSendingProject(sterna)
  other = await newSendingProject(sterna)
  await project.sent({ to: 'ada@example.com', subject: '=1+1' })
  await project.sent({ to: 'bob@shop.example', subject: 'Hello, "Bob"' })
  const bounced = await project.sent({ to: 'bounce@example.com', subject: 'Bounces' })
  // The sandbox reports the bounce a moment after the email is sent.
  await eventually(async () => expect((await project.email(bounced.id)).status).toBe('BOUNCED'))
  await other.sent({ to: 'eve@example.com', subject: 'Foreign' })
  await project.call('POST', '/suppressions/bulk', { entries: ['=cmd@example.com', 'spam.example'] })
})

async function exported(list: 'emails' | 'suppressions', filter?: object): Promise<Record<string, string>[]> {
  const answer = await project.call('POST', `/${list}/export`, filter ? { filter } : {})
  expect(outcome(answer)).toEqual([202])
  const { jobId } = answer.body
  await eventually(async () =>
    expect((await project.call('GET', `/${list}/export/${jobId}`)).body).toMatchObject({ state: 'completed', progress: 100 }),
  )
  const file = await project.call('GET', `/${list}/export/${jobId}/file`)
  expect([file.status, file.headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8'])
  expect(file.headers['content-disposition']).toMatch(new RegExp(`^attachment; filename="${list}-\\d{4}-\\d\\d-\\d\\d\\.csv"$`))
  expect((await other.call('GET', `/${list}/export/${jobId}`)).status).toBe(404)
  expect((await other.call('GET', `/${list}/export/${jobId}/file`)).status).toBe(404)
  return parse(file.body, { bom: true, columns: true })
}

describe('an export of emails', () => {
  test('has all emails of the project, oldest first, without formulas', async () => {
    const rows = await exported('emails')
    expect(rows.map(({ to, subject, status }) => [to, subject, status])).toEqual([
      ['ada@example.com', "'=1+1", 'SENT'],
      ['bob@shop.example', 'Hello, "Bob"', 'SENT'],
      ['bounce@example.com', 'Bounces', 'BOUNCED'],
    ])
    const [first] = rows
    expect(first).toMatchObject({
      from: `hello@${project.domain}`,
      sourceType: 'TRANSACTIONAL',
      attempts: '1',
      test: 'false',
      errorCode: '',
    })
    expect(await project.email(first!.id!)).toMatchObject({
      sentAt: first!.sentAt,
      messageId: first!.messageId,
      contactId: first!.contactId,
    })
  })

  test.each<[object, string[]]>([
    [{ status: ['BOUNCED', 'FAILED'] }, ['Bounces']],
    [{ domain: 'shop.example' }, ['Hello, "Bob"']],
    [{ search: 'ada@example.com' }, ["'=1+1"]],
    [{ createdTo: '2020-01-01' }, []],
    [{ campaignId: '0199a000-0000-7000-8000-000000000000' }, []],
  ])('has the emails of the filter %j', async (filter, subjects) => {
    expect((await exported('emails', filter)).map(({ subject }) => subject)).toEqual(subjects)
  })

  test('refuses a misspelt filter, which would export every email', async () => {
    const answer = await project.call('POST', '/emails/export', { filter: { statuses: ['SENT'] } })
    expect([answer.status, issues(answer).map(([field]) => field)]).toEqual([422, ['filter.statuses']])
  })
})

test('an export of suppressions has addresses and domains, without formulas', async () => {
  const rows = await exported('suppressions')
  expect(rows.map(({ address, domain, reason }) => [address, domain, reason])).toEqual([
    ["'=cmd@example.com", '', 'MANUAL'],
    ['', 'spam.example', 'MANUAL'],
    ['bounce@example.com', '', 'BOUNCE'],
  ])
  expect((await exported('suppressions', { reason: 'BOUNCE', q: 'EXAMPLE' })).map(({ address }) => address)).toEqual(['bounce@example.com'])
})

test('an export of another list, or an unknown one, is a 404', async () => {
  const { jobId } = (await project.call('POST', '/emails/export', {})).body
  for (const path of [`/suppressions/export/${jobId}`, `/suppressions/export/${jobId}/file`, '/emails/export/x', '/emails/export/x/file'])
    expect(outcome(await project.call('GET', path))).toEqual([404, 'RESOURCE_NOT_FOUND'])
})
