import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { many, maybeOne, type Pool, type Tx, transact } from '../db/index.ts'
import { isPermanent } from '../db/sql-state.ts'
import type { Dns } from '../lib/dns.ts'
import type { Log } from '../lib/log.ts'
import { DAY, SECOND } from '../lib/units.ts'
import { DOMAIN_COLUMNS, type DomainRow, findDomain } from './domain.ts'
import { findRecords, judgeRecord, type RecordFinding, recordsFor, type SendingMethod, type Verdict } from './records.ts'
import { ForeignIdentity, type Identities, type Identity } from './ses-identity.ts'

/** `identities` where Amazon SES sends: then it is asked whether a domain is proven. */
type Deps = { db: Pool; dns: Dns; site: SendingMethod; log: Log; identities: Identities | undefined }
/** A check that began: what the domain was then, and the number under which the result is settled. */
export type StartedCheck = DomainRow & { checkNumber: number; failures: number; pendingSeconds: number }
type Found = { verdict: Verdict; findings: RecordFinding[]; identity?: Identity | undefined }
type Next = { status: DomainRow['status']; failures: number; lastError: string | null }

export const BEGUN_COLUMNS = sql`
  ${DOMAIN_COLUMNS}, check_number as "checkNumber", failures, extract(epoch from now() - pending_since)::float8 as "pendingSeconds"`

/** A little less than 5 minutes, because the clock of the jobs ticks once a minute. */
const CHECK_AGAIN_SECONDS = 270
/** Checks in a row that must miss a record before a verified domain is none any more. */
const PATIENCE = 3
const FAILED_AFTER = (30 * DAY) / SECOND
/** Longer than any check takes. One that has not ended by then died with its process. */
const CHECK_ENDS_SECONDS = 30
/** Between two looks at a check of another process; the wait doubles up to the maximum. */
const LOOK_AFTER_MS = 100
const MAX_LOOK_AFTER_MS = 1_000

/**
 * Asks DNS for all records. While another check is under way, its result is the answer. Undefined when the domain is gone. Requests for
 * the same domain share one promise: a DNS server that never answers would otherwise let them fill the pool with looks at one row.
 */
export function createCheckNow(port: Omit<Deps, 'site'>) {
  const underWay = new Map<string, Promise<DomainRow | undefined>>()
  return (row: DomainRow, site: SendingMethod) => {
    const known = underWay.get(row.id)
    if (known) return known
    const checking = checkNow({ ...port, site }, row).finally(() => underWay.delete(row.id))
    underWay.set(row.id, checking)
    return checking
  }
}

async function checkNow(port: Deps, row: DomainRow): Promise<DomainRow | undefined> {
  for (;;) {
    const begun = await transact(port.db, (tx) => begin(tx, row))
    if (begun) return (await finishCheck(port, [begun], { all: true }))[0] ?? findDomain(port.db, row.projectId, row.id)
    const ended = await awaitCheck(port.db, row)
    if (ended !== 'given up') return ended
  }
}

/** Began, has not ended, and can still end. */
export const isUnderWay = sql`(
  check_began_at > coalesce(last_checked_at, '-infinity') and check_began_at > now() - make_interval(secs => ${CHECK_ENDS_SECONDS}))`

const begin = (tx: Tx, { projectId, id }: DomainRow) =>
  maybeOne(
    tx,
    sql<StartedCheck>`
      update domains set check_number = check_number + 1, check_began_at = now()
      where project_id = ${projectId} and id = ${id} and ${isUnderWay} is not true
      returning ${BEGUN_COLUMNS}
    `,
  )

/** Waits for the check that another process has under way, without a connection between two looks. */
async function awaitCheck(db: Pool, { projectId, id }: DomainRow): Promise<DomainRow | undefined | 'given up'> {
  for (let wait = LOOK_AFTER_MS; ; wait = Math.min(2 * wait, MAX_LOOK_AFTER_MS)) {
    const row = await maybeOne(
      db,
      sql<DomainRow & { underWay: boolean | null; hasEnded: boolean }>`
        select ${DOMAIN_COLUMNS}, ${isUnderWay} as "underWay", last_checked_at >= check_began_at as "hasEnded"
        from domains where project_id = ${projectId} and id = ${id}
      `,
    )
    if (!row || row.hasEnded) return row
    if (!row.underWay) return 'given up'
    await sleep(wait)
  }
}

/**
 * Ends checks that began: asks for each, and stores the results in one statement. Holds no transaction while it waits for answers.
 * Returns the domains that are still there and for which no later check began. `all`: also look for records that are not required.
 */
