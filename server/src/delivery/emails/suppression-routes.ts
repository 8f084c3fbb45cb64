import { z } from 'zod'
import { transact } from '../../db/index.ts'
import { DomainName } from '../../domains/sender-domains/name.ts'
import { SENDS_NOTHING } from '../../http/auth/declaration.ts'
import { cursorList } from '../../http/core/paging.ts'
import type { App, Deps } from '../../http/core/types.ts'
import { Address } from '../../http/core/validate.ts'
import { NO_CONTENT, routesOf } from '../../http/resource.ts'
import { notFound } from '../../lib/errors/errors.ts'
import { CSV_FILE, csvExportRoutes, queueExportRoute, sendCsv } from '../../projects/csv/csv-export-routes.ts'
import {
  parseEntry,
  parseSuppressed,
  removeSuppression,
  suppressManually,
  suppressManyManually,
  wholeDomain,
} from '../feedback/reports/suppress.ts'
import { queueSuppressionExport, SuppressionExportBody, suppressionExport } from './export-suppressions.ts'
import { checkAddress, SuppressionCheck } from './suppression-check.ts'
import { listSuppressions, Suppression, SuppressionsQuery, showSuppression, streamSuppressions } from './suppressions.ts'

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
  const route = routesOf(app, { tags, caller: 'project', role: 'MEMBER', scope: 'contacts', read: true, ...SENDS_NOTHING })

  route.get(
    '/suppressions',
    { summary: 'List suppressions, newest first', querystring: SuppressionsQuery, response: cursorList(Suppression) },
    (req) => listSuppressions(db, secrets, req.project.id, req.query),
  )

  route.post(
    '/suppressions',
    {
      summary: 'Suppress an address or domain',
      description: '201 when it is new. 200 when it was suppressed before; it keeps its reason.',
      body: NewSuppression,
      audit: 'suppression.create',
      response: { 200: Suppression, 201: Suppression },
    },
    async (req, reply) => {
      const { address, domain } = req.body
      const suppressed = await transact(req.db, (tx) => suppressManually(tx, req.project.id, address ?? wholeDomain(domain!)))
      return reply.status(suppressed.isNew ? 201 : 200).send(showSuppression(suppressed))
    },
  )

  route.post(
    '/suppressions/bulk',
    {
      summary: 'Suppress many addresses and domains',
      description: 'Entries that are neither an address nor a domain are returned; the others are suppressed.',
      body: z.object({ entries: z.array(z.string().max(320)).min(1).max(1_000) }),
      audit: 'suppression.create_many',
      response: z.object({ addedCount: z.int(), existingCount: z.int(), invalid: z.array(z.string()) }),
    },
    async (req) => {
      const entries = req.body.entries.filter((entry) => entry.trim() !== '')
      const parsed = entries.map((entry) => ({ entry, address: parseEntry(entry) }))
      const addresses = [...new Set(parsed.flatMap(({ address }) => address ?? []))]
      const addedCount = await transact(req.db, (tx) => suppressManyManually(tx, req.project.id, addresses))
      const invalid = parsed.filter(({ address }) => address === null).map(({ entry }) => entry)
      return { addedCount, existingCount: addresses.length - addedCount, invalid }
    },
  )

  route.post(
    '/suppressions/check',
    {
      summary: 'Check whether an address would be sent to',
      description: 'Names the rules that keep an email to this address from being sent. Changes nothing.',
      body: z.object({ email: Address }),
      response: SuppressionCheck,
      audit: null,
      onlyReads: true,
    },
    (req) => checkAddress(db, req.project.id, req.body.email),
  )

  route.get(
    '/suppressions/export',
    {
      summary: 'Download all suppressions as CSV',
      description: 'At once, without a job.',
      scope: 'full',
      read: false,
      response: { 200: CSV_FILE },
    },
    async (req, reply) => sendCsv(reply, 'suppressions', streamSuppressions(db, req.project.id)),
  )

  const queued = { body: SuppressionExportBody, audit: 'suppression_export.create', queue: queueSuppressionExport } as const
  queueExportRoute(app, { path: '/suppressions', tags, ...queued })
  csvExportRoutes(app, { db }, { path: '/suppressions', tags, type: suppressionExport.type, noun: 'suppressions', file: 'suppressions' })

  route.delete(
    '/suppressions/:address',
    {
      summary: 'Remove a suppression',
      description: 'By address or domain. A contact that the suppression unsubscribed stays unsubscribed.',
      params: z.object({ address: z.string() }),
      audit: 'suppression.delete',
      response: NO_CONTENT,
    },
    async (req, reply) => {
      const address = parseSuppressed(req.params.address)
      const removed = address !== null && (await transact(req.db, (tx) => removeSuppression(tx, req.project.id, address)))
      return removed ? reply.status(204).send(null) : notFound('suppression', req.params.address)
    },
  )
}
