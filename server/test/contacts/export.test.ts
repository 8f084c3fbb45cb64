import { parse } from 'csv-parse/sync'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { many, transact } from '../../src/db/index.ts'
import { dropOldPieces } from '../../src/jobs/pieces.ts'
import { issues, outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'

const sterna = useSharedApp()
type Project = Awaited<ReturnType<typeof sterna.newProject>>

let project: Project
beforeAll(async () => {
  project = await sterna.newProject()
})

async function finishedExport(of: Project, filter?: object) {
  const answer = await of.call('POST', '/contacts/export', filter ? { filter } : {})
  expect(outcome(answer)).toEqual([202])
  const { jobId } = answer.body
  const status = async () => (await of.call('GET', `/contacts/export/${jobId}`)).body
  await expect.poll(async () => (await status()).state, { interval: 20 }).toBe('completed')
  return { jobId, ...(await status()) }
}

async function download(of: Project, jobId: string): Promise<string[][]> {
  const answer = await of.call('GET', `/contacts/export/${jobId}/file`)
  expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8'])
  expect(answer.headers['content-disposition']).toMatch(/^attachment; filename="contacts-\d{4}-\d\d-\d\d\.csv"$/)
  return parse(answer.body, { bom: true })
}

const dropFiles = () => transact(sterna.db, (tx) => dropOldPieces(tx, 1_000))

describe('an export', () => {
  test('has a column for every field, and neutralises formulas', async () => {
    await project.contacts.create('ada@example.com', {
      subscribed: false,
      data: {
        name: '=cmd|" /C calc"!A0',
        plus: '+1',
        at: '@x',
        tab: '\tx',
        dash: '-x',
        number: -5.5,
        yes: true,
        list: [1, 'a'],
        'a,"b"': 'ü\n',
      },
    })
    await project.contacts.create('bob@example.com')
    const { jobId, result, progress, type } = await finishedExport(project)
    expect([type, progress, result.exportedCount]).toEqual(['export', 100, 2])
    const [header, ada, bob] = await download(project, jobId)
    expect(header).toEqual([
      ...['email', 'subscribed', 'createdAt', 'updatedAt'],
      ...['a,"b"', 'at', 'dash', 'list', 'name', 'number', 'plus', 'tab', 'yes'].sort(),
    ])
    const value = (row: string[], column: string) => row[header!.indexOf(column)]
    expect([value(ada!, 'email'), value(ada!, 'subscribed'), value(ada!, 'createdAt')]).toEqual([
      'ada@example.com',
      'false',
      expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    ])
    expect(['name', 'plus', 'at', 'tab', 'dash', 'number', 'yes', 'list', 'a,"b"'].map((column) => value(ada!, column))).toEqual([
      ...[`'=cmd|" /C calc"!A0`, "'+1", "'@x", "'\tx", "'-x", '-5.5', 'true', '[1,"a"]', 'ü\n'],
    ])
    expect([bob!.slice(0, 2), new Set(bob!.slice(4))]).toEqual([['bob@example.com', 'true'], new Set([''])])
  })

  test('has fields with the names of inherited properties', async () => {
    const names = ['constructor', 'hasOwnProperty', 'toString', 'valueOf']
    const odd = await sterna.newProject()
    const data = Object.fromEntries(names.map((name) => [name, 'x']))
    expect((await odd.track({ event: 'visit', email: 'ada@example.com', data })).status).toBe(200)
    const proto = '{"email":"proto@example.com","data":{"__proto__":"x","isPrototypeOf":1}}'
    expect((await odd.call('POST', '/contacts', proto)).status).toBe(201)
    await odd.contacts.create('bob@example.com')
    const [header, ...rows] = await download(odd, (await finishedExport(odd)).jobId)
    expect(header!.slice(4)).toEqual(['constructor', 'hasOwnProperty', 'isPrototypeOf', 'toString', 'valueOf'])
    expect(rows.map(([email, , , , ...cells]) => [email, ...cells])).toEqual([
      ['ada@example.com', 'x', 'x', '', 'x', 'x'],
      ['proto@example.com', '', '', '1', '', ''],
      ['bob@example.com', '', '', '', '', ''],
    ])
  })

  test('neutralises formulas behind blanks, and those with full-width signs', async () => {
    const cells = ['\n=1+1', '\r\n@x', ' =1', '\u00a0+1', '\u3000-1', '\u200b=1', '＝1', '＋1', '－1', '＠x', ' ＝1', '\nx']
    const names = cells.map((_, n) => `c${String(n).padStart(2, '0')}`)
    const odd = await sterna.newProject()
    await odd.contacts.create('ada@example.com', { data: Object.fromEntries(names.map((name, n) => [name, cells[n]])) })
    const [, ada] = await download(odd, (await finishedExport(odd)).jobId)
    expect(ada!.slice(4)).toEqual(cells.map((cell) => `'${cell}`))
  })

  test('has the contacts that match its filter', async () => {
    const { jobId } = await finishedExport(project, { subscribed: false, search: 'ADA' })
    expect((await download(project, jobId)).map(([email]) => email)).toEqual(['email', 'ada@example.com'])
    const none = await finishedExport(project, { field: 'number', value: 7 })
    expect(await download(project, none.jobId)).toHaveLength(1)
  })

  test('has the members of a segment that match a condition', async () => {
    const { body: segment } = await project.call('POST', '/segments', { name: 'Members', type: 'STATIC' })
    await project.call('POST', `/segments/${segment.id}/members`, { emails: ['bob@example.com'] })
    const { jobId } = await finishedExport(project, { segmentId: segment.id })
    expect((await download(project, jobId)).map(([email]) => email)).toEqual(['email', 'bob@example.com'])
    const isNotBob = { field: 'email', operator: 'notEquals', value: 'bob@example.com' }
    const none = await finishedExport(project, { segmentId: segment.id, condition: { logic: 'AND', groups: [{ filters: [isNotBob] }] } })
    expect(await download(project, none.jobId)).toHaveLength(1)
    const unknown = { segmentId: '0199a000-0000-7000-8000-000000000000' }
    expect((await project.call('POST', '/contacts/export', { filter: unknown })).status).toBe(404)
  })

  test('of thousands of contacts has each of them once', async () => {
    const large = await sterna.newProject()
    await sql`
      insert into contacts (project_id, id, email, subscribed, data)
      select ${large.id}, gen_random_uuid(), 'c' || n || '@example.com', n % 2 = 0, jsonb_build_object('n', n) from generate_series(1, 4500) as n
    `.execute(sterna.db)
    await large.contacts.create('known-field@example.com', { data: { n: 0 } })
    const { jobId, result } = await finishedExport(large)
    const emails = (await download(large, jobId)).slice(1).map(([email]) => email)
    expect([emails.length, new Set(emails).size, result.exportedCount]).toEqual([4_501, 4_501, 4_501])
    expect((await many(sterna.db, sql`select 1 from job_pieces where job_id = ${jobId}`)).length).toBeGreaterThan(1)
  })

  test('can be downloaded for 7 days, also after another one', async () => {
    const { jobId } = await finishedExport(project)
    await dropFiles()
    expect((await project.call('GET', `/contacts/export/${jobId}/file`)).status).toBe(200)
    await sql`update jobs set finished_at = now() - interval '8 days' where id = ${jobId}`.execute(sterna.db)
    await dropFiles()
    const gone = await project.call('GET', `/contacts/export/${jobId}/file`)
    expect([gone.status, gone.body]).toEqual([404, { error: 'The file was deleted.' }])
  })

  test('removes the files of all but the newest five', async () => {
    const busy = await sterna.newProject()
    const ids: string[] = []
    for (let n = 0; n < 6; n++) ids.push((await finishedExport(busy)).jobId)
    const statuses = await Promise.all(ids.map(async (id) => (await busy.call('GET', `/contacts/export/${id}/file`)).status))
    expect(statuses).toEqual([404, 200, 200, 200, 200, 200])
  })

  test('that has not finished has no file, and a third one waits', async () => {
    const held = await sterna.newProject()
    await sql`
      insert into jobs (project_id, id, type, input) select ${held.id}, gen_random_uuid(), 'export', '{}' from generate_series(1, 2)
    `.execute(sterna.db)
    const [job] = await many(sterna.db, sql<{ id: string }>`select id from jobs where project_id = ${held.id}`)
    expect(outcome(await held.call('GET', `/contacts/export/${job!.id}/file`))).toEqual([409, 'CONFLICT'])
    expect(outcome(await held.call('POST', '/contacts/export', {}))).toEqual([429, 'RATE_LIMIT_EXCEEDED'])
  })

  test('is that of its project', async () => {
    const other = await sterna.newProject()
    const { jobId } = await finishedExport(project)
    for (const path of [`/contacts/export/${jobId}`, `/contacts/export/${jobId}/file`, '/contacts/export/x', `/jobs/${jobId}`])
      expect([path, (await other.call('GET', path)).status]).toEqual([path, 404])
  })

  test('with an unknown or incomplete filter is a 422', async () => {
    const refused = async (filter: object) => issues(await project.call('POST', '/contacts/export', { filter }))
    expect(await refused({ subscribd: true })).toEqual([['filter.subscribd', 'custom']])
    expect(await refused({ field: 'plan' })).toEqual([['filter.value', 'required']])
  })
})

describe('the list of jobs', () => {
  test('has the jobs of every kind, newest first, and those that have not finished', async () => {
    const own = await sterna.newProject()
    const ada = await own.contacts.create('ada@example.com', { data: { plan: 'pro' } })
    await own.contacts.bulk('unsubscribe', { contactIds: [ada.id] })
    await own.contacts.import('email\nbob@example.com\n')
    const { jobId } = await finishedExport(own)
    const list = async (query = '') => (await own.call('GET', `/jobs${query}`)).body
    expect((await list()).data.map(({ type }: { type: string }) => type)).toEqual(['export', 'import', 'bulk-unsubscribe'])
    expect(await list('?active=1')).toEqual({ data: [], cursor: null, hasMore: false, total: 0 })
    await sql`update jobs set finished_at = null, state = 'active', progress = 40 where id = ${jobId}`.execute(sterna.db)
    const active = await list('?active=true')
    expect([active.total, active.data[0]]).toEqual([1, expect.objectContaining({ jobId, type: 'export', state: 'active', progress: 40 })])
    expect((await own.call('GET', `/jobs/${jobId}`)).body).toEqual(active.data[0])
    const first = await list('?limit=1')
    expect((await list(`?limit=2&cursor=${first.cursor}`)).data.map(({ type }: { type: string }) => type)).toEqual([
      'import',
      'bulk-unsubscribe',
    ])
  })
})