export async function finishCheck(port: Deps, begun: StartedCheck[], { all }: { all: boolean }): Promise<DomainRow[]> {
  const { log } = port
  const ended = await Promise.all(
    begun.map(async (each) => {
      const found = port.identities ? await askSes(port, port.identities, each, all) : await askDns(port, each, all)
      return { ...each, ...found, next: nextState(each, found.verdict) }
    }),
  )
  const rows = await settleAll(port, ended)
  const before = new Map(begun.map(({ id, status }) => [id, status]))
  for (const { id, domain, projectId, status } of rows) {
    if (status !== before.get(id)) log.info({ domain, projectId, from: before.get(id), to: status }, 'domain changed its state')
  }
  return rows
}

/** Of a verified domain only what keeps it verified, unless somebody wants to see all; the rest is as it was found last. */
async function askDns({ dns, site }: Deps, begun: StartedCheck, all: boolean): Promise<Found> {
  const records = recordsFor(begun, site)
  const isSettled = begun.status === 'verified' && begun.verifiedBy !== 'sandbox'
  const asked = all || !isSettled ? records : records.filter(({ required }) => required)
  const fresh = await findRecords(dns, asked)
  const isFresh = ({ type, name }: RecordFinding) => fresh.some((each) => each.type === type && each.name === name)
  return { findings: [...fresh, ...begun.findings.filter((finding) => !isFresh(finding))], verdict: judgeRecord(asked, fresh) }
}

/** What DNS says is shown beside it, and says what is missing. Whether the domain may send, only Amazon can say. */
async function askSes(port: Deps, identities: Identities, begun: StartedCheck, all: boolean): Promise<Found> {
  try {
    const identity = await identities.ensure(begun)
    if (!all && begun.verifiedBy === 'ses' && identity.state === 'verified')
      return { identity, findings: begun.findings, verdict: { is: 'proven' } }
    const { findings, verdict } = await askDns(port, { ...begun, sesTokens: identity.tokens, sesZone: identity.zone }, true)
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

/** No answer changes nothing. One miss does not take a verification away, three in a row do. Whatever it is, it is checked again. */
export function nextState(now: Pick<StartedCheck, 'status' | 'verifiedBy' | 'failures' | 'pendingSeconds'>, verdict: Verdict): Next {
  if (verdict.is === 'proven') return { status: 'verified', failures: 0, lastError: null }
  const isProven = now.status === 'verified' && now.verifiedBy !== 'sandbox'
  const status = isProven ? 'verified' : now.status === 'failed' ? 'failed' : 'pending'
  const lastError = verdict.why
  if (verdict.is === 'unknown') return { status, failures: now.failures, lastError }
  const failures = now.failures + 1
  if (isProven) return { status: failures < PATIENCE ? 'verified' : 'pending', failures, lastError }
  return { status: now.pendingSeconds > FAILED_AFTER ? 'failed' : status, failures, lastError }
}

type Ended = StartedCheck & Found & { next: Next }

/** A batch holds domains of many projects. If the database refuses the data of one, the others are settled one by one. */
async function settleAll({ db, log, identities }: Deps, ended: Ended[]): Promise<DomainRow[]> {
  const store = (some: Ended[]) => transact(db, (tx) => settle(tx, some, identities ? 'ses' : 'dns'))
  try {
    return await store(ended)
  } catch (err) {
    if (ended.length === 1 || !isPermanent(err)) throw err
  }
  const rows: DomainRow[] = []
  for (const each of ended) {
    try {
      rows.push(...(await store([each])))
    } catch (err) {
      if (!isPermanent(err)) throw err
      log.error({ err, domain: each.domain, projectId: each.projectId }, 'could not store the result of a domain check')
    }
  }
  return rows
}

function settle(tx: Tx, ended: Ended[], proof: 'dns' | 'ses') {
  const given = ended.map(({ projectId, id, checkNumber, next, findings, identity }) => ({
    projectId,
    id,
    checkNumber,
    ...next,
    findings,
    tokens: identity?.tokens,
    zone: identity?.zone,
  }))
  return many(
    tx,
    sql<DomainRow>`
      with checked as (
        update domains d set
          status = c.status,
          verified_by = case when c.status = 'verified' then ${proof} end,
          verified_at = case when c.status = 'verified' then case when d.verified_by = ${proof} then d.verified_at else now() end end,
          ses_tokens = coalesce(c.tokens, d.ses_tokens),
          ses_zone = coalesce(c.zone, d.ses_zone),
          pending_since = case when d.status = 'verified' and c.status <> 'verified' then now() else d.pending_since end,
          failures = c.failures,
          last_error = c."lastError",
          findings = c.findings,
          last_checked_at = now(),
          next_check_at = now() + make_interval(secs => ${CHECK_AGAIN_SECONDS}),
          updated_at = case when d.status <> c.status then now() else d.updated_at end
        from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as c(
          "projectId" uuid, id uuid, "checkNumber" int, status text, failures int, "lastError" text, findings jsonb, tokens jsonb, zone text)
        where d.project_id = c."projectId" and d.id = c.id and d.check_number = c."checkNumber"
        returning d.*
      )
      select ${DOMAIN_COLUMNS} from checked
    `,
  )
}
