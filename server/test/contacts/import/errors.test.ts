import { parse } from 'csv-parse/sync'
import { describe, expect, test } from 'vitest'
import { useSharedApp } from '../../support/app.ts'
import { times } from '../../support/times.ts'
import { importCounts } from './counts.ts'

const sterna = useSharedApp()
const newProject = async () => sterna.newProject(await sterna.sharedOwner())

describe('the failing rows of an import', () => {
  const read = (text: string) => parse(text, { relax_column_count: false }) as string[][]

  test('are a CSV with the errors of the status', async () => {
    const project = await newProject()
    const bad = ['plain', 'a "quoted" one', 'with, comma', 'two\nlines', 'é😀', "o'hara", '<b>', '', ' padded ', 'x'.repeat(400)]
    const { jobId, result } = await project.contacts.import(
      `email,x\n${bad.map((email) => `"${email.replaceAll('"', '""')}",1`).join('\n')}\nada@example.com,1`,
    )
    expect(result).toMatchObject({ successCount: 1, failureCount: bad.length })
    const { status, headers, body } = await project.call('GET', `/contacts/import/${jobId}/errors`)
    expect(status).toBe(200)
    expect(headers['content-type']).toMatch(/^text\/csv; ?charset=utf-8$/)
    expect(headers['content-disposition']).toMatch(/^attachment; filename="[\w.-]+\.csv"$/)
    expect(read(body)).toEqual([
      ['row', 'email', 'error'],
      ...result.errors.map(({ row, email, error }: { row: number; email: string; error: string }) => [String(row), email, error]),
    ])
    expect(result.errors.map(({ email }: { email: string }) => email)).toEqual(bad.map((email) => email.trim().slice(0, 320)))
  })

  test('contain no formula that a spreadsheet would run', async () => {
    const project = await newProject()
    const bad = ['=cmd|calc!A1', '+1', '-1', '@sum(1)', '=HYPERLINK("http://evil")', '"=1"', '＝1', '\t=1', '\r=1']
    const { jobId } = await project.contacts.import(`email\n${bad.map((email) => `"${email.replaceAll('"', '""')}"`).join('\n')}`)
    const { body } = await project.call('GET', `/contacts/import/${jobId}/errors`)
    const [, ...rows] = read(body)
    expect(rows).toHaveLength(bad.length)
    for (const cell of rows.flat()) expect(cell).not.toMatch(/^[=+\-@\t\r]/)
    expect(rows.slice(0, 4).map(([, email]) => email)).toEqual(["'=cmd|calc!A1", "'+1", "'-1", "'@sum(1)"])
  })

  test('are all recorded, also 10,800 of them', async () => {
    const project = await newProject()
    const { jobId, result } = await project.contacts.import(
      `email\n${times(12_000, (n) => (n % 10 ? `bad${n}` : `c${n}@example.com`)).join('\n')}`,
    )
    expect(result).toMatchObject(importCounts(12_000, 1_200, 0))
    const rows = read((await project.call('GET', `/contacts/import/${jobId}/errors`)).body).slice(1)
    expect(rows.map(([row, email]) => [row, email])).toEqual(times(12_000, (n) => [String(n + 2), `bad${n}`]).filter((_, n) => n % 10))
  })

  test('are an empty CSV if no row failed', async () => {
    const project = await newProject()
    const { jobId } = await project.contacts.import('email\nada@example.com')
    expect((await project.call('GET', `/contacts/import/${jobId}/errors`)).body).toBe('row,email,error\r\n')
  })
})
