import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { one } from '../../src/db/index.ts'
import { useApp } from '../support/app.ts'
import { FAULTS, withFailingStatement } from '../support/faults/failing-statements.ts'

const sterna = useApp({ withWorker: false })

type Project = Awaited<ReturnType<typeof sterna.newProject>>

/** More statements than such a request has. */
const MAX_STATEMENTS = 60
/** The one whose commit is not answered, and one that fails later. */
const MAX_DONE = 2

describe.each([
  ['a reset', 'POST', '/reset'],
  ['a deletion', 'DELETE', ''],
])('%s of a project that answers an error was not carried out, and one that succeeds was:', (_, method, path) => {
  const stateOf = (project: Project) =>
    one(
      sterna.db,
      sql<{ wipes: number; jobs: number; deleted: boolean; reset: boolean }>`
        select (select count(*)::int from project_wipes where project_id = p.id) as wipes,
          (select count(*)::int from graphile_worker.jobs where task_identifier = 'projects.wipe' and key is null) as jobs,
          deleted_at is not null as deleted, reset_at is not null as reset
        from projects p where id = ${project.id}
      `,
    )

  test.each(FAULTS)('one statement after the other is %s', async (fault) => {
    let project = await sterna.newProject()
    let [n, done, failed] = [1, 0, true]
    for (; failed && done < MAX_DONE && n < MAX_STATEMENTS; n++) {
      const before = await stateOf(project)
      const request = () => project.owner.call(method, `/users/@me/projects/${project.id}${path}`)
      const attempt = await withFailingStatement(n, fault, request)
      failed = attempt.failed
      const { status } = attempt.result
      const after = await stateOf(project)
      const isDone = after.wipes === 1 && (method === 'DELETE' ? after.deleted : after.reset)
      expect([n, status, isDone]).toEqual([n, isDone ? (method === 'DELETE' ? 204 : 200) : 503, isDone])
      if (isDone && ++done) project = await sterna.newProject()
      else expect(after).toEqual(before)
    }
    expect(done).toBeGreaterThan(0)
    // The transaction alone has more.
    expect(n).toBeGreaterThan(8)
  })
})
