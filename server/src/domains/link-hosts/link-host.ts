import { sql } from 'kysely'
import { z } from 'zod'
import { isDuplicate } from '../../db/errors/sql-state.ts'
import { countRows, type Db, many, maybeOne, type Tx } from '../../db/index.ts'
import { type Config, ownNamesOf } from '../../lib/config.ts'
import { fail, invalid } from '../../lib/errors/errors.ts'
import { recordFacts } from '../../webhooks/facts.ts'
import { DOMAIN_COLUMNS, type DomainRow } from '../sender-domains/domain.ts'
import { DomainName } from '../sender-domains/name.ts'
import { isProven } from '../sender-domains/proof.ts'

export const LinkHostBody = z.object({
  linkHost: DomainName.nullable()
    .optional()
    .describe('A host below the domain, such as `links.example.com`, for the links of its emails. Null removes it.'),
})

export type ReservedNames = Pick<Config, 'publicUrl' | 'installationNames' | 'bounceDomain'>

/** Refuses names that can never be a link host of the domain. */
export function assertLinkHostName(host: string, domain: string, config: ReservedNames) {
  if (!host.endsWith(`.${domain}`)) invalid('linkHost', `Must be a name below ${domain}.`, 'invalid_string')
  if ([...ownNamesOf(config), config.bounceDomain].includes(host))
    invalid('linkHost', 'This is a name of the installation.', 'invalid_string')
}

/**
 * Only for a verified domain: the proof of its DNS is the proof of the name. Whether the host leads here is known after a check, which is due
 * at once. The same host again changes nothing. Returns the domain, and the claims that have given way.
 */
export async function setLinkHost(tx: Tx, domain: DomainRow, host: string | null) {
  await lockClaims(tx, domain, host)
  const released = host === null ? [] : await releaseClaims(tx, domain, host)
  const row = await writeLinkHost(tx, domain, host).catch((err) =>
    isDuplicate(err) ? fail('CONFLICT', { message: 'Another domain has this link host.' }) : Promise.reject(err),
  )
  return row && { row, released }
}

/** Consistent lock order: avoids deadlocks between two domains that take hosts from each other. */
const lockClaims = (tx: Tx, { projectId, id }: DomainRow, host: string | null) =>
  sql`
    select from domains where (project_id = ${projectId} and id = ${id}) or link_host = ${host} order by project_id, id for update
  `.execute(tx)

type Claim = { projectId: string; domainId: string; domain: string; reason: string }

/**
 * The longer one of two domains above the same host is closer to it, and its owner decides about the name. A claim without any proof gives
 * way to each verified domain.
 */
async function releaseClaims(tx: Tx, { projectId, id, domain }: DomainRow, host: string) {
  const released = await many<Claim>(tx)`
    update domains set
      link_host = null, link_host_status = 'failed', link_host_error = ${`The verified domain ${domain} uses ${host} now.`},
      link_host_verified = null, link_host_pointed = false, link_host_finding = null, link_host_failures = 0,
      link_host_since = now(), link_host_next_check_at = null, updated_at = now()
    where link_host = ${host} and (project_id, id) <> (${projectId}, ${id})
      and (length(domain) < ${domain.length} or (${isProven} is not true and link_host_verified is distinct from link_host))
    returning project_id as "projectId", id as "domainId", domain, link_host_error as reason
  `
  const failed = ({ projectId: of, ...data }: Claim) => ({
    projectId: of,
    type: 'domain.failed' as const,
    data: { ...data, linkHost: host },
  })
  await recordFacts(tx, released.map(failed))
  return released
}

async function writeLinkHost(tx: Tx, { projectId, id }: DomainRow, host: string | null) {
  const isSame = sql`link_host is not distinct from ${host}`
  const row = await maybeOne<DomainRow & { isAllowed: boolean }>(tx)`
    update domains set
      link_host = ${host},
      link_host_status = case when ${host === null} then null when ${isSame} then link_host_status else 'pending' end,
      link_host_verified = case when ${isSame} then link_host_verified end,
      link_host_pointed = link_host_pointed and ${isSame},
      link_host_finding = case when ${isSame} then link_host_finding end,
      link_host_error = case when ${host !== null} and ${isSame} then link_host_error end,
      link_host_failures = case when ${isSame} then link_host_failures else 0 end,
      link_host_since = case when ${isSame} then link_host_since else now() end,
      link_host_next_check_at = case when ${host !== null} then now() end,
      updated_at = now()
    where project_id = ${projectId} and id = ${id}
    returning ${DOMAIN_COLUMNS}, (${host === null} or ${isProven} is true) as "isAllowed"
  `
  if (row && !row.isAllowed) refuseUnprovenDomain(row.domain)
  return row
}

export const refuseUnprovenDomain = (domain: string) =>
  fail('CONFLICT', {
    message: `${domain} is not verified, so it can have no link host yet.`,
    suggestion: 'Publish its records first. Once the domain is verified, set the link host.',
  })

/** The base of links on a host: the scheme and port of the installation. */
export function urlOnHost(publicUrl: string, host: string) {
  const { protocol, port } = new URL(publicUrl)
  return `${protocol}//${host}${port && `:${port}`}`
}

/** Path that proves that a host leads to this installation, and the proof: only an installation with our key can compute it. */
export const PROOF_PATH = '/.well-known/sterna-link-host'

/** For the doctor: hosts that point here and are not verified, at most `limit`, and the number of verified ones up to a bound. */
export const readLinkHosts = async (db: Db, limit: number) => ({
  verified: await countRows(db, sql`select from domains where link_host_status = 'verified' limit 10000`),
  failing: await many<{ host: string; error: string | null }>(db)`
    select link_host as host, link_host_error as error from domains
    where link_host is not null and link_host_pointed and link_host_status <> 'verified' and status = 'verified'
    order by link_host limit ${limit}
  `,
})

/** The verified link host of a domain, in SQL; null without one. */
export const VERIFIED_LINK_HOST = sql.raw(`case when d.link_host_status = 'verified' then d.link_host end`)

/** Whether the host may get a certificate: it is the link host of a verified domain now, and its CNAME was right at the last check. */
export const mayHaveCertificate = async (db: Db, host: string) =>
  (await maybeOne(db)`select 1 from domains where link_host = ${host} and link_host_pointed and ${isProven}`) !== undefined
