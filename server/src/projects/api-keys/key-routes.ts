import { z } from 'zod'
import { maybeOne, transact } from '../../db/index.ts'
import type { Schema } from '../../db/schema.ts'
import type { Deps } from '../../http/core/types.ts'
import { Id } from '../../http/core/validate.ts'
import { NO_CONTENT, type PersonRoutes } from '../../http/resource.ts'
import { fail, notFound } from '../../lib/errors/errors.ts'
import { isId } from '../../lib/id.ts'
import {
  ApiKey,
  ApiKeyWithSecret,
  changeApiKey,
  createApiKey,
  deleteApiKey,
  findApiKey,
  listApiKeys,
  prefixOf,
  rotateApiKey,
} from './api-key.ts'
import { KeyBody, KeyChanges, RotateBody, readKeySettings, readNewKey } from './key-settings.ts'
import { openKeys, readKeyUsage } from './keys.ts'

const KeyParam = z.object({ id: Id('project'), keyId: z.string() })
/** Ids of the keys of the pair. */
const PAIR = ['public', 'secret']

export function keyRoutes({ db, secrets, byAdmin }: Pick<Deps, 'db' | 'secrets'> & { byAdmin: PersonRoutes }) {
  byAdmin.get(
    '/projects/:id/keys',
    { summary: 'List API keys', description: 'The pair of the project, then the others, newest first.', response: z.array(ApiKey) },
    async (req) => [...(await listPair(req.project)), ...(await listApiKeys(db, req.project.id))],
  )

  byAdmin.post(
    '/projects/:id/keys',
    {
      summary: 'Create an API key',
      description: 'The key itself is only in this answer. At most 50 of a project.',
      body: KeyBody,
      audit: 'key.create',
      auditsValues: true,
      response: { 201: ApiKeyWithSecret },
      refusals: ['CONFLICT'],
    },
    async (req, reply) => {
      const given = { ...readNewKey(req.body), createdBy: req.person.userId }
      return reply.status(201).send(await transact(req.db, (tx) => createApiKey(tx, secrets, req.project.id, given)))
    },
  )

  byAdmin.patch(
    '/projects/:id/keys/:keyId',
    {
      summary: 'Update an API key',
      description: 'Holds for the next request, on every node.',
      params: KeyParam,
      body: KeyChanges,
      audit: 'key.update',
      auditsValues: true,
      response: ApiKey,
      refusals: ['CONFLICT'],
    },
    async (req) => {
      const { id, kind } = await find(req.project.id, req.params.keyId)
      const changes = readKeySettings(kind, req.body)
      return (await transact(req.db, (tx) => changeApiKey(tx, { projectId: req.project.id, id }, changes))) ?? keyNotFound(id)
    },
  )

  byAdmin.delete(
    '/projects/:id/keys/:keyId',
    {
      summary: 'Revoke an API key',
      description: 'When this responds, the key no longer works on any node.',
      params: KeyParam,
      audit: 'key.revoke',
      response: NO_CONTENT,
      refusals: ['CONFLICT'],
    },
    async (req, reply) => {
      const found = await find(req.project.id, req.params.keyId)
      req.record = found
      const deleted = await transact(req.db, (tx) => deleteApiKey(tx, { projectId: req.project.id, id: found.id }))
      return deleted ? reply.status(204).send(null) : keyNotFound(found.id)
    },
  )

  byAdmin.post(
    '/projects/:id/keys/:keyId/rotate',
    {
      summary: 'Rotate an API key',
      description: 'Keeps its id and its settings. The key before works for `graceHours` more, earlier ones stop at once.',
      params: KeyParam,
      body: RotateBody,
      bodyOptional: true,
      audit: 'key.rotate',
      auditsValues: true,
      response: ApiKeyWithSecret,
      refusals: ['CONFLICT'],
    },
    async (req) => {
      const { id } = await find(req.project.id, req.params.keyId)
      const { graceHours = 0 } = req.body
      return (await transact(req.db, (tx) => rotateApiKey(tx, secrets, { projectId: req.project.id, id }, graceHours))) ?? keyNotFound(id)
    },
  )

  async function find(projectId: string, id: string) {
    if (PAIR.includes(id)) fail('CONFLICT', { message: 'The key pair of the project is changed by regenerate-keys.' })
    return (isId(id) && (await findApiKey(db, { projectId, id }))) || keyNotFound(id)
  }

  /** Always full; the keys themselves are in the answers about the project. */
  async function listPair(project: { id: string; keyVersion: number }): Promise<z.output<typeof ApiKey>[]> {
    const row = await maybeOne<Schema['projects']>(db)`select * from projects where id = ${project.id} and deleted_at is null`
    const keys = openKeys(secrets, row ?? notFound('project', project.id))
    const usage = await readKeyUsage(db, project)
    return (['public', 'secret'] as const).map((kind) => ({
      id: kind,
      name: kind === 'public' ? 'Public key' : 'Secret key',
      kind,
      isPair: true,
      scopes: kind === 'secret' ? ['full'] : null,
      senderDomains: null,
      networks: null,
      expiresAt: null,
      lastUsedAt: usage[kind].lastUsedAt,
      createdBy: null,
      createdAt: row!.created_at,
      prefix: prefixOf(keys[kind]),
      graceUntil: null,
    }))
  }
}

const keyNotFound = (id: string): never => notFound('key', id)
