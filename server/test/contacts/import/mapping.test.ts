import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { transact } from '../../../src/db/index.ts'
import { enqueue } from '../../../src/jobs/enqueue.ts'
import { newId } from '../../../src/lib/id.ts'
import { fields } from '../../support/answers.ts'
import { type Answer, useApp } from '../../support/app.ts'
import { MULTIPART, multipart } from '../../support/files/multipart.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })

let project: Awaited<ReturnType<typeof sterna.newProject>>
beforeAll(async () => {
  project = await sterna.newProject()
})

type Form = { mapping?: unknown; dryRun?: string; segmentId?: string; rowsBefore?: string }

/** Fields after the file, too: browsers send them in the order of the form. */
const upload = (csv: string, { mapping, dryRun, segmentId, rowsBefore }: Form = {}): Promise<Answer> => {
  const text = mapping === undefined || typeof mapping === 'string' ? mapping : JSON.stringify(mapping)
  const parts = [
    ...(dryRun === undefined ? [] : [{ field: 'dryRun', filename: null, content: dryRun }]),
    { content: csv },
    ...(rowsBefore === undefined ? [] : [{ field: 'rowsBefore', filename: null, content: rowsBefore }]),
    ...(segmentId === undefined ? [] : [{ field: 'segmentId', filename: null, content: segmentId }]),
    ...(text === undefined ? [] : [{ field: 'mapping', filename: null, content: text as string }]),
  ]
  return project.call('POST', '/contacts/import', multipart(parts), MULTIPART)
}

async function imported(csv: string, form: Form) {
  const { body } = await upload(csv, form)
  return project.finished('import', body.jobId)
}

describe('a mapping', () => {
  test('names the address, the subscription, fields and columns to skip', async () => {
    const csv = 'Contact;Newsletter;Tier;Secret;Plan\nmap1@example.com;no;gold;x;7\nmap2@example.com;yes;;y;\n'
    const mapping = { Contact: 'email', Newsletter: 'subscribed', Tier: 'data.tier', Secret: null }
    expect((await imported(csv, { mapping })).result).toMatchObject({ successCount: 2, failureCount: 0 })
    const [first, second] = [await project.contacts.find('map1@example.com'), await project.contacts.find('map2@example.com')]
    expect([first.subscribed, first.data]).toEqual([false, { tier: 'gold', Plan: 7 }])
    expect([second.subscribed, second.data]).toEqual([true, null])
  })

  test('takes precedence over the names of columns', async () => {
    const csv = 'email,work,subscribed\nprivate@example.com,work@example.com,no\n'
    await imported(csv, { mapping: { work: 'email', email: 'privateEmail', subscribed: 'data.answer' } })
    const contact = await project.contacts.find('work@example.com')
    expect([contact.subscribed, contact.data]).toEqual([true, { privateEmail: 'private@example.com', answer: 'no' }])
  })

  test('of an opt-out column to a field still unsubscribes; a skipped column does not', async () => {
    const csv = 'email,status\nout1@example.com,unsubscribed\n'
    await imported(csv, { mapping: { status: 'state' } })
    expect(await project.contacts.find('out1@example.com')).toMatchObject({ subscribed: false, data: { state: 'unsubscribed' } })
    await imported(csv.replace('out1', 'out2'), { mapping: { status: null } })
    expect(await project.contacts.find('out2@example.com')).toMatchObject({ subscribed: true, data: null })
  })

  test.each([
    ['no JSON', '{', 'mapping'],
    ['no object', '["email"]', 'mapping'],
    ['a column that the file does not have', { nope: 'email' }, 'mapping.nope'],
    ['two address columns', { a: 'email', b: 'email' }, 'mapping'],
    ['a number as target', { a: 7 }, 'mapping.a'],
    ['an empty field', { a: 'data.' }, 'mapping.a'],
    ['a field with a long name', { a: 'x'.repeat(256) }, 'mapping.a'],
    ['an opt-out column as subscription', { Unsubscribed: 'subscribed' }, 'mapping.Unsubscribed'],
  ])('with %s is a 422', async (_, mapping, field) => {
    const answer = await upload('email,a,b,Unsubscribed\nx@example.com,1,2,no\n', { mapping })
    expect([answer.status, fields(answer)]).toEqual([422, [field]])
  })
})

