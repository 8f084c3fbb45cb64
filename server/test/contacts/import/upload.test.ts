import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { one } from '../../../src/db/index.ts'
import { useSharedApp } from '../../support/app.ts'
import { startCpuClock } from '../../support/faults/cpu-clock.ts'
import { MULTIPART, multipart, type Part } from '../../support/files/multipart.ts'
import { times } from '../../support/times.ts'
import { importCounts } from './counts.ts'

const sterna = useSharedApp()
const newProject = async () => sterna.newProject(await sterna.sharedOwner())

const MB = 1024 * 1024
/** In a column without a name, so that fewer rows fill a file. */
const IGNORED = 'x'.repeat(170)

describe('an upload', () => {
  const csv = 'email\nada@example.com'

  test.each<[string, () => Buffer | string, Record<string, string>, number]>([
    ['without a file', () => multipart([{ field: 'note', filename: null, content: 'x' }]), MULTIPART, 400],
    ['with the file as a text field', () => multipart([{ filename: null, content: csv }]), MULTIPART, 400],
    ['in another field', () => multipart([{ field: 'upload', content: csv }]), MULTIPART, 400],
    ['with two files', () => multipart([{ content: csv }, { content: csv }]), MULTIPART, 400],
    ['of nothing', () => multipart([]), MULTIPART, 400],
    ['without a body', () => '', MULTIPART, 400],
    ['without a boundary', () => multipart([{ content: csv }]), { 'content-type': 'multipart/form-data' }, 400],
    ['with another boundary', () => multipart([{ content: csv }]), { 'content-type': 'multipart/form-data; boundary=other' }, 400],
    ['that is cut off', () => multipart([{ content: csv }]).subarray(0, -20), MULTIPART, 400],
    ['called __proto__', () => multipart([{ field: '__proto__', content: csv }]), MULTIPART, 400],
    [
      'of a thousand fields',
      () => multipart([...times(1_000, (n) => ({ field: `f${n}`, filename: null, content: 'x' })), { content: csv }]),
      MULTIPART,
      400,
    ],
    ['of JSON', () => '{}', { 'content-type': 'application/json' }, 415],
    ['of a form', () => 'file=x', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['of bare CSV', () => csv, { 'content-type': 'text/csv' }, 415],
    ['of 5 MB and one byte', () => multipart([{ content: `${csv}\n`.padEnd(5 * MB + 1, '\n') }]), MULTIPART, 413],
    ['of 6 MB', () => multipart([{ content: `${csv}\n`.padEnd(6 * MB, '\n') }]), MULTIPART, 413],
    ['of 6 MB in another field', () => multipart([{ field: 'x', content: `${csv}\n`.padEnd(6 * MB, '\n') }]), MULTIPART, 413],
  ])('%s is refused', async (_, payload, headers, expected) => {
    const project = await newProject()
    const { status, body } = await project.call('POST', '/contacts/import', payload(), headers)
    expect(status).toBe(expected)
    expect(body.error).toBeTruthy()
    expect(await one(sterna.db, sql`select count(*)::int as n from jobs where project_id = ${project.id}`)).toEqual({ n: 0 })
  })

  test.each<[string, Part[]]>([
    ['whose file has a path for a name', [{ content: csv, filename: '../../etc/passwd' }]],
    ['whose file has an odd type', [{ content: csv, type: 'application/vnd.ms-excel' }]],
    ['with a field before the file', [{ field: 'note', filename: null, content: 'x' }, { content: csv }]],
    ['with a field after the file', [{ content: csv }, { field: 'note', filename: null, content: 'x' }]],
  ])('%s is accepted', async (_, parts) => {
    const project = await newProject()
    const { status, body } = await project.call('POST', '/contacts/import', multipart(parts), MULTIPART)
    expect(status).toBe(202)
    expect((await project.finished('import', body.jobId)).result).toMatchObject(importCounts(1, 1, 0))
  })

  test('with a part header of 1 MB is refused, or its job completes', async () => {
    const project = await newProject()
    const { status, body } = await project.call(
      'POST',
      '/contacts/import',
      multipart([{ filename: 'x'.repeat(MB), content: csv }]),
      MULTIPART,
    )
    expect([202, 400]).toContain(status)
    if (status === 202) expect((await project.finished('import', body.jobId)).result).toMatchObject(importCounts(1, 1, 0))
  })

  test('of exactly 5 MB, some 20,000 rows, is imported with less than 7 s of CPU', async () => {
    const project = await newProject()
    const rows: string[] = ['email,First Name,plan,score,signed up,']
    for (let size = rows[0]!.length + 1, n = 0; ; n++) {
      const row = `user.${n}@mail${n % 50}.example.com,Name ${n},plan ${n % 7},${n % 1_000},2026-01-${String((n % 28) + 1).padStart(2, '0')}T10:00:00.000Z,${IGNORED}`
      size += row.length + 1
      if (size > 5 * MB) break
      rows.push(row)
    }
    const file = rows.join('\n').padEnd(5 * MB, '\n')
    expect(Buffer.byteLength(file)).toBe(5 * MB)
    const cpuMs = startCpuClock()
    const { result } = await project.contacts.import(file)
    expect(cpuMs()).toBeLessThan(7_000)

    const count = rows.length - 1
    expect(count).toBeGreaterThan(15_000)
    expect(result).toEqual({ ...importCounts(count, count, 0), errors: [] })
    expect((await project.call('GET', '/contacts')).body.total).toBe(count)
    const contacts = await project.contacts.rows()
    expect(contacts).toHaveLength(count)
    const wrong = contacts.filter(({ email, subscribed, data }) => {
      const n = Number(/\d+/.exec(email)![0])
      const { 'First Name': name, plan, score, 'signed up': signedUp, ...rest } = data as Record<string, unknown>
      return !(
        subscribed &&
        name === `Name ${n}` &&
        plan === `plan ${n % 7}` &&
        score === n % 1_000 &&
        signedUp === `2026-01-${String((n % 28) + 1).padStart(2, '0')}T10:00:00.000Z` &&
        Object.keys(rest).length === 0
      )
    })
    expect(wrong).toEqual([])
    // The file is deleted after the import.
    expect(await one(sterna.db, sql`select count(*)::int as n from job_files where project_id = ${project.id}`)).toEqual({ n: 0 })
  })
})
