import { sql } from 'kysely'
import { afterAll, beforeAll } from 'vitest'
import { connect, many, one, transact } from '../../../src/db/index.ts'
import { createClaim } from '../../../src/delivery/outbox/claim.ts'
import { enqueueAudienceSql, insertContents } from '../../../src/delivery/outbox/enqueue.ts'
import { createMark } from '../../../src/delivery/outbox/mark.ts'
import type { Settlement } from '../../../src/delivery/outbox/outcomes/settlement.ts'
import { createSettle } from '../../../src/delivery/outbox/settle.ts'
import { PRIORITIES } from '../../../src/delivery/outbox/streams/stream-of.ts'
import { openStream, type StreamRef } from '../../../src/delivery/outbox/streams/streams.ts'
import { newId } from '../../../src/lib/id.ts'
import { createLog } from '../../../src/lib/process/log.ts'
import { cloneDatabase } from '../database.ts'
import { type LocalNode, startLocalNode } from '../local-node.ts'
import { verifyDomains } from '../project.ts'

type NewCampaign = {
  emails?: number
  type?: 'MARKETING' | 'TRANSACTIONAL'
  ratePerMinute?: number
  projectId?: string
  fromDomain?: string
}
export type Campaign = { projectId: string; streamId: string; campaignId: string; contentId: string; stream: StreamRef; fromDomain: string }

/** An API node without a worker, and the statements of the outbox as workers use them. Call at the top level. */
export function useOutbox() {
  const sterna = {} as LocalNode
  const project = {} as { id: string; domain: string }
  let database: Awaited<ReturnType<typeof cloneDatabase>>
  let workers = 0
  const never = new AbortController().signal

  beforeAll(async () => {
    database = await cloneDatabase()
    Object.assign(sterna, await startLocalNode({ DATABASE_URL: database.url, ROLE: 'api', RATE_LIMIT_PER_MINUTE: '0' }))
    Object.assign(project, await newProject())
  })
  afterAll(async () => {
    await sterna.stop?.()
    await database?.drop()
  })

  async function newProject(of?: Awaited<ReturnType<LocalNode['newPerson']>>) {
    const { id, call, owner } = await sterna.newProject(of)
    const domain = `${newId()}.example`
    await call('POST', '/domains', { domain })
    await verifyDomains(sterna.db, id)
    return { id, domain, owner, call }
  }

  /** A worker with a lease. Emails of other tests are left alone: the claim excludes all projects but one. */
  async function newWorker() {
    const worker = 1_000 + ++workers
    await sql`insert into senders (worker, lease_until) values (${worker}, 'infinity')`.execute(sterna.db)
    const submit = createSettle(sterna.db, never)
    return { claim: createClaim(sterna.db, worker), mark: createMark(sterna.db, worker), settle: (each: Settlement) => submit(each) }
  }

  /** A frozen campaign: its contacts, content, stream and queued emails. */
  async function newCampaign({ emails = 3, type = 'TRANSACTIONAL', ratePerMinute, ...more }: NewCampaign = {}): Promise<Campaign> {
    const projectId = more.projectId ?? project.id
    const fromDomain = more.fromDomain ?? project.domain
    const [campaignId, contentId] = [newId(), newId()]
    await transact(sterna.db, async (tx) => {
      const content = { type, subject: 'News', body: '<p>News</p>', fromAddress: `news@${fromDomain}`, fromName: null, replyTo: null }
      await insertContents(tx, [{ ...content, projectId, id: contentId, headers: {}, templateId: null }])
      await openStream(tx, { projectId, streamId: campaignId, fromDomain, ratePerMinute: ratePerMinute ?? null })
      await sql`
        with audience as (
          insert into contacts (project_id, id, email, subscribed)
          select ${projectId}, gen_random_uuid(), n || '.' || ${campaignId} || '@example.com', true from generate_series(1, ${emails}) as n
          returning id as contact_id, email as address
        )
        ${enqueueAudienceSql(sql`audience`, { projectId, campaignId, contentId, fromDomain, contacts: emails })}
      `.execute(tx)
    })
    const stream = { projectId, streamId: campaignId }
    return { ...stream, campaignId, stream, contentId, fromDomain }
  }

  type Row = { id: string; state: string; code: string | null; attempts: number; marked: boolean; version: string }
  const rowsOf = ({ projectId, campaignId }: Pick<Campaign, 'projectId' | 'campaignId'>) =>
    many(
      sterna.db,
      sql<Row>`
        select id, state, error_code as code, attempts, handed_over_at is not null as marked, xmin::text as version
        from emails where project_id = ${projectId} and campaign_id = ${campaignId} order by id
      `,
    )
  const statesOf = async (campaign: Campaign) => (await rowsOf(campaign)).map(({ state }) => state)

  /** Projects other than this one, to exclude them from claims. */
  const allBut = async (projectId: string) =>
    (await many(sterna.db, sql<{ id: string }>`select id from projects where id <> ${projectId}`)).map(({ id }) => id)

  /** Claims bulk emails of one project. */
  async function claimOf(worker: Awaited<ReturnType<typeof newWorker>>, { projectId }: { projectId: string }, limit = 100) {
    return worker.claim(PRIORITIES.bulk, { limit, except: await allBut(projectId) })
  }

  /** A pool with a single session. */
  const connectOnce = () => connect({ url: database.url, max: 1, log: createLog('silent') })

  const databaseTime = async () => (await one(sterna.db, sql<{ now: Date }>`select clock_timestamp() as now`)).now

  return { sterna, project, newProject, newWorker, newCampaign, rowsOf, statesOf, claimOf, connectOnce, databaseTime }
}
