import { sql } from 'kysely'
import { z } from 'zod'
import { countRows, type Db, many, maybeOne, type Tx } from '../../db/index.ts'
import { isDuplicate } from '../../db/sql-state.ts'
import { fail, invalid } from '../../lib/errors.ts'
import { DOMAIN_COLUMNS, type DomainRow } from '../domain.ts'
import { DomainName } from '../name.ts'

export const LinkHostBody = z.object({
  linkHost: DomainName.nullable()
    .optional()
    .describe('A host below the domain, such as `links.example.com`, for the links of its emails. Null removes it.'),
})

/** Whether it is verified is known after a check, which is due at once. The same host again changes nothing. */
export async function setLinkHost(tx: Tx, { projectId, id, domain }: DomainRow, host: string | null, publicUrl: string) {
  if (host !== null && !host.endsWith(`.${domain}`)) invalid('linkHost', `Must be a name below ${domain}.`, 'invalid_string')
  if (host !== null && host === hostOf(publicUrl)) invalid('linkHost', 'This is the host of the installation.', 'invalid_string')
  return maybeOne<DomainRow>(tx)`
    update domains set
      link_host = ${host},
      link_host_status = case when link_host is not distinct from ${host} then link_host_status when ${host !== null} then 'pending' end,
      link_host_pointed = link_host_pointed and link_host is not distinct from ${host},
      link_host_finding = case when link_host is not distinct from ${host} then link_host_finding end,
      link_host_error = case when link_host is not distinct from ${host} then link_host_error end,
      link_host_failures = case when link_host is not distinct from ${host} then link_host_failures else 0 end,
      link_host_since = case when link_host is not distinct from ${host} then link_host_since else now() end,
      link_host_next_check_at = case when ${host !== null} then now() end,
      updated_at = now()
    where project_id = ${projectId} and id = ${id}
    returning ${DOMAIN_COLUMNS}
  `.catch((err) => (isDuplicate(err) ? fail('CONFLICT', { message: 'Another domain has this link host.' }) : Promise.reject(err)))
}

const hostOf = (publicUrl: string) => new URL(publicUrl).hostname.toLowerCase()

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
    where link_host is not null and link_host_pointed and link_host_status <> 'verified' order by link_host limit ${limit}
  `,
})

/** The verified link host of a domain, in SQL; null without one. */
export const VERIFIED_LINK_HOST = sql.raw(`case when d.link_host_status = 'verified' then d.link_host end`)
