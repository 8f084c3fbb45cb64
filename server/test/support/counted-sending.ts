import { sql } from 'kysely'
import { afterAll, beforeAll, expect } from 'vitest'
import { addToMeters } from '../../src/billing/meters.ts'
import { many } from '../../src/db/index.ts'
import { mergeEmailCounts, readEmailCounts, recountEmails } from '../../src/projects/email-counts.ts'
import { addToReputations } from '../../src/reputation/figures.ts'
import { useApp } from './app.ts'
import { eventually } from './eventually.ts'
import { startSmtpServer } from './servers/smtp-server.ts'

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
    await sql`
      update domains set status = 'verified', verified_by = 'dns', verified_at = now(), next_check_at = 'infinity' where project_id = ${project.id}
    `.execute(sterna.db)
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
        const since = new Date(0)
        const counted = await recountEmails(sterna.db, project.id, since)
        expect(await readEmailCounts(sterna.db, project.id, since)).toEqual(counted)
        return counted.map(({ kind, n }) => `${kind} ${n}`)
      },
    }
  }

  /** Adds up what was appended. A worker may do the same at the moment. */
  const merge = () =>
    eventually(async () => {
      await mergeEmailCounts(sterna.db, [addToReputations, addToMeters])
      expect(await many(sterna.db, sql`select 1 from email_count_deltas`)).toEqual([])
    })

  return { sterna, newProject, merge }
}
