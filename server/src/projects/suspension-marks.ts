import { sql } from 'kysely'
import { countAffected, type Db, many, maybeOne, scalars, type Tx } from '../db/index.ts'
import { dropRows } from '../db/wipe-rows.ts'
import { fail } from '../lib/errors/errors.ts'

/** Time for which domains and owner of a suspended project stay marked. */
const MARKED_DAYS = 30
const UNTIL = sql`now() + make_interval(days => ${MARKED_DAYS})`
const addressOf = (email: ReturnType<typeof sql.ref>) => sql`sha256(convert_to(${email}, 'UTF8'))`

/**
 * Marks the owner of a project that is being disabled, and the domains from which its emails went: otherwise a new project with the same
 * domain would lift the suspension.
 */
export async function markSuspension(tx: Tx, projectId: string, reason: string) {
  await sql`
    insert into suspended_owners (suspended, owner, address, reason, until)
    select m.project_id, u.id, ${addressOf(sql.ref('u.email'))}, ${reason}, ${UNTIL}
    from memberships m join users u on u.id = m.user_id where m.project_id = ${projectId} and m.role = 'OWNER'
    limit 1
    on conflict (suspended) do update set reason = excluded.reason, at = now(), until = excluded.until
  `.execute(tx)
  await markDomains(tx, projectId)
}

/** Emails looked at: a project may have millions. */
const MAX_LATEST = 20_000
const MAX_BAD = 10_000

/**
 * The domains of the latest emails that were sent, and of the latest that bounced or caused a complaint, also if a domain was removed since.
 * Without such emails, all verified domains of the project.
 */
const markDomains = (tx: Tx, projectId: string) => {
  const bad = (column: 'bounced_at' | 'complained_at') => sql`(
    select content_id from emails where project_id = ${projectId} and ${sql.ref(column)} is not null order by id desc limit ${MAX_BAD})`
  return sql`
    with latest as materialized (
      select content_id, source_type, test, sent_at from emails where project_id = ${projectId} order by id desc limit ${MAX_LATEST}
    ), counted as (
      select content_id from latest where sent_at is not null and source_type <> 'INBOUND' and not test
      union ${bad('bounced_at')} union ${bad('complained_at')}
    ), used as materialized (
      select distinct split_part(c.from_address, '@', 2) as domain
      from contents c where c.project_id = ${projectId} and c.id in (select content_id from counted)
    )
    insert into suspended_domains (domain, suspended, until)
    select domain, ${projectId}, ${UNTIL} from (
      select domain from used
      union select d.domain from domains d where d.project_id = ${projectId} and d.status = 'verified' and not exists (select from used)
    ) as marked
    on conflict (domain, suspended) do update set until = excluded.until
  `.execute(tx)
}

/** The name and the domains above it: a subdomain of a marked domain is marked. */
const withParents = (name: string) => name.split('.').map((_, index, labels) => labels.slice(index).join('.'))

/** Fails if emails of a suspended project went from this domain, or from one above it. */
export async function assertDomainFree(db: Db, name: string) {
  const mark = await maybeOne<{ domain: string; until: Date }>(db)`
    select domain, until from suspended_domains where domain = any(${withParents(name)}::text[]) and until > now()
    order by until desc limit 1
  `
  if (!mark) return
  const { domain, until } = mark
  fail('DOMAIN_SUSPENDED', {
    message: `Emails of a project that was suspended went from ${domain}. It can be added again from ${until.toISOString().slice(0, 10)} on.`,
    details: { domain, until: until.toISOString() },
    suggestion: 'Get the suspended project going again, or ask the operator of this installation.',
  })
}

/** The mark of a person that ends last. */
export const findOwnerMark = (db: Db, userId: string) =>
  maybeOne<{ reason: string; until: Date }>(db)`
    select o.reason, o.until from suspended_owners o
    where (o.owner = ${userId} or o.address = (select ${addressOf(sql.ref('email'))} from users where id = ${userId})) and o.until > now()
    order by o.until desc limit 1
  `

/** The suspended projects whose marks are on the owner of this project. */
export const listMarksOfOwner = (db: Db, projectId: string) =>
  scalars<string>(db)`
    select o.suspended from memberships m join users u on u.id = m.user_id
    join suspended_owners o on o.owner = u.id or o.address = ${addressOf(sql.ref('u.email'))}
    where m.project_id = ${projectId} and m.role = 'OWNER' limit 1000
  `

/** Projects that are disabled because their owner has one of these suspended projects. */
export const listHeirs = (db: Db, suspended: string[]) =>
  many<{ id: string; owner: string }>(db)`
    select distinct s.project_id as id, u.id as owner
    from suspensions s join memberships m on m.project_id = s.project_id and m.role = 'OWNER' join users u on u.id = m.user_id
    join suspended_owners o on o.owner = u.id or o.address = ${addressOf(sql.ref('u.email'))}
    where s.until is null and s.ends_at is not null and s.inherited and o.suspended = any(${suspended}::uuid[])
    order by 1 limit 1000
  `

/** Removes the marks of suspended projects. Returns the number of marks. */
export async function removeMarks(tx: Tx, suspended: string[]): Promise<number> {
  if (!suspended.length) return 0
  return (
    (await countAffected(tx)`delete from suspended_domains where suspended = any(${suspended}::uuid[])`) +
    (await countAffected(tx)`delete from suspended_owners where suspended = any(${suspended}::uuid[])`)
  )
}

export type SuspensionMark = {
  suspended: string
  name: string | null
  owner: string | null
  reason: string
  until: Date
  domains: string[]
}

/** For operators; the latest first. Project and owner are null once they are deleted. */
export const listMarks = (db: Db, limit: number) =>
  many<SuspensionMark>(db)`
    select o.suspended, p.name, u.email as owner, o.reason, o.until,
      array(select d.domain from suspended_domains d where d.suspended = o.suspended order by d.domain limit 20) as domains
    from suspended_owners o left join projects p on p.id = o.suspended and p.deleted_at is null left join users u on u.id = o.owner
    where o.until > now() order by o.at desc limit ${limit}
  `

export const dropOldMarks = async (tx: Tx, limit: number) =>
  (await dropRows(tx, 'suspended_domains', sql`until < now()`, limit)) + (await dropRows(tx, 'suspended_owners', sql`until < now()`, limit))
