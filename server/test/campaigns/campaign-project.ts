import { sql } from 'kysely'
import { expect } from 'vitest'
import { many } from '../../src/db/index.ts'
import { outcome } from '../support/answers.ts'
import type { Answer, useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newProject, type SendingProject } from '../support/project.ts'

type Sterna = Omit<ReturnType<typeof useSharedApp>, 'url'>
// biome-ignore lint/suspicious/noExplicitAny: tests read fields of every type; a wrong field fails the test
export type Campaign = Record<string, any>

export type CampaignProject = Awaited<ReturnType<typeof newCampaignProject>>

/** Tests wait for the end of many campaigns. */
export const QUICKLY = { campaigns: { startMs: 50, countMs: 100 } }

/** A project with a verified domain and requests about its campaigns. */
export const newCampaignProject = (sterna: Sterna, owner?: Awaited<ReturnType<Sterna['newPerson']>>) =>
  newProject(sterna, owner).sending().with(campaigns)

/** Requests about campaigns. */
function campaigns({ id: projectId, domain, call, contacts }: SendingProject, { db }: Pick<Sterna, 'db'>) {
  const body = (more: object = {}) => ({
    name: 'News',
    subject: 'Hello',
    body: '<p>Hello {{ name ?? "you" }}</p>',
    from: `news@${domain}`,
    audienceType: 'ALL',
    ...more,
  })
  const create = async (more: object = {}): Promise<Campaign> => {
    const answer = await call('POST', '/campaigns', body(more))
    expect([answer.status, answer.body.error]).toEqual([200, undefined])
    return answer.body.data
  }
  const get = async (id: string): Promise<Campaign> => (await call('GET', `/campaigns/${id}`)).body
  const act = (id: string, action: string, given?: object): Promise<Answer> => call('POST', `/campaigns/${id}/${action}`, given)
  /** Waits until the campaign has that status. */
  const reached = (id: string, status: string): Promise<Campaign> =>
    eventually(async () => {
      const campaign = await get(id)
      expect(campaign.status).toBe(status)
      return campaign
    })

  return {
    body,
    create,
    get,
    act,
    reached,
    /** Subscribed contacts `<name>@example.com`. */
    subscribe: (...names: string[]) => Promise.all(names.map((name) => contacts.create(`${name}@example.com`, { subscribed: true }))),
    put: (id: string, more: object = {}, headers: Record<string, string> = {}) => call('PUT', `/campaigns/${id}`, body(more), headers),
    /** Creates, sends and waits for the end. */
    sent: async (more: object = {}): Promise<Campaign> => {
      const { id } = await create(more)
      expect(outcome(await act(id, 'send'))).toEqual([200])
      return reached(id, 'SENT')
    },
    /** Creates and starts a campaign of which only the first email leaves; waits until its recipients are written. */
    stuck: async (more: object = {}): Promise<Campaign> => {
      const { id } = await create({ ratePerMinute: 1, ...more })
      expect(outcome(await act(id, 'send'))).toEqual([200])
      return eventually(async () => {
        const campaign = await get(id)
        expect([campaign.totalRecipients > 0, campaign.sentCount]).toEqual([true, 1])
        return campaign
      })
    },
    /** Local parts of the addresses, ordered. */
    recipients: async (id: string, query = ''): Promise<string[]> =>
      (await call('GET', `/campaigns/${id}/recipients?limit=100${query}`)).body.data
        .map(({ email }: { email: string }) => email.split('@')[0])
        .sort(),
    /** `[action, by]`, oldest first. */
    audit: async (id: string): Promise<[string, string][]> =>
      (await call('GET', `/campaigns/${id}/audit?limit=100`)).body.data
        .map(({ action, by }: { action: string; by: string }) => [action, by])
        .reverse(),
    /** Numbers of emails in each state. */
    states: async (id: string): Promise<Record<string, number>> =>
      Object.fromEntries(
        (
          await many(
            db,
            sql<{ state: string; count: number }>`
              select state, count(*)::int as count from emails where project_id = ${projectId} and campaign_id = ${id} group by state
            `,
          )
        ).map(({ state, count }) => [state, count]),
      ),
  }
}
