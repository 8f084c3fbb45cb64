import { type RawBuilder, sql } from 'kysely'
import { afterAll, beforeAll, expect } from 'vitest'
import { many, type Tx } from '../../../src/db/index.ts'
import { allEmailCounts, type CountKind, countsOfEmailsSql } from '../../../src/projects/email-counts.ts'
import { useApp } from '../app.ts'
import { eventually } from '../eventually.ts'
import { verifyDomains } from '../project.ts'
import { startSmtpServer } from '../servers/smtp-server.ts'
import { foldEmails } from './fold-emails.ts'

const SOURCE_OF: Partial<Record<CountKind, string>> = {
  workflows: 'WORKFLOW',
  campaigns: 'CAMPAIGN',
  transactional: 'TRANSACTIONAL',
  inbound: 'INBOUND',
}

/** Changes counts without any emails. */
export const countEmails = (tx: Tx, projectId: string, counts: { kind: CountKind; at: Date; n: number }[]) =>
  sql`
    insert into email_ledger (project_id, kind, source, hour, n)
    select ${projectId}, kind, source, date_trunc('hour', at, 'UTC'), n from jsonb_to_recordset(${JSON.stringify(
      counts.map(({ kind, ...count }) => ({ ...count, kind: SOURCE_OF[kind] ? 'accepted' : kind, source: SOURCE_OF[kind] })),
    )}::jsonb) as c(kind text, source text, at timestamptz, n int)
  `.execute(tx)

type Options = { env?: Record<string, string>; withWorker?: boolean }
let projects = 0

/**
 * An app that sends to an SMTP server: emails of the sandbox are in no counts. `env` may be filled by a `beforeAll` that is declared before.
 * Call at the top level, as `useApp`.
 */
export function useCountedSending({ env = {}, withWorker = true }: Options = {}) {
  let sink: Awaited<ReturnType<typeof startSmtpServer>>
  beforeAll(async () => {
    sink = await startSmtpServer()
    Object.assign(env, { SMTP_URL: sink.url, RATE_LIMIT_PER_MINUTE: '0' })
  })
  const sterna = useApp({ env, withWorker })
  afterAll(() => sink.stop())

  /** A project with a verified domain. */
  async function newProject(of?: Awaited<ReturnType<typeof sterna.newPerson>>) {
    const project = await sterna.newProject(of)
    const domain = `counted${++projects}.example`
    await project.call('POST', '/domains', { domain })
    await verifyDomains(sterna.db, project.id)
    const at = (path: string) => `/users/@me/projects/${project.id}/${path}`
    return {
      ...project,
      domain,
      send: (more: object = {}, options: { key?: string } = {}) =>
        project.send({ to: 'ada@example.com', from: `hello@${domain}`, subject: 'Hi', body: 'Hi', ...more }, options),
      /** A request of the owner about this project. */
      get: async (path: string) => (await project.owner.call('GET', at(path))).body,
      post: (path: string, body?: object) => project.owner.call('POST', at(path), body === undefined ? {} : { body }),
      limit: (limits: object) => project.owner.call('PUT', at('billing-limits'), { body: limits }),
      usage: async (category: string): Promise<number> => (await project.owner.call('GET', at('billing-limits'))).body[category].usage,
      /** The counts are those of the emails. */
      expectExact: async () => {
        const read = (counts: RawBuilder<unknown>) =>
          many(
            sterna.db,
            sql<{
              kind: CountKind
              n: number
            }>`select kind, hour, sum(n)::int as n from ${counts} group by 1, 2 having sum(n) <> 0 order by 1, 2`,
          )
        const emails = sql`select * from emails where project_id = ${project.id}`
        const there = await read(sql`(select kind, hour, count as n from (${countsOfEmailsSql(emails)}) as c) as there`)
        expect(await read(allEmailCounts(project.id, sql`true`))).toEqual(there)
        return there.map(({ kind, n }) => `${kind} ${n}`)
      },
    }
  }

  /** Adds up what was appended. A worker may do the same at the moment. */
  const merge = () =>
    eventually(async () => {
      await foldEmails(sterna.db)
      expect(await many(sterna.db, sql`select 1 from email_ledger where hour is not null`)).toEqual([])
    })

  return { sterna, newProject, merge }
}
