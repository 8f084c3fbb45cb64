import { sql } from 'kysely'
import { type Db, maybeOne, type Pool, type Tx, transact } from '../../db/index.ts'
import type { SealedColumn } from '../../db/sealed-columns.ts'
import { fail } from '../../lib/errors/errors.ts'
import { newId } from '../../lib/id.ts'
import type { Dns } from '../../lib/network/dns.ts'
import type { Log } from '../../lib/process/log.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { assertDomainFree } from '../../projects/suspension-marks.ts'
import { type DomainKey, newDkimSelector } from './dkim-key.ts'
import { DOMAIN_COLUMNS, type DomainRow } from './domain.ts'
import { isProven } from './proof.ts'
import { removeDomain } from './remove.ts'
import { explainToCaller, type Identities, type Identity } from './ses-identity.ts'

type Deps = { db: Pool; secrets: Secrets; dns: Dns; log: Log; identities: Identities | undefined; newKey: () => Promise<DomainKey> }
type NewDomain = { projectId: string; name: string }
type DomainClaim = { id: string; projectId: string; isVerified: boolean; isGone: boolean; inSandbox: boolean }

/** Read from the installation's row: a node without transport settings would take every installation for a sandbox. */
const inSandbox = sql<boolean>`exists (select from instance where transport = 'sandbox')`

const MAX_DOMAINS = 500
const LOOKUP_MS = 4_000

/**
 * A name belongs to one project at a time: the first one that adds it. Only verification makes that final. Until then another project
 * can take the name over by publishing a record that only it knows, so that a project cannot block the name of another owner.
 */
export async function addDomain(deps: Deps, wanted: NewDomain): Promise<DomainRow> {
  await assertDomainFree(deps.db, wanted.name)
  const claim = await findClaim(deps.db, wanted.name)
  if (claim && !(await mayReplace(deps, wanted, claim))) return refuse(deps, wanted, claim)
  const key = await deps.newKey()
  const row = await transact(deps.db, async (tx) => {
    // Checked again: looking up DNS takes seconds.
    await assertDomainFree(tx, wanted.name)
    if (claim) await deleteClaim(tx, claim)
    return insertDomain(tx, deps, { ...wanted, ...key })
  })
  if (!row) return refuse(deps, wanted, await findClaim(deps.db, wanted.name))
  if (claim) deps.log.info({ domain: wanted.name, projectId: wanted.projectId, from: claim.projectId }, 'domain taken over')
  return deps.identities ? registerIdentity(deps, deps.identities, row, wanted) : row
}

/** Registers the domain with Amazon SES, which names the records to publish. If that fails, the domain is removed again. */
async function registerIdentity(deps: Deps, identities: Identities, row: DomainRow, wanted: NewDomain): Promise<DomainRow> {
  try {
    const identity = await identities.ensure(row).catch(explainToCaller)
    if (await isPublished(deps.dns, row, identity)) await requireChallenge(deps, wanted)
    return await transact(deps.db, (tx) => saveIdentity(tx, row, identity))
  } catch (err) {
    await transact(deps.db, (tx) => removeDomain(tx, { ...row, usesSes: true }))
    throw err
  }
}

/**
 * Amazon SES may assign the same record names to a domain that it has known before. Records published before this project was shown
 * them prove who owned the domain then, not who adds it now.
 */
async function isPublished(dns: Dns, { domain }: DomainRow, { tokens }: Identity) {
  const found = await Promise.all(tokens.map((token) => dns.lookUp('CNAME', `${token}._domainkey.${domain}`, LOOKUP_MS)))
  return found.some(({ is }) => is === 'found')
}

async function requireChallenge({ dns, secrets }: Deps, wanted: NewDomain) {
  if (await hasPublishedChallenge({ dns, secrets }, wanted)) return
  fail('FORBIDDEN', {
    message: 'The records of this domain were already published for an earlier owner.',
    details: { record: challengeFor(secrets, wanted) },
    suggestion: 'If the domain is yours, publish the record in details and add the domain again.',
  })
}

