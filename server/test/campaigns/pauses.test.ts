import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { pauseSpikes } from '../../src/campaigns/sending/work.ts'
import { outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { type Campaign, type CampaignProject, newCampaignProject } from './campaign-project.ts'

const sterna = useSharedApp()

let project: CampaignProject
let campaign: Campaign
/** A campaign to four contacts, of which the first has got it. */
beforeEach(async () => {
  project = await newCampaignProject(sterna)
  await project.subscribe('ada', 'bob', 'eve', 'joe')
  campaign = await project.stuck()
})

const unthrottle = () => project.call('PUT', `/campaigns/${campaign.id}/rate`, { ratePerMinute: null })

test('a pause keeps everything else from leaving until the campaign is resumed', async () => {
  const { id } = campaign
  const paused = await project.act(id, 'pause')
  expect(paused.body).toMatchObject({ status: 'SENDING', pausedReason: 'person', pausedAt: expect.any(String) })
  expect((await project.act(id, 'pause')).status).toBe(200)
  await unthrottle()
  // Another campaign of the same project is sent meanwhile, so this one had its turn.
  await project.sent({ name: 'Other' })
  expect(await project.states(id)).toEqual({ sent: 1, queued: 3 })
  expect((await project.act(id, 'resume')).body).toMatchObject({ pausedReason: null, pausedAt: null })
  expect(await project.reached(id, 'SENT')).toMatchObject({ totalRecipients: 4, sentCount: 4 })
  expect(await project.audit(id)).toEqual([
    ['started', 'key'],
    ['paused', 'key'],
    ['rate_changed', 'key'],
    ['resumed', 'key'],
    ['sent', 'system'],
  ])
})

test('a cancelled campaign sends nothing more, and every recipient has an outcome', async () => {
  const { id } = campaign
  expect((await project.act(id, 'cancel')).body.status).toBe('CANCELLED')
  await eventually(async () =>
    expect(await project.get(id)).toMatchObject({ sentCount: 1, skippedCount: 3, failedCount: 0, totalRecipients: 4 }),
  )
  expect(await project.states(id)).toEqual({ sent: 1, cancelled: 3 })
  const { data } = (await project.call('GET', `/campaigns/${id}/recipients?outcome=skipped`)).body
  expect(data.map(({ status, reason }: Record<string, string>) => [status, reason])).toEqual([1, 2, 3].map(() => ['SKIPPED', 'cancelled']))
  expect(outcome(await project.act(id, 'resume'))).toEqual([409, 'CONFLICT'])
})

test('a recipient that unsubscribes meanwhile is skipped', async () => {
  const { data } = (await project.call('GET', `/campaigns/${campaign.id}/recipients?outcome=open`)).body
  await project.call('PATCH', `/contacts/${data[0].contactId}`, { subscribed: false })
  await unthrottle()
  expect(await project.reached(campaign.id, 'SENT')).toMatchObject({ totalRecipients: 4, sentCount: 3, skippedCount: 1 })
  const skipped = (await project.call('GET', `/campaigns/${campaign.id}/recipients?reason=unsubscribed`)).body
  expect([skipped.total, skipped.data.map(({ id }: { id: string }) => id)]).toEqual([1, [data[0].id]])
})

describe('a pause is derived', () => {
  test('while the project is disabled', async () => {
    await sql`update projects set disabled = true where id = ${project.id}`.execute(sterna.db)
    expect(await project.get(campaign.id)).toMatchObject({ status: 'SENDING', pausedReason: 'project_disabled', pausedAt: null })
    await sql`update projects set disabled = false where id = ${project.id}`.execute(sterna.db)
    expect((await project.get(campaign.id)).pausedReason).toBe(null)
  })

  test('while the domain is not verified', async () => {
    await sql`update domains set status = 'pending', verified_by = null, verified_at = null where id = ${project.domainId}`.execute(
      sterna.db,
    )
    expect((await project.get(campaign.id)).pausedReason).toBe('domain')
  })

  test('while the provider refuses the domain', async () => {
    await sql`
      insert into sending_pauses (project_id, domain, reason, until) values (${project.id}, ${project.domain}, '550 no', now() + interval '1 hour')
    `.execute(sterna.db)
    expect((await project.get(campaign.id)).pausedReason).toBe('domain_paused')
  })
})

test('a campaign says that receivers throttle, as long as some of its emails wait for them', async () => {
  const defer = (code: string) =>
    sql`
      update emails set state = 'deferred', error_code = ${code}, due_at = now() + interval '1 hour'
      where project_id = ${project.id} and campaign_id = ${campaign.id} and state in ('queued', 'deferred')
    `.execute(sterna.db)
  await defer('transient')
  expect((await project.get(campaign.id)).slowedBy).toEqual([])
  await defer('throttled')
  expect((await project.get(campaign.id)).slowedBy).toEqual(['recipient_domains'])
  const { data } = (await project.call('GET', `/campaigns/${campaign.id}/recipients?outcome=open&reason=throttled`)).body
  expect(data).toHaveLength(3)
  await project.act(campaign.id, 'cancel')
  expect((await project.get(campaign.id)).slowedBy).toEqual([])
})

/** What happened in this minute, as if many emails had been sent. */
const happened = (sent: number, bounced: number, complained: number) =>
  sql`
    insert into campaign_minutes (project_id, campaign_id, minute, sent, failed, bounced, complained)
    values (${project.id}, ${campaign.id}, now() - interval '3 minutes', ${sent}, 0, ${bounced}, ${complained})
  `.execute(sterna.db)

test('a spike of bounces pauses the campaign until a person resumes it', async () => {
  await happened(1_000, 150, 0)
  await eventually(async () => expect((await project.get(campaign.id)).pausedReason).toBe('spike'))
  expect(await project.audit(campaign.id)).toEqual([
    ['started', 'key'],
    ['paused', 'system'],
  ])
  await project.act(campaign.id, 'resume')
  // The same bounces are no reason for another pause.
  await pauseSpikes(sterna.db)
  expect((await project.get(campaign.id)).pausedReason).toBe(null)
  await unthrottle()
  expect(await project.reached(campaign.id, 'SENT')).toMatchObject({ sentCount: 4 })
})
