import { type RawBuilder, sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { type Answer, useSharedApp } from '../support/app.ts'
import { whileSleeping } from '../support/faults/sleeping-writes.ts'
import { type CampaignProject, newCampaignProject } from './campaign-project.ts'

const sterna = useSharedApp()
const LATER = '2040-01-01T00:00:00Z'

let project: CampaignProject
beforeAll(async () => {
  project = await newCampaignProject(sterna)
  await project.subscribe('ada')
})

const newSegment = async (more: object = { type: 'STATIC' }) =>
  (await project.call('POST', '/segments', { name: 'List', ...more })).body.id as string
const remove = (path: string) => project.call('DELETE', path)

describe('a segment', () => {
  test.each(['SEGMENT', 'FILTERED'])(
    'of a campaign with the audience %s can be deleted when the campaign has ended',
    async (audienceType) => {
      const segmentId = await newSegment()
      const audienceCondition = { logic: 'AND', groups: [{ filters: [{ field: `segment.${segmentId}`, operator: 'notMemberOfSegment' }] }] }
      const { id } = await project.create({ audienceType, segmentId, audienceCondition })
      const refused = await remove(`/segments/${segmentId}`)
      expect([outcome(refused), refused.body.error.details]).toEqual([
        [409, 'CONFLICT'],
        { usedBy: [{ type: 'campaign', id, name: 'News' }] },
      ])
      await project.act(id, 'send', { scheduledFor: LATER })
      expect(outcome(await remove(`/segments/${segmentId}`))).toEqual([409, 'CONFLICT'])
      await project.act(id, 'cancel')
      expect((await remove(`/segments/${segmentId}`)).status).toBe(204)
    },
  )

  test('cannot be deleted while a campaign with it is being created', async () => {
    const segmentId = await newSegment()
    const body = project.body({ name: 'Slow', audienceType: 'SEGMENT', segmentId })
    const when = sql`new.name = 'Slow'`
    const deleted = await whileWriting({ on: 'insert', when }, () => project.call('POST', '/campaigns', body), `/segments/${segmentId}`)
    expect(outcome(deleted)).toEqual([409, 'CONFLICT'])
  })
})

/** Deletes something while a request is inside its transaction, before the campaign is written. The request succeeds. */
async function whileWriting(where: { on: 'insert' | 'update'; when: RawBuilder<unknown> }, write: () => Promise<Answer>, path: string) {
  let deleted: Answer | undefined
  const { writing } = await whileSleeping(sterna.db, { table: 'campaigns', ...where }, async () => ({
    started: { writing: write() },
    meanwhile: async () => {
      deleted = await remove(path)
    },
  }))
  expect(outcome(await writing)).toEqual([200])
  return deleted!
}

/** Schedules a campaign, and deletes something meanwhile. */
const whileScheduling = (id: string, path: string) =>
  whileWriting({ on: 'update', when: sql`new.id = ${sql.lit(id)}` }, () => project.act(id, 'send', { scheduledFor: LATER }), path)

describe('a template', () => {
  test('cannot be deleted while a scheduled campaign uses it', async () => {
    const templateId = await project.template()
    const { id } = await project.create({ templateId })
    expect((await project.call('GET', `/templates/${templateId}/usage`)).body.campaigns).toEqual([{ id, name: 'News' }])
    await project.act(id, 'send', { scheduledFor: LATER })
    const refused = await remove(`/templates/${templateId}`)
    expect([outcome(refused), refused.body.error.details.usedBy]).toEqual([[409, 'CONFLICT'], [{ type: 'campaign', id, name: 'News' }]])
    expect((await project.call('GET', `/templates/${templateId}`)).status).toBe(200)
    await project.act(id, 'cancel')
    expect((await remove(`/templates/${templateId}`)).status).toBe(204)
  })

  test('cannot be deleted while a campaign with it is being scheduled', async () => {
    const templateId = await project.template()
    const { id } = await project.create({ templateId })
    expect(outcome(await whileScheduling(id, `/templates/${templateId}`))).toEqual([409, 'CONFLICT'])
    await project.act(id, 'cancel')
  })
})

describe('a domain', () => {
  test('cannot be deleted while a campaign sends from it', async () => {
    const own = await newCampaignProject(sterna)
    const { id } = await own.create()
    await own.act(id, 'send', { scheduledFor: LATER })
    expect(outcome(await own.call('DELETE', `/domains/${own.domainId}`))).toEqual([409, 'CONFLICT'])
    await own.act(id, 'cancel')
    expect((await own.call('DELETE', `/domains/${own.domainId}`)).status).toBe(204)
  })

  test('cannot be deleted while a campaign from it is being scheduled', async () => {
    const { id } = await project.create()
    expect(outcome(await whileScheduling(id, `/domains/${project.domainId}`))).toEqual([409, 'CONFLICT'])
    await project.act(id, 'cancel')
  })
})

describe('usage', () => {
  test('names the campaigns whose audience mentions a field or an event', async () => {
    const filters = [
      { field: 'data.plan', operator: 'equals', value: 'pro' },
      { field: 'event.signup', operator: 'triggered' },
    ]
    const { id } = await project.create({
      name: 'Mentions',
      audienceType: 'FILTERED',
      audienceCondition: { logic: 'AND', groups: [{ filters }] },
    })
    const used = [{ id, name: 'Mentions' }]
    expect((await project.call('GET', '/contacts/fields/plan/usage')).body.usedInCampaigns).toEqual(used)
    expect((await project.call('GET', '/events/signup/usage')).body.usedInCampaigns).toEqual(used)
    expect((await project.call('GET', '/events/other/usage')).body.usedInCampaigns).toEqual([])
  })
})

describe('a reset of the project', () => {
  test.each([
    ['reset', 'POST', '/reset'],
    ['deletion', 'DELETE', ''],
  ])('by %s cancels a campaign that is being sent, and leaves no row', async (_, method, path) => {
    const own = await newCampaignProject(sterna)
    await own.subscribe('ada', 'bob', 'eve')
    await own.contacts.create('dan@example.com', { subscribed: false })
    await own.stuck()
    await own.owner.call(method, `/users/@me/projects/${own.id}${path}`)
    const { rows } = await sql<{ state: string }>`
      select state from emails where project_id = ${own.id} and state in ('queued', 'sending', 'deferred')
        and not exists (select from streams s where s.project_id = emails.project_id and s.id = emails.stream_id and s.cancelled_at is not null)
    `.execute(sterna.db)
    expect(rows).toEqual([])
    await expect.poll(() => rowsOf(own.id)).toEqual([])
  })
})

const TABLES = ['campaigns', 'campaign_excluded', 'campaign_audit', 'campaign_minutes', 'emails', 'streams', 'stream_rates', 'email_ledger']

/** Tables that have rows of the project. */
async function rowsOf(projectId: string) {
  const found = await Promise.all(
    TABLES.map(async (table) => {
      const { rows } = await sql`select 1 from ${sql.table(table)} where project_id = ${projectId} limit 1`.execute(sterna.db)
      return rows.length ? [table] : []
    }),
  )
  return found.flat()
}