async function saveIdentity(tx: Tx, { projectId, id }: DomainRow, { tokens, zone }: Identity) {
  const row = await maybeOne<DomainRow>(tx)`
    update domains set ses_tokens = ${JSON.stringify(tokens)}::jsonb, ses_zone = ${zone}
    where project_id = ${projectId} and id = ${id}
    returning ${DOMAIN_COLUMNS}
  `
  return row ?? fail('CONFLICT', { message: 'The domain was removed while it was being added.' })
}

/** Across all projects: a name is unique in the installation. */
const findClaim = (db: Db, name: string) =>
  maybeOne<DomainClaim>(db)`
    select d.id, d.project_id as "projectId", coalesce(${isProven}, false) as "isVerified", p.deleted_at is not null as "isGone",
      ${inSandbox} as "inSandbox"
    from domains d join projects p on p.id = d.project_id
    where d.domain = ${name}
  `

async function mayReplace({ dns, secrets }: Deps, wanted: NewDomain, claim: DomainClaim) {
  if (claim.projectId === wanted.projectId) return false
  if (claim.isGone) return true
  if (claim.isVerified || claim.inSandbox) return false
  return hasPublishedChallenge({ dns, secrets }, wanted)
}

async function hasPublishedChallenge({ dns, secrets }: Pick<Deps, 'dns' | 'secrets'>, wanted: NewDomain) {
  const published = await dns.lookUp('TXT', challengeNameOf(wanted), LOOKUP_MS)
  const valid = challengesOf(secrets, wanted)
  return published.is === 'found' && published.records.some((record) => valid.includes(record))
}

const challengeNameOf = ({ name }: NewDomain) => `_sterna-challenge.${name}`

/** Values of the record that proves that this project controls the domain, by all keys. Only this installation can compute them. */
const challengesOf = (secrets: Secrets, { projectId, name }: NewDomain) =>
  secrets.hashes('domain-claim', `${projectId} ${name}`).map((hash) => `sterna-domain=${hash.toString('base64url')}`)

const challengeFor = (secrets: Secrets, wanted: NewDomain) => ({
  type: 'TXT',
  name: challengeNameOf(wanted),
  value: challengesOf(secrets, wanted)[0]!,
})

function refuse({ secrets }: Deps, wanted: NewDomain, claim: DomainClaim | undefined): never {
  if (!claim) return fail('CONFLICT', { message: `A project has at most ${MAX_DOMAINS} domains.` })
  if (claim.projectId === wanted.projectId) return fail('CONFLICT', { message: 'This project has this domain already.' })
  const message = 'Another project has this domain.'
  if (claim.isVerified) return fail('FORBIDDEN', { message })
  return fail('FORBIDDEN', {
    message,
    details: { record: challengeFor(secrets, wanted) },
    suggestion:
      'That project has not proven that it owns the domain. If you own it, publish the record in details and add the domain again.',
  })
}

/** Checked again in the transaction: a claim that was verified meanwhile stays. */
const deleteClaim = (tx: Tx, { projectId, id }: DomainClaim) =>
  sql`
    delete from domains where project_id = ${projectId} and id = ${id}
      and (${isProven} is not true or exists (select from projects where id = ${projectId} and deleted_at is not null))
  `.execute(tx)

export const SEALED_DKIM_KEY: SealedColumn = {
  table: 'domains',
  key: ['project_id', 'id'],
  purpose: 'dkim-key',
  column: 'dkim_private_key_sealed',
}

const insertDomain = (tx: Tx, { secrets }: Deps, { projectId, name, publicKey, privateKey }: NewDomain & DomainKey) =>
  maybeOne<DomainRow>(tx)`
    insert into domains (project_id, id, domain, status, verified_by, verified_at, dkim_selector, dkim_public_key, dkim_private_key_sealed)
    select ${projectId}, ${newId()}, ${name},
      case when ${inSandbox} then 'verified' else 'pending' end,
      case when ${inSandbox} then 'sandbox' end,
      case when ${inSandbox} then now() end,
      ${newDkimSelector()}, ${publicKey}, ${secrets.seal('dkim-key', privateKey)}
    where (select count(*) from domains where project_id = ${projectId}) < ${MAX_DOMAINS}
    on conflict (domain) do nothing
    returning ${DOMAIN_COLUMNS}
  `
