import { expect } from 'vitest'
import type { Answer, useSharedApp } from '../support/app.ts'
import { type Contact, newProject, type PlainProject } from '../support/project.ts'

type Sterna = ReturnType<typeof useSharedApp>

export type Segment = {
  id: string
  name: string
  description: string | null
  type: string
  condition: unknown
  slug: string
  trackMembership: boolean
  memberCount: number
  countedAt: string | null
  countEstimated: boolean
  projectId: string
  createdAt: string
  updatedAt: string
}
type Filter = { field: string; operator: string; value?: unknown; unit?: string }

export const filter = (field: string, operator: string, value?: unknown, unit?: string): Filter => ({
  field,
  operator,
  ...(value === undefined ? {} : { value }),
  ...(unit ? { unit } : {}),
})

/** A condition of one group: all filters must hold. */
export const all = (...filters: Filter[]) => ({ logic: 'AND', groups: [{ filters }] })

export const isPro = filter('data.plan', 'equals', 'pro')
export const memberOf = ({ id }: { id: string }) => filter(`segment.${id}`, 'memberOfSegment')

/** A project with requests about its segments. */
export const newSegmentProject = (sterna: Sterna) => newProject(sterna).with(segments)

/** Requests about segments. */
function segments({ call, contacts }: PlainProject) {
  async function created(answer: Answer): Promise<Segment> {
    expect([answer.status, answer.body.error]).toEqual([201, undefined])
    return answer.body
  }
  const names = ({ data }: { data: Contact[] }) => data.map(({ email }) => email.split('@')[0])

  return {
    /** A contact `<name>@example.com`. */
    add: (name: string, data?: object) => contacts.create(`${name}@example.com`, { data }),
    create: async (body: object) => created(await call('POST', '/segments', body)),
    dynamic: async (condition: object = all(isPro), more: object = {}) =>
      created(await call('POST', '/segments', { name: 'Dynamic', condition, ...more })),
    fixed: async (more: object = {}) => created(await call('POST', '/segments', { name: 'Static', type: 'STATIC', ...more })),
    get: async (id: string): Promise<Segment> => (await call('GET', `/segments/${id}`)).body,
    patch: (id: string, body: object, headers: Record<string, string> = {}) => call('PATCH', `/segments/${id}`, body, headers),
    remove: (id: string) => call('DELETE', `/segments/${id}`),
    addMembers: (id: string, emails: string[], more: object = {}) => call('POST', `/segments/${id}/members`, { emails, ...more }),
    removeMembers: (id: string, emails: string[]) => call('DELETE', `/segments/${id}/members`, { emails }),
    /** A page of members. */
    page: async (id: string, query = ''): Promise<Answer['body']> => (await call('GET', `/segments/${id}/contacts${query}`)).body,
    /** Local parts of the addresses of the first members, newest first. */
    members: async (id: string) => names((await call('GET', `/segments/${id}/contacts?pageSize=100`)).body),
    names,
  }
}
