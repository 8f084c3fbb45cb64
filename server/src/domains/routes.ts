import { z } from 'zod'
import { transact } from '../db/index.ts'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Id } from '../http/core/validate.ts'
import { createQuotaCounter } from '../http/limits/quotas.ts'
import { NO_CONTENT, routesOf } from '../http/resource.ts'
import { fail, notFound } from '../lib/errors/errors.ts'
import { createDns } from '../lib/network/dns.ts'
import { readTransport } from '../nodes/instance.ts'
import { changeLinkHost } from './link-hosts/change-link-host.ts'
import { checkLinkHostNow } from './link-hosts/check-link-host.ts'
import { LinkHostBody } from './link-hosts/link-host.ts'
import { addDomain } from './sender-domains/add.ts'
import { createCheckNow } from './sender-domains/check.ts'
import { newDkimKey } from './sender-domains/dkim-key.ts'
import { Domain, DomainCheck, findDomain, listDomains, showCheck, showDomain } from './sender-domains/domain.ts'
import { DomainName } from './sender-domains/name.ts'
import { sendingMethodOf } from './sender-domains/records.ts'
import { removeDomain } from './sender-domains/remove.ts'
import { createIdentities } from './sender-domains/ses-identity.ts'

const DomainId = z.object({ id: Id('domain') })

export function domainRoutes(app: App, { db, secrets, log, config }: Deps, newKey = newDkimKey) {
  const route = routesOf(app, { tags: ['Domains'], caller: 'project', scope: 'full', read: true, ...SENDS_NOTHING })
  const dns = createDns({ servers: config.dnsServers })
  const identities = config.ses && createIdentities(config.ses)
  const checkNow = createCheckNow({ db, dns, log, identities })
  const linkHosts = { db, dns, log, secrets, publicUrl: config.publicUrl }
  const attempts = createQuotaCounter(db, secrets)
  /** An API node may have no transport settings; then those of the installation apply. */
  const readTransportKind = async () => config.transportKind ?? (await readTransport(db))
  const readSendingMethod = async () => sendingMethodOf({ ...config, transportKind: await readTransportKind() })

  route.post(
    '/domains',
    {
      summary: 'Add a domain',
      description: 'Returns the DNS records to publish.',
      body: z.object({ domain: DomainName, projectId: z.uuid().optional() }),
      audit: 'domain.create',
      response: { 201: Domain },
      role: 'ADMIN',
      refusals: ['RESOURCE_NOT_FOUND', 'CONFLICT', 'DOMAIN_SUSPENDED'],
    },
    async (req, reply) => {
      const projectId = req.project.id
      if (req.body.projectId && req.body.projectId.toLowerCase() !== projectId) return notFound('project', req.body.projectId)
      // Each request generates a key (about 100 ms of CPU) and may query DNS.
      await attempts.take({ scope: 'add-domain', subject: projectId })
      const method = await readSendingMethod()
      if (method.usesSes && !identities) refuseWithoutSes()
      const row = await addDomain({ db: req.db, secrets, dns, log, identities, newKey }, { projectId, name: req.body.domain })
      log.info({ domain: row.domain, projectId, requestId: req.id }, 'domain added')
      return reply.status(201).send(showDomain(row, method))
    },
  )

  route.get(
    '/domains/project/:projectId',
    {
      summary: 'List domains',
      description: '`current` stands for the project of the key, or of `X-Project-Id`.',
      role: 'MEMBER',
      params: z.object({ projectId: z.string() }),
      response: z.array(Domain),
    },
    async (req) => {
      const { projectId } = req.params
      if (projectId !== 'current' && projectId.toLowerCase() !== req.project.id) return notFound('list of domains', projectId)
      const method = await readSendingMethod()
      return (await listDomains(db, req.project.id)).map((row) => showDomain(row, method))
    },
  )

  route.get(
    '/domains/:id/verify',
    {
      summary: 'Verify a domain',
      description: 'Looks up the DNS records now. If a check of the domain is already running, returns its result.',
      role: 'MEMBER',
      params: DomainId,
      response: DomainCheck,
    },
    async (req) => {
      const row = (await findDomain(db, req.project.id, req.params.id)) ?? notFound('domain', req.params.id)
      const transport = await readTransportKind()
      const method = sendingMethodOf({ ...config, transportKind: transport })
      const canCheck = transport === 'smtp' || (transport === 'ses' && identities)
      const checked = canCheck ? await checkNow(row, method) : row
      const linked = row.linkHost ? await checkLinkHostNow(linkHosts, row) : undefined
      return showCheck(linked ?? checked ?? notFound('domain', req.params.id), method)
    },
  )

  route.patch(
    '/domains/:id',
    {
      summary: 'Set the link host of a domain',
      description:
        'Only for a verified domain. Adds a CNAME to `records`. Once it is found and leads here, links, images and pages of emails from this domain ' +
        'use the host. At most ten changes a day.',
      params: DomainId,
      body: LinkHostBody,
      audit: 'domain.update',
      auditsValues: true,
      response: Domain,
      role: 'ADMIN',
      refusals: ['CONFLICT'],
    },
    async (req) => {
      const row = (await findDomain(db, req.project.id, req.params.id)) ?? notFound('domain', req.params.id)
      const { linkHost } = req.body
      req.changesNothing = linkHost === undefined || (linkHost !== null && linkHost === row.linkHost)
      const changed =
        linkHost === undefined || req.changesNothing ? row : await changeLinkHost({ db: req.db, log, config, attempts }, row, linkHost)
      return showDomain(changed ?? notFound('domain', row.id), await readSendingMethod())
    },
  )

  route.delete(
    '/domains/:id',
    { summary: 'Delete a domain', params: DomainId, audit: 'domain.delete', response: NO_CONTENT, role: 'ADMIN', refusals: ['CONFLICT'] },
    async (req, reply) => {
      const { id } = req.params
      const { usesSes } = await readSendingMethod()
      const removed = await transact(req.db, (tx) => removeDomain(tx, { projectId: req.project.id, id, usesSes }))
      if (!removed) return notFound('domain', id)
      log.info({ domain: removed.domain, projectId: req.project.id, requestId: req.id }, 'domain removed')
      return reply.status(204).send(null)
    },
  )
}

/** Amazon SES generates the keys of a domain, so a node without access to it must not add one. */
const refuseWithoutSes = () =>
  fail('SERVICE_UNAVAILABLE', {
    message: 'This installation sends through Amazon SES, and this node has no access to it.',
    suggestion: 'The operator sets SES_REGION and the AWS credentials on every node.',
    retryAfter: 60,
  })
