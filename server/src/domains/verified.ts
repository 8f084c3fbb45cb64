import { sql } from 'kysely'
import { type Db, many, maybeOne, orFail } from '../db/index.ts'
import { given, prepared } from '../db/prepared.ts'
import { AppError } from '../lib/errors/errors.ts'
import { readAddress } from '../lib/text/address.ts'
import { VERIFIED_LINK_HOST } from './link-hosts/link-host.ts'
import { isProven } from './sender-domains/proof.ts'

type Sender = { projectId: string; address: string }
/** `linkHost`: while it is verified. */
export type SenderDomain = { id: string; domain: string; dkimSelector: string; linkHost: string | null }

const domainOf = (address: string) => address.slice(address.lastIndexOf('@') + 1)

/** Fails unless the project may send from the address. */
export async function assertVerified(db: Db, projectId: string, address: string): Promise<void> {
  const sender = { projectId, address }
  if ((await findVerified(db, [sender]))(sender)) return
  throw notVerified(address)
}

/** The refusal of a sender address. */
export function notVerified(address: string) {
  const domain = domainOf(readAddress(address) ?? address).slice(0, 253)
  return new AppError('DOMAIN_NOT_VERIFIED', {
    message: `The domain "${domain}" is not verified for this project.`,
    details: { domain },
    suggestion: 'Add it under domains and publish its records.',
  })
}

/** Fails as a whole unless each project may send from its address. Pairs must be unique. */
export const requireVerified = (senders: Sender[]) => prepared`
  select ${orFail(sql`count(*) = ${senders.length}`)}
  from domains d join unnest(${senders.map(({ projectId }) => projectId)}::uuid[], ${senders.map(({ address }) => domainOf(address))}::text[])
    as s(project, name) on s.project = d.project_id and s.name = d.domain
  where ${isProven}`

/** The project for which the domain is proven. A name belongs to at most one project. */
export const findDomainOwner = (db: Db, domain: string) =>
  maybeOne<{ projectId: string; isDisabled: boolean }>(db)`
    select d.project_id as "projectId", p.disabled as "isDisabled" from domains d join projects p on p.id = d.project_id
    where d.domain = ${domain} and ${isProven} and p.deleted_at is null
  `

/** Returns a lookup of the verified domain of each sender, read in one query. Exact matches only: a subdomain is another domain. */
export async function findVerified(db: Db, senders: Sender[]): Promise<(sender: Sender) => SenderDomain | undefined> {
  const nameOf = (address: string) => domainOf(readAddress(address) ?? '')
  const named = senders.map(({ projectId, address }) => ({ projectId, name: nameOf(address) }))
  const distinct = [...new Map(named.map((sender) => [`${sender.projectId} ${sender.name}`, sender])).values()]
  const values = { projects: distinct.map(({ projectId }) => projectId), names: distinct.map(({ name }) => name) }
  const verified = await many(db, VERIFIED.with(values))
  const found = new Map(verified.map(({ projectId, ...domain }) => [`${projectId} ${domain.domain}`, domain]))
  return ({ projectId, address }) => found.get(`${projectId} ${nameOf(address)}`)
}

const asked = given<{ projects: string[]; names: string[] }>()

const VERIFIED = prepared<SenderDomain & { projectId: string }, typeof asked>`
    select d.project_id as "projectId", d.id, d.domain, d.dkim_selector as "dkimSelector", ${VERIFIED_LINK_HOST} as "linkHost"
    from domains d join unnest(${asked.projects}::uuid[], ${asked.names}::text[])
      as s(project, name) on s.project = d.project_id and s.name = d.domain
    where ${isProven}`
