import { z } from 'zod'
import { transact } from '../db/index.ts'
import { readTransport } from '../db/instance.ts'
import { createQuotaCounter } from '../http/quotas.ts'
import type { App, Deps } from '../http/server.ts'
import { Id } from '../http/validate.ts'
import { createDns } from '../lib/dns.ts'
import { fail, notFound } from '../lib/errors.ts'
import { addDomain } from './add.ts'
import { createCheckNow } from './check.ts'
import { Checked, Domain, findDomain, listDomains, showCheck, showDomain } from './domain.ts'
import { DomainName } from './name.ts'
import { siteOf } from './records.ts'
import { removeDomain } from './remove.ts'
import { createIdentities } from './ses-identity.ts'

const DomainId = z.object({ id: Id('domain') })

export function domainRoutes(app: App, { db, secrets, log, config }: Deps) {
  const tags = ['Domains']
  const dns = createDns({ servers: config.dnsServers })
  const identities = config.ses && createIdentities(config.ses)
  const checkNow = createCheckNow({ db, dns, log, identities })
  const attempts = createQuotaCounter(db, secrets)
  /** An API node may have no transport settings: then those of the installation count. */
  const readMode = async () => config.transportKind ?? (await readTransport(db))
  const readSite = async () => siteOf({ ...config, transportKind: await readMode() })

  app.post(
    '/domains',
    {
      config: { caller: 'project', role: 'ADMIN', refusals: ['RESOURCE_NOT_FOUND', 'CONFLICT'] },
      schema: {
        tags,
        summary: 'Add a sender domain',
        description: 'Answers with the DNS records to publish.',
        body: z.object({ domain: DomainName, projectId: z.uuid().optional() }),
        response: { 201: Domain },
      },
    },
    async (req, reply) => {
      const projectId = req.project.id
      if (req.body.projectId && req.body.projectId.toLowerCase() !== projectId) return notFound('project', req.body.projectId)
      // Each makes a key (about 100 ms of a core) and may ask DNS.
      await attempts.take({ scope: 'add-domain', subject: projectId })
      const site = await readSite()
      if (site.usesSes && !identities) refuseWithoutSes()
      const row = await addDomain({ db, secrets, dns, log, identities }, { projectId, name: req.body.domain })
      log.info({ domain: row.domain, projectId, requestId: req.id }, 'domain added')
      return reply.status(201).send(showDomain(row, site))
    },
  )

  app.get(
    '/domains/project/:projectId',
    {
      config: { caller: 'project' },
      schema: {
        tags,
        summary: 'List the domains of a project',
        description: '`current` stands for the project of the key, or of `X-Project-Id`.',
        params: z.object({ projectId: z.string() }),
        response: { 200: z.array(Domain) },
      },
    },
    async (req) => {
      const { projectId } = req.params
      if (projectId !== 'current' && projectId.toLowerCase() !== req.project.id) return notFound('list of domains', projectId)
      const site = await readSite()
      return (await listDomains(db, req.project.id)).map((row) => showDomain(row, site))
    },
  )

  app.get(
    '/domains/:id/verify',
    {
      config: { caller: 'project' },
      schema: {
        tags,
        summary: 'Check the records of a domain now',
        description: 'While another check of it is under way, the answer is the result of that one.',
        params: DomainId,
        response: { 200: Checked },
      },
    },
    async (req) => {
      const row = (await findDomain(db, req.project.id, req.params.id)) ?? notFound('domain', req.params.id)
      const mode = await readMode()
      const site = siteOf({ ...config, transportKind: mode })
      const canCheck = mode === 'smtp' || (mode === 'ses' && identities)
      const checked = canCheck ? await checkNow(row, site) : row
      return showCheck(checked ?? notFound('domain', req.params.id), site)
    },
  )

  app.delete(
    '/domains/:id',
    {
      config: { caller: 'project', role: 'ADMIN', refusals: ['CONFLICT'] },
      schema: { tags, summary: 'Remove a domain', params: DomainId, response: { 204: z.null().describe('No content') } },
    },
    async (req, reply) => {
      const { id } = req.params
      const { usesSes } = await readSite()
      const removed = await transact(db, (tx) => removeDomain(tx, { projectId: req.project.id, id, usesSes }))
      if (!removed) return notFound('domain', id)
      log.info({ domain: removed.domain, projectId: req.project.id, requestId: req.id }, 'domain removed')
      return reply.status(204).send(null)
    },
  )
}

/** Amazon SES makes the keys of a domain, so a node that cannot ask it must not add one. */
const refuseWithoutSes = () =>
  fail('SERVICE_UNAVAILABLE', {
    message: 'This installation sends by Amazon SES, and this node has no access to it.',
    suggestion: 'The operator sets SES_REGION and the AWS credentials on every node.',
    retryAfter: 60,
  })
