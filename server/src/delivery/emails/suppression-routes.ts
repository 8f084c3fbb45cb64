import { z } from 'zod'
import { transact } from '../../db/index.ts'
import { DomainName } from '../../domains/name.ts'
import { cursorList } from '../../http/paging.ts'
import type { App, Deps } from '../../http/server.ts'
import { Address } from '../../http/validate.ts'
import { notFound } from '../../lib/errors.ts'
import { parseSuppressed, removeSuppression, suppressManually, wholeDomain } from '../feedback/suppress.ts'
import { listSuppressions, Suppression, SuppressionsQuery, showSuppression } from './suppressions.ts'

const NewSuppression = z
  .object({ address: Address.optional(), domain: DomainName.optional() })
  .refine(({ address, domain }) => (address === undefined) !== (domain === undefined), {
    path: ['address'],
    message: 'Set either address or domain.',
    params: { code: 'required' },
  })
  .meta({ oneOf: [{ required: ['address'] }, { required: ['domain'] }] })

export function suppressionRoutes(app: App, { db, secrets }: Deps) {
  const tags = ['Suppressions']
  const config = { caller: 'project' as const }

  app.get(
    '/suppressions',
    {
      config,
      schema: {
        tags,
        summary: 'List suppressions, newest first',
        querystring: SuppressionsQuery,
        response: { 200: cursorList(Suppression) },
      },
    },
    (req) => listSuppressions(db, secrets, req.project.id, req.query),
  )

  app.post(
    '/suppressions',
    {
      config,
      schema: {
        tags,
        summary: 'Suppress an address or domain',
        description: '201 when it is new. 200 when it was suppressed before; it keeps its reason.',
        body: NewSuppression,
        response: { 200: Suppression, 201: Suppression },
      },
    },
    async (req, reply) => {
      const { address, domain } = req.body
      const suppressed = await transact(db, (tx) => suppressManually(tx, req.project.id, address ?? wholeDomain(domain!)))
      return reply.status(suppressed.isNew ? 201 : 200).send(showSuppression(suppressed))
    },
  )

  app.delete(
    '/suppressions/:address',
    {
      config,
      schema: {
        tags,
        summary: 'Remove a suppression',
        description: 'Of an address or a domain. A contact that the suppression unsubscribed stays unsubscribed.',
        params: z.object({ address: z.string() }),
        response: { 204: z.null().describe('No content') },
      },
    },
    async (req, reply) => {
      const address = parseSuppressed(req.params.address)
      const removed = address !== null && (await transact(db, (tx) => removeSuppression(tx, req.project.id, address)))
      return removed ? reply.status(204).send(null) : notFound('suppression', req.params.address)
    },
  )
}