describe('a dry run', () => {
  test('counts rows, duplicates, invalid and misspelt addresses, and writes nothing', async () => {
    await project.contacts.create('known@example.com')
    const csv = [
      'email,subscribed,plan',
      'known@example.com,,a',
      'new@example.com,no,b',
      'NEW@example.com,,c',
      'typo@gmial.com,,d',
      'not an address,,e',
      'odd@example.com,perhaps,f',
    ].join('\n')
    const before = await sterna.digest({ except: ['attempts'] })
    const { status, body } = await upload(csv, { dryRun: 'true', mapping: { plan: 'tier' } })
    expect(await sterna.digest({ except: ['attempts'] })).toBe(before)
    expect([status, body]).toEqual([
      200,
      {
        dryRun: true,
        totalRows: 6,
        validCount: 4,
        failureCount: 2,
        duplicateCount: 1,
        newCount: 2,
        knownCount: 1,
        unsubscribeCount: 1,
        misspeltCount: 1,
        fileError: null,
        columns: [
          { column: 'email', target: 'email' },
          { column: 'subscribed', target: 'subscribed' },
          { column: 'plan', target: 'data.tier' },
        ],
        errors: [
          { row: 6, email: 'not an address', error: 'Not a valid email address' },
          { row: 7, email: 'odd@example.com', error: '"perhaps" in the column "subscribed" means neither yes nor no' },
        ],
        duplicates: [{ row: 4, email: 'new@example.com' }],
        misspelt: [{ row: 5, email: 'typo@gmial.com', suggestion: 'typo@gmail.com' }],
      },
    ])
  })

  test('of a file that ends in an open quote says so, with the rows before it', async () => {
    const { body } = await upload('email,a\nx1@example.com,1\nx2@example.com,"2\n', { dryRun: '1' })
    expect([body.totalRows, body.fileError]).toEqual([1, 'Line 3 opens a quote that is never closed.'])
  })

  test('of a file without an address column is a 400, like the import', async () => {
    expect((await upload('name\nAda\n', { dryRun: 'true' })).status).toBe(400)
  })

  test('with another value is a 422', async () => {
    const answer = await upload('email\nx@example.com\n', { dryRun: 'perhaps' })
    expect([answer.status, fields(answer)]).toEqual([422, ['dryRun']])
  })

  test('of 20,000 rows shows the first 100 problems of each kind', async () => {
    const rows = Array.from({ length: 10_000 }, (_, n) => `many${n % 5_000}@example.com\nbad${n}`)
    const { body } = await upload(`email\n${rows.join('\n')}\n`, { dryRun: 'true' })
    expect([body.totalRows, body.newCount, body.duplicateCount, body.failureCount]).toEqual([20_000, 5_000, 5_000, 10_000])
    expect([body.errors.length, body.duplicates.length]).toEqual([100, 100])
  })
})

describe('a part of a file', () => {
  const CSV = 'email\na@part.example\nbad\na@part.example\nx@gmial.com\n'

  test('has its rows numbered behind those of the parts before it, in the status, the file and the dry run', async () => {
    const job = await imported(CSV, { rowsBefore: '60000' })
    expect(job.result.errors).toEqual([{ row: 60_003, email: 'bad', error: 'Not a valid email address' }])
    const file = await project.call('GET', `/contacts/import/${job.id}/errors`)
    expect(file.body).toBe('row,email,error\r\n60003,"bad","Not a valid email address"\r\n')
    const { body } = await upload(CSV, { rowsBefore: '60000', dryRun: 'true' })
    expect([body.errors[0].row, body.duplicates[0].row, body.misspelt[0].row]).toEqual([60_003, 60_004, 60_005])
    expect(body.totalRows).toBe(4)
  })

  test.each(['-1', '1.5', 'ten', '100000001', '1e3'])('cannot follow %s rows', async (rowsBefore) => {
    const answer = await upload(CSV, { rowsBefore })
    expect([answer.status, fields(answer)]).toEqual([422, ['rowsBefore']])
  })
})

describe('an import into a segment', () => {
  const newSegment = async (body: object): Promise<string> => (await project.call('POST', '/segments', { name: 'S', ...body })).body.id
  const members = async (id: string): Promise<string[]> =>
    (await project.call('GET', `/segments/${id}/contacts?pageSize=100`)).body.data.map(({ email }: { email: string }) => email).sort()

  test('adds new and known contacts, each once', async () => {
    const segmentId = await newSegment({ type: 'STATIC' })
    await project.contacts.create('seg0@example.com')
    const csv = 'email\nseg0@example.com\nseg1@example.com\nSEG1@example.com\nnot an address\n'
    expect((await imported(csv, { segmentId })).result).toMatchObject({ successCount: 3, failureCount: 1 })
    expect(await members(segmentId)).toEqual(['seg0@example.com', 'seg1@example.com'])
    await imported(csv, { segmentId })
    expect(await members(segmentId)).toEqual(['seg0@example.com', 'seg1@example.com'])
  })

  test('is refused for an unknown segment, and for a dynamic one', async () => {
    const condition = { logic: 'AND', groups: [{ filters: [{ field: 'subscribed', operator: 'equals', value: true }] }] }
    const dynamic = await newSegment({ condition })
    const upload1 = (segmentId: string) => upload('email\nx@example.com\n', { segmentId })
    expect((await upload1('x')).status).toBe(404)
    expect((await upload1('0199a000-0000-7000-8000-000000000000')).status).toBe(404)
    expect((await upload1(dynamic)).status).toBe(400)
  })

  test('fails when the segment is deleted before its end', async () => {
    const jobId = newId()
    const layout = { delimiter: ',', columns: [{ name: 'email' }], email: 0, subscribed: -1, header: { row: 1, byte: 6, line: 1 } }
    await transact(sterna.db, async (tx) => {
      const input = JSON.stringify({ totalRows: 1, layout, segmentId: newId() })
      await sql`insert into jobs (project_id, id, type, input) values (${project.id}, ${jobId}, 'import', ${input}::jsonb)`.execute(tx)
      await sql`insert into job_files values (${project.id}, ${jobId}, ${Buffer.from('email\ngone@example.com\n')})`.execute(tx)
      await enqueue(tx, 'contacts.import', { projectId: project.id, jobId })
    })
    expect(await project.finished('import', jobId)).toMatchObject({ state: 'failed', failedReason: 'The segment was deleted.' })
    expect(await project.contacts.find('gone@example.com')).toBeUndefined()
  })
})
