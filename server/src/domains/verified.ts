import { sql } from 'kysely'
import { type Db, many, maybeOne, orFail, prepared } from '../db/index.ts'
import { readAddress } from '../lib/address.ts'
import { fail } from '../lib/errors.ts'

type SenderDomain = { id: string; domain: string; dkimSelector: string }

const domainOf = (address: string) => address.slice(address.lastIndexOf('@') + 1)

/** Fails unless this project may send as that address. */
export async function assertVerified(db: Db, projectId: string, address: string): Promise<void> {
  if ((await findVerified(db, projectId, [address])).has(address)) return
  const domain = domainOf(readAddress(address) ?? address).slice(0, 253)
  fail('DOMAIN_NOT_VERIFIED', {
    message: `The domain "${domain}" is not verified for this project.`,
    details: { domain },
    suggestion: 'Add it under domains and publish its records.',
  })
}

/** Fails as a whole unless each project may send as its address. Both lists are as long, and no pair comes twice. */
export const requireVerified = (senders: { projectId: string; address: string }[]) => sql`${prepared}
  select ${orFail(sql`count(*) = ${senders.length}`)}
  from domains d join unnest(${senders.map(({ projectId }) => projectId)}::uuid[], ${senders.map(({ address }) => domainOf(address))}::text[]) as s(project, name)
    on s.project = d.project_id and s.name = d.domain
  where d.status = 'verified'`

/** Whose domain this is, proven. At most one project has a name. */
export const findOwner = (db: Db, domain: string) =>
  maybeOne(
    db,
    sql<{ projectId: string }>`
      select d.project_id as "projectId" from domains d join projects p on p.id = d.project_id
      where d.domain = ${domain} and d.status = 'verified' and p.deleted_at is null
    `,
  )

/** For each address that this project may send as, its verified domain. The exact one: a sub-domain is another domain. */
export async function findVerified(db: Db, projectId: string, addresses: string[]): Promise<Map<string, SenderDomain>> {
  const asked = addresses.flatMap((given) => {
    const address = readAddress(given)
    return address ? [{ given, name: domainOf(address) }] : []
  })
  const verified = await many(
    db,
    sql<SenderDomain>`${prepared}
      select id, domain, dkim_selector as "dkimSelector" from domains
      where project_id = ${projectId} and domain = any(${[...new Set(asked.map(({ name }) => name))]}::text[]) and status = 'verified'
    `,
  )
  const byName = new Map(verified.map((row) => [row.domain, row]))
  return new Map(asked.flatMap(({ given, name }) => (byName.has(name) ? [[given, byName.get(name)!] as const] : [])))
}
