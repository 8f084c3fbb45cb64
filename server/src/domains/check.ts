import { sql } from 'kysely'
import { maybeOne, type Pool, type Tx, transact } from '../db/index.ts'
import type { Dns } from '../lib/dns.ts'
import type { Log } from '../lib/log.ts'
import { DOMAIN_COLUMNS, type DomainRow } from './domain.ts'
import { type Finding, findRecords, judge, recordsFor, type Site, type Verdict } from './records.ts'
import { ForeignIdentity, type Identities, type Identity } from './ses-identity.ts'

/** `identities` where Amazon SES sends: then it is asked whether a domain is proven. */
type Port = { db: Pool; dns: Dns; site: Site; log: Log; identities: Identities | undefined }
/** A check that began: what the domain was then, and the number under which the result is settled. */
export type Begun = DomainRow & { checkNumber: number; failures: number; pendingSeconds: number }
type Found = { verdict: Verdict; findings: Finding[]; identity?: Identity | undefined }
type Next = { status: DomainRow['status']; failures: number; lastError: string | null; nextInSeconds: number | null }

export const BEGUN_COLUMNS = sql`
  ${DOMAIN_COLUMNS}, check_number as "checkNumber", failures, extract(epoch from now() - pending_since)::float8 as "pendingSeconds"`

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Checks in a row that must miss a record before a verified domain is none any more. */
const PATIENCE = 3
const GIVE_UP_AFTER = 30 * DAY

/** Asks DNS, unless someone did in the last 5 seconds: then what they find, or found before, is the answer. */
export async function checkNow(port: Port, row: DomainRow): Promise<DomainRow> {
  const begun = await transact(port.db, (tx) => begin(tx, row))
  return (begun && (await finish(port, begun))) ?? row
}

const begin = (tx: Tx, { projectId, id }: DomainRow) =>
  maybeOne(
    tx,
    sql<Begun>`
      update domains set check_number = check_number + 1, check_began_at = now()
      where project_id = ${projectId} and id = ${id} and (check_began_at is null or check_began_at < now() - interval '5 seconds')
      returning ${BEGUN_COLUMNS}
    `,
  )

/** Holds no transaction while it waits for answers. Undefined when the domain is gone or a later check began. */
export async function finish(port: Port, begun: Begun) {
  const { db, log } = port
  const found = port.identities ? await askSes(port, port.identities, begun) : await askDns(port, begun)
  const next = nextState(begun, found.verdict)
  const row = await transact(db, (tx) => settle(tx, begun, next, found, port.identities ? 'ses' : 'dns'))
  if (row && row.status !== begun.status)
    log.info({ domain: row.domain, projectId: row.projectId, from: begun.status, to: row.status }, 'domain changed its state')
  return row
}

async function askDns({ dns, site }: Port, begun: Begun): Promise<Found> {
  const records = recordsFor(begun, site)
  const findings = await findRecords(dns, records)
  return { findings, verdict: judge(records, findings) }
}

/** What DNS says is shown beside it, and says what is missing. Whether the domain may send, only Amazon can say. */
async function askSes(port: Port, identities: Identities, begun: Begun): Promise<Found> {
  try {
    const identity = await identities.ensure(begun)
    const { findings, verdict } = await askDns(port, { ...begun, sesTokens: identity.tokens, sesZone: identity.zone })
    return { identity, findings, verdict: verdictOf(identity, verdict) }
  } catch (err) {
    if (err instanceof ForeignIdentity) return { findings: [], verdict: { is: 'missing', why: err.message } }
    port.log.warn({ err, domain: begun.domain }, 'could not ask Amazon SES about a domain')
    return { findings: begun.findings, verdict: { is: 'unknown', why: 'Amazon SES could not be asked just now.' } }
  }
}

function verdictOf({ state }: Identity, published: Verdict): Verdict {
  if (state === 'verified') return { is: 'proven' }
  if (state === 'unknown') return { is: 'unknown', why: 'Amazon SES could not look the records up just now.' }
  if (published.is !== 'proven') return { is: 'missing', why: published.why }
  const isLate = state === 'given-up'
  return {
    is: 'missing',
    why: isLate
      ? 'Amazon SES has given up looking for the records. Remove the domain and add it again.'
      : 'The records are published; Amazon SES has not seen them yet.',
  }
}

/** No answer changes nothing. One miss does not take a verification away, three in a row do. */
export function nextState(now: Pick<Begun, 'status' | 'verifiedBy' | 'failures' | 'pendingSeconds'>, verdict: Verdict): Next {
  if (verdict.is === 'proven') return { status: 'verified', failures: 0, lastError: null, nextInSeconds: HOUR }
  const isProven = now.status === 'verified' && now.verifiedBy !== 'sandbox'
  const status = isProven ? 'verified' : now.status === 'failed' ? 'failed' : 'pending'
  const lastError = verdict.why
  if (verdict.is === 'unknown') return { status, failures: now.failures, lastError, nextInSeconds: status === 'failed' ? null : 5 * MINUTE }
  const failures = now.failures + 1
  if (isProven) return { status: failures < PATIENCE ? 'verified' : 'pending', failures, lastError, nextInSeconds: 5 * MINUTE }
  if (status === 'failed' || now.pendingSeconds > GIVE_UP_AFTER) return { status: 'failed', failures, lastError, nextInSeconds: null }
  return { status, failures, lastError, nextInSeconds: now.pendingSeconds > DAY ? HOUR : 5 * MINUTE }
}

const settle = (
  tx: Tx,
  { projectId, id, checkNumber }: Begun,
  { status, failures, lastError, nextInSeconds }: Next,
  { findings, identity }: Found,
  proof: 'dns' | 'ses',
) =>
  maybeOne(
    tx,
    sql<DomainRow>`
      update domains set
        status = ${status},
        verified_by = case when ${status} = 'verified' then ${proof} end,
        verified_at = case when ${status} = 'verified' then case when verified_by = ${proof} then verified_at else now() end end,
        ses_tokens = coalesce(${identity ? JSON.stringify(identity.tokens) : null}::jsonb, ses_tokens),
        ses_zone = coalesce(${identity?.zone ?? null}, ses_zone),
        pending_since = case when status = 'verified' and ${status} <> 'verified' then now() else pending_since end,
        failures = ${failures},
        last_error = ${lastError},
        findings = ${JSON.stringify(findings)}::jsonb,
        last_checked_at = now(),
        next_check_at = now() + make_interval(secs => ${nextInSeconds}::float8),
        updated_at = case when status <> ${status} then now() else updated_at end
      where project_id = ${projectId} and id = ${id} and check_number = ${checkNumber}
      returning ${DOMAIN_COLUMNS}
    `,
  )
