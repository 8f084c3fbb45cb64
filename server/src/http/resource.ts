import { z } from 'zod'
import { notFound } from '../lib/errors.ts'
import { isId } from '../lib/id.ts'
import { etagOf } from './if-match.ts'
import { IF_MATCH } from './openapi/openapi.ts'

export type ResourceKey = { projectId: string; id: string }
/** A request of a project below `/things/:id`. */
export type ResourceRequest = { project: { id: string }; params: { id: string } }

/** The response of a deletion. */
export const NoContent = z.null().describe('No content')

/** Config of a route that edits a resource: it may be refused for a newer revision. */
export const EDITING = { takesHeaders: [IF_MATCH], refusals: ['CONFLICT' as const] }

/** What the routes of `/things/:id` share: the parameter, and the resource of the project or 404. `name` is that of a 404. */
export function resource<Row>(name: string, read: (key: ResourceKey) => Promise<Row | undefined>) {
  /** The result of work on the resource. It has no result when there is no such resource. */
  async function on<T>(
    { project, params: { id } }: ResourceRequest,
    work: (key: ResourceKey) => Promise<T | undefined | false>,
  ): Promise<T> {
    return (isId(id) && (await work({ projectId: project.id, id }))) || notFound(name, id)
  }
  return { params: z.object({ id: z.string() }), on, find: (req: ResourceRequest): Promise<Row> => on(req, read) }
}

/** Sends a resource with its revision. */
export function tagged<T extends { updatedAt: string }>(reply: { header: (name: string, value: string) => unknown }, shown: T): T {
  reply.header('etag', etagOf(shown))
  return shown
}
