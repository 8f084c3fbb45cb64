import { sql } from 'kysely'
import { beforeEach, expect } from 'vitest'
import { many, one } from '../../src/db/index.ts'
import { probe } from '../support/api/probe.ts'
import { useApp } from '../support/app.ts'

type Sterna = ReturnType<typeof useApp>
export type Person = Awaited<ReturnType<Sterna['newPerson']>>
export type Project = Awaited<ReturnType<Sterna['newProject']>>

/** An app with the probe routes, and the requests that people make about projects. Call at the top level, as `useApp`. */
export function useTeams() {
  const sterna = useApp({ env: { TRUST_PROXY: '127.0.0.1' }, extend: probe })
  let addresses = 0
  /** A new network for each test that tries wrong keys: these are limited per IP. */
  const from = () => ({ 'x-forwarded-for': `10.1.0.${++addresses}` })
  const newEmail = () => `guest${++addresses}@example.com`

  // Quotas have tests of their own, with the accounts; here they would only couple the tests.
  beforeEach(() => sql`delete from attempts`.execute(sterna.db))

  const projectsOf = async (person: Pick<Person, 'call'>) =>
    (await person.call('GET', '/users/@me/projects')).body as Record<string, unknown>[]
  const invite = (project: Project, email: string, role = 'MEMBER', by: Pick<Person, 'call'> = project.owner) =>
    by.call('POST', `/projects/${project.id}/members`, { body: { email, role } })
  const membersOf = async (project: Project) => {
    const { body } = await project.owner.call('GET', `/projects/${project.id}/members`)
    return body.map(({ email, role }: { email: string; role: string }) => `${email} ${role}`)
  }
  const invitationsOf = async (project: Project) => (await project.owner.call('GET', `/projects/${project.id}/invitations`)).body
  const accept = (person: Pick<Person, 'call'>, token: string) => person.call('POST', '/auth/accept-invitation', { body: { token } })

  async function join(project: Project, person: Person, role: 'ADMIN' | 'MEMBER') {
    expect((await invite(project, person.email, role)).body.status).toBe('MEMBER')
  }

  /** The statuses of a request with each key of a pair. */
  async function keyStatuses({ public: pk, secret: sk }: { public: string; secret: string }) {
    const headers = from()
    const [secret, open] = [
      await sterna.call('GET', '/probe/secret', { key: sk, headers }),
      await sterna.call('POST', '/probe/track', { key: pk, headers, body: {} }),
    ]
    return [secret.status, open.status]
  }

  /** The digest after the worker has removed the projects that earlier tests deleted. */
  async function settledDigest(options?: Parameters<typeof sterna.digest>[0]) {
    const wipes = () => many(sterna.db, sql`select 1 from project_wipes`)
    await expect.poll(wipes, { interval: 20 }).toEqual([])
    return sterna.digest(options)
  }

  /** The number of rows of a project per table, without empty tables. Covers every table with a project. */
  async function rowsOf(projectId: string) {
    const tables = await many(
      sterna.db,
      sql<{ name: string; key: string }>`
        select table_name as name, column_name as key from information_schema.columns
        where table_schema = 'public' and (column_name = 'project_id' or (table_name = 'projects' and column_name = 'id'))
      `,
    )
    const counted = await Promise.all(
      tables.map(async ({ name, key }) => {
        const { count } = await one(
          sterna.db,
          sql<{ count: number }>`select count(*)::int as count from ${sql.table(name)} where ${sql.ref(key)} = ${projectId}`,
        )
        return [name, count] as const
      }),
    )
    return Object.fromEntries(counted.filter(([, count]) => count > 0))
  }

  return { sterna, from, newEmail, projectsOf, invite, membersOf, invitationsOf, accept, join, keyStatuses, settledDigest, rowsOf }
}
