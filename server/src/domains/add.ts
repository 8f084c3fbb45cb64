import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { type Db, maybeOne, type Pool, type Tx, transact } from '../db/index.ts'
import type { Dns } from '../lib/dns.ts'
import { fail } from '../lib/errors.ts'
import { newId } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import type { Secrets } from '../lib/secrets.ts'
import { newDkimKey } from './dkim-key.ts'
import { DOMAIN_COLUMNS, type DomainRow } from './domain.ts'
import { isProven } from './proof.ts'
import { removeDomain } from './remove.ts'
import { explainToCaller, type Identities, type Identity } from './ses-identity.ts'

type Deps = { db: Pool; secrets: Secrets; dns: Dns; log: Log; identities: Identities | undefined }
type NewDomain = { projectId: string; name: string }
type DomainClaim = { id: string; projectId: string; isVerified: boolean; isGone: boolean; inSandbox: boolean }

/** Only the installation knows: a node without transport settings would take any installation for a sandbox. */
const inSandbox = sql<boolean>`exists (select from instance where transport = 'sandbox')`

const MAX_DOMAINS = 500
const LOOKUP_MS = 4_000

/**
 * One project holds a name. Whoever adds it first holds it, but only verification makes that final: until then another
 * project takes it over by publishing a record that only it can know of. So nobody keeps a name from its owner.
 */
export async function addDomain(port: Deps, wanted: NewDomain): Promise<DomainRow> {
  const holder = await findHolder(port.db, wanted.name)
  if (holder && !(await mayReplace(port, wanted, holder))) return refuse(port, wanted, holder)
  const key = await newDkimKey()
  const row = await transact(port.db, async (tx) => {
    if (holder) await dropClaim(tx, holder)
    return insertDomain(tx, port, { ...wanted, ...key })
  })
  if (!row) return refuse(port, wanted, await findHolder(port.db, wanted.name))
  if (holder) port.log.info({ domain: wanted.name, projectId: wanted.projectId, from: holder.projectId }, 'domain taken over')
  return port.identities ? introduce(port, port.identities, row, wanted) : row
}

/** To Amazon SES, which says what to publish. Should that fail, it is as if the domain had never been added. */
async function introduce(port: Deps, identities: Identities, row: DomainRow, wanted: NewDomain): Promise<DomainRow> {
  try {
    const identity = await identities.ensure(row).catch(explainToCaller)
    if (await isPublished(port.dns, row, identity)) await requireClaim(port, wanted)
    return await transact(port.db, (tx) => keepIdentity(tx, row, identity))
  } catch (err) {
    await transact(port.db, (tx) => removeDomain(tx, { ...row, usesSes: true }))
    throw err
  }
}

/**
 * Amazon may give a domain that it has known before the same names again. Published before anybody here was told of them, they prove
 * who had the domain then, not who adds it now.
 */
async function isPublished(dns: Dns, { domain }: DomainRow, { tokens }: Identity) {
  const found = await Promise.all(tokens.map((token) => dns.lookUp('CNAME', `${token}._domainkey.${domain}`, LOOKUP_MS)))
  return found.some(({ is }) => is === 'found')
}

async function requireClaim({ dns, secrets }: Deps, wanted: NewDomain) {
  if (await hasPublishedClaim({ dns, secrets }, wanted)) return
  fail('FORBIDDEN', {
    message: 'The records of this domain were published for somebody before.',
    details: { record: claimFor(secrets, wanted) },
    suggestion: 'If the domain is yours, publish the record in details and add the domain again.',
  })
}

async function keepIdentity(tx: Tx, { projectId, id }: DomainRow, { tokens, zone }: Identity) {
  const row = await maybeOne(
    tx,
    sql<DomainRow>`
      update domains set ses_tokens = ${JSON.stringify(tokens)}::jsonb, ses_zone = ${zone}
      where project_id = ${projectId} and id = ${id}
      returning ${DOMAIN_COLUMNS}
    `,
  )
  return row ?? fail('CONFLICT', { message: 'The domain was removed meanwhile.' })
}

/** Over all projects, which is the question. */
const findHolder = (db: Db, name: string) =>
  maybeOne(
    db,
    sql<DomainClaim>`
      select d.id, d.project_id as "projectId", coalesce(${isProven}, false) as "isVerified", p.deleted_at is not null as "isGone",
        ${inSandbox} as "inSandbox"
      from domains d join projects p on p.id = d.project_id
      where d.domain = ${name}
    `,
  )

async function mayReplace({ dns, secrets }: Deps, wanted: NewDomain, holder: DomainClaim) {
  if (holder.projectId === wanted.projectId) return false
  if (holder.isGone) return true
  if (holder.isVerified || holder.inSandbox) return false
  return hasPublishedClaim({ dns, secrets }, wanted)
}

async function hasPublishedClaim({ dns, secrets }: Pick<Deps, 'dns' | 'secrets'>, wanted: NewDomain) {
  const claim = claimFor(secrets, wanted)
  const published = await dns.lookUp('TXT', claim.name, LOOKUP_MS)
  return published.is === 'found' && published.records.includes(claim.value)
}

/** Proves to us, and to nobody else, that this project's people control the domain. */
const claimFor = (secrets: Secrets, { projectId, name }: NewDomain) => ({
  type: 'TXT',
  name: `_sterna-challenge.${name}`,
  value: `sterna-domain=${secrets.hash('domain-claim', `${projectId} ${name}`).toString('base64url')}`,
})

function refuse({ secrets }: Deps, wanted: NewDomain, holder: DomainClaim | undefined): never {
  if (!holder) return fail('CONFLICT', { message: `A project has at most ${MAX_DOMAINS} domains.` })
  if (holder.projectId === wanted.projectId) return fail('CONFLICT', { message: 'This project has this domain already.' })
  const message = 'Another project has this domain.'
  if (holder.isVerified) return fail('FORBIDDEN', { message })
  return fail('FORBIDDEN', {
    message,
    details: { record: claimFor(secrets, wanted) },
    suggestion: 'It has not proven that it owns the domain. If you do, publish the record in details and add the domain again.',
  })
}

/** Checked again here: it may have been verified while we looked, and then it stays. */
const dropClaim = (tx: Tx, { projectId, id }: DomainClaim) =>
  sql`
    delete from domains where project_id = ${projectId} and id = ${id}
      and (${isProven} is not true or exists (select from projects where id = ${projectId} and deleted_at is not null))
  `.execute(tx)

const insertDomain = (
  tx: Tx,
  { secrets }: Deps,
  { projectId, name, publicKey, privateKey }: NewDomain & Awaited<ReturnType<typeof newDkimKey>>,
) =>
  maybeOne(
    tx,
    sql<DomainRow>`
      insert into domains (project_id, id, domain, status, verified_by, verified_at, dkim_selector, dkim_public_key, dkim_private_key_sealed)
      select ${projectId}, ${newId()}, ${name},
        case when ${inSandbox} then 'verified' else 'pending' end,
        case when ${inSandbox} then 'sandbox' end,
        case when ${inSandbox} then now() end,
        ${`sterna-${randomBytes(4).toString('hex')}`}, ${publicKey}, ${secrets.seal('dkim-key', privateKey)}
      where (select count(*) from domains where project_id = ${projectId}) < ${MAX_DOMAINS}
      on conflict (domain) do nothing
      returning ${DOMAIN_COLUMNS}
    `,
  )
