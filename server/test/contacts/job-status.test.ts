import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { useSharedApp } from '../support/app.ts'
import { times } from '../support/times.ts'
import { importCounts } from './import/counts.ts'

const sterna = useSharedApp()
const newProject = async () => sterna.newProject(await sterna.sharedOwner())

describe('the status of a job', () => {
  const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

  test('has the same shape for imports and bulk jobs', async () => {
    const project = await newProject()
    const { jobId: importId, ...imported } = await project.contacts.import('email\na@example.com\nbad')
    expect(imported).toEqual({
      id: importId,
      type: 'import',
      state: 'completed',
      status: 'completed',
      progress: 100,
      result: { ...importCounts(2, 1, 0), errors: [{ row: 3, email: 'bad', error: expect.any(String) }] },
      failedReason: null,
      createdAt: timestamp,
      finishedAt: timestamp,
    })
    const [contact] = await project.contacts.rows()
    const bulk = await project.contacts.bulk('delete', { contactIds: [contact!.id] })
    expect(bulk).toMatchObject({ id: bulk.jobId, state: 'completed', status: 'completed', progress: 100, failedReason: null })
    expect(Object.keys(bulk).sort()).toEqual([...Object.keys(imported), 'jobId'].sort())
    expect((await project.call('GET', `/contacts/import/${importId}`)).body.jobId).toBe(importId)
  })

  test('of a job that has not started is waiting', async () => {
    const project = await newProject()
    const { body } = await project.call('POST', '/contacts/bulk-delete', { contactIds: [randomUUID()] })
    await project.finished('bulk', body.jobId)
    // The state before a worker took the job.
    await sql`update jobs set state = 'waiting', progress = 0, result = null, finished_at = null where id = ${body.jobId}`.execute(
      sterna.db,
    )
    expect((await project.call('GET', `/contacts/bulk/${body.jobId}`)).body).toMatchObject({
      state: 'waiting',
      status: 'waiting',
      progress: 0,
      result: null,
      failedReason: null,
      finishedAt: null,
    })
  })

  test('is a plain 404 for an unknown, malformed or foreign job and for a job of the other kind', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const imported = await project.contacts.import('email\na@example.com')
    const bulk = await project.contacts.bulk('delete', { contactIds: [randomUUID()] })
    const foreign = {
      import: (await other.contacts.import('email\na@example.com')).jobId,
      bulk: (await other.contacts.bulk('delete', { contactIds: ['x'] })).jobId,
    }
    for (const path of ['import/:id', 'import/:id/errors', 'bulk/:id']) {
      const otherKind = path.startsWith('bulk') ? imported.jobId : bulk.jobId
      const theirs = path.startsWith('bulk') ? foreign.bulk : foreign.import
      for (const id of [randomUUID(), 'x', '1', "'", 'f'.repeat(500), otherKind, theirs]) {
        const { status, body } = await project.call('GET', `/contacts/${path.replace(':id', id)}`)
        expect([status, body]).toEqual([404, { error: 'No such job.' }])
      }
    }
  })

  test('never goes backwards', async () => {
    const project = await newProject()
    const { body } = await project.contacts.upload(`email,n\n${times(12_000, (n) => `c${n}@example.com,${n}`).join('\n')}`)
    const seen: { progress: number; state: string; totalRows: number }[] = []
    await expect
      .poll(
        async () => {
          const { progress, state, result } = (await project.call('GET', `/contacts/import/${body.jobId}`)).body
          seen.push({ progress, state, totalRows: result?.totalRows ?? 0 })
          return state
        },
        // Requests at every moment would leave the job no time: both run in this process.
        { timeout: 120_000, interval: 20 },
      )
      .toBe('completed')
    const rank = ['waiting', 'active', 'completed']
    for (const [before, after] of seen.slice(1).map((after, n) => [seen[n]!, after] as const)) {
      expect(after.progress).toBeGreaterThanOrEqual(before.progress)
      expect(after.totalRows).toBeGreaterThanOrEqual(before.totalRows)
      expect(rank.indexOf(after.state)).toBeGreaterThanOrEqual(rank.indexOf(before.state))
    }
    expect(seen.every(({ progress, state }) => (state === 'completed' ? progress === 100 : progress < 100))).toBe(true)
    expect(seen.some(({ progress }) => progress > 0 && progress < 100)).toBe(true)
  })
})
