import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { isPermanent } from '../../db/errors/sql-state.ts'
import { many, maybeOne, type Pool, type Tx, transact } from '../../db/index.ts'
import { recordset } from '../../db/rows.ts'
import { backoffMs } from '../../lib/concurrency/backoff.ts'
import type { Dns } from '../../lib/network/dns.ts'
import type { Log } from '../../lib/process/log.ts'
import { DAY, SECOND } from '../../lib/text/units.ts'
import { type NewFact, recordFacts } from '../../webhooks/facts.ts'
import { DOMAIN_COLUMNS, type DomainRow, findDomain } from './domain.ts'
import { findRecords, judgeRecord, type RecordFinding, recordsFor, type SendingMethod, type Verdict } from './records.ts'
import { ForeignIdentity, type Identities, type Identity } from './ses-identity.ts'

/** With `identities`, Amazon SES decides whether a domain is proven. */
type Deps = { db: Pool; dns: Dns; method: SendingMethod; log: Log; identities: Identities | undefined }
/** The domain as it was when the check started, and the number under which the result is stored. */
export type StartedCheck = DomainRow & { checkNumber: number; failures: number; pendingSeconds: number }
type CheckResult = { verdict: Verdict; findings: RecordFinding[]; identity?: Identity | undefined }
type NextState = { status: DomainRow['status']; failures: number; lastError: string | null }

export const STARTED_CHECK_COLUMNS = sql`
  ${DOMAIN_COLUMNS}, check_number as "checkNumber", failures, extract(epoch from now() - pending_since)::float8 as "pendingSeconds"`

/** A little less than 5 minutes, because scheduled jobs run once a minute. */
export const CHECK_INTERVAL_SECONDS = 270
/** Consecutive failed checks after which a verified domain is pending again, and a verified link host failed. */
export const MAX_FAILURES = 3
export const FAILED_AFTER_SECONDS = (30 * DAY) / SECOND
/** Longer than any check takes: a check that is still running by then died with its process. */
const CHECK_TIMEOUT_SECONDS = 30
/** Poll interval while another process runs the check; it doubles up to the maximum. */
const POLL_MS = { first: 100, longest: 1_000 }

/**
 * Looks up all records now, or waits for the result of a check that is already running. Undefined when the domain was removed. Requests for
 * the same domain share one promise: with a DNS server that never replies they would otherwise exhaust the pool by polling one row.
 */
export function createCheckNow(deps: Omit<Deps, 'method'>) {
  const running = new Map<string, Promise<DomainRow | undefined>>()
  return (row: DomainRow, method: SendingMethod) => {
    const known = running.get(row.id)
    if (known) return known
    const checking = checkNow({ ...deps, method }, row).finally(() => running.delete(row.id))
    running.set(row.id, checking)
    return checking
  }
}

async function checkNow(deps: Deps, row: DomainRow): Promise<DomainRow | undefined> {
  for (;;) {
    const started = await transact(deps.db, (tx) => startCheck(tx, row))
    if (started) return (await finishChecks(deps, [started], { all: true }))[0] ?? findDomain(deps.db, row.projectId, row.id)
    const ended = await awaitCheck(deps.db, row)
    if (ended !== 'given up') return ended
  }
}

/** Started, not finished, and not timed out. */
export const isCheckRunning = sql`(
  check_began_at > coalesce(last_checked_at, '-infinity') and check_began_at > now() - make_interval(secs => ${CHECK_TIMEOUT_SECONDS}))`

const startCheck = (tx: Tx, { projectId, id }: DomainRow) =>
  maybeOne<StartedCheck>(tx)`
    update domains set check_number = check_number + 1, check_began_at = now()
    where project_id = ${projectId} and id = ${id} and ${isCheckRunning} is not true
    returning ${STARTED_CHECK_COLUMNS}
  `

/** Waits for the check of another process. Holds no connection between two polls. */
async function awaitCheck(db: Pool, { projectId, id }: DomainRow): Promise<DomainRow | undefined | 'given up'> {
  for (let polls = 0; ; polls++) {
    const row = await maybeOne<DomainRow & { running: boolean | null; hasEnded: boolean }>(db)`
      select ${DOMAIN_COLUMNS}, ${isCheckRunning} as "running", last_checked_at >= check_began_at as "hasEnded"
      from domains where project_id = ${projectId} and id = ${id}
    `
    if (!row || row.hasEnded) return row
    if (!row.running) return 'given up'
    await sleep(backoffMs(polls, POLL_MS))
  }
}

/**
 * Looks up the records of each domain and stores the results in one statement. Holds no transaction while it waits for replies. Returns
 * the domains that still exist and for which no later check has started. `all`: also look up records that are not required.
 */
export async function finishChecks(deps: Deps, started: StartedCheck[], { all }: { all: boolean }): Promise<DomainRow[]> {
  const { log } = deps
  const ended = await Promise.all(
    started.map(async (each) => {
      const found = deps.identities ? await askSes(deps, deps.identities, each, all) : await askDns(deps, each, all)
      return { ...each, ...found, next: nextState(each, found.verdict) }
    }),
  )
  const rows = await settleAll(deps, ended)
  const before = new Map(started.map(({ id, status }) => [id, status]))
  for (const { id, domain, projectId, status } of rows) {
    if (status !== before.get(id)) log.info({ domain, projectId, from: before.get(id), to: status }, 'domain status changed')
  }
  return rows
}

/** For a verified domain only the required records are looked up, unless `all` is set; the other findings are kept. */
async function askDns({ dns, method }: Deps, started: StartedCheck, all: boolean): Promise<CheckResult> {
  const records = recordsFor(started, method)
  const isSettled = started.status === 'verified' && started.verifiedBy !== 'sandbox'
  const asked = all || !isSettled ? records : records.filter(({ required }) => required)
  const fresh = await findRecords(dns, asked)
  const isFresh = ({ type, name }: RecordFinding) => fresh.some((each) => each.type === type && each.name === name)
  return { findings: [...fresh, ...started.findings.filter((finding) => !isFresh(finding))], verdict: judgeRecord(asked, fresh) }
}

/** Amazon SES decides whether the domain may send. The DNS findings are shown with it and explain what is missing. */
async function askSes(deps: Deps, identities: Identities, started: StartedCheck, all: boolean): Promise<CheckResult> {
  try {
    const identity = await identities.ensure(started)
    if (!all && started.verifiedBy === 'ses' && identity.state === 'verified')
      return { identity, findings: started.findings, verdict: { is: 'proven' } }
    const { findings, verdict } = await askDns(deps, { ...started, sesTokens: identity.tokens, sesZone: identity.zone }, true)
    return { identity, findings, verdict: verdictOf(identity, verdict) }
  } catch (err) {
    if (err instanceof ForeignIdentity) return { findings: [], verdict: { is: 'missing', why: err.message } }
    deps.log.warn({ err, domain: started.domain }, 'could not read a domain identity from Amazon SES')
    return { findings: started.findings, verdict: { is: 'unknown', why: 'Amazon SES could not be reached.' } }
  }
}

function verdictOf({ state }: Identity, published: Verdict): Verdict {
  if (state === 'verified') return { is: 'proven' }
  if (state === 'unknown') return { is: 'unknown', why: 'Amazon SES could not look up the records.' }
  if (published.is !== 'proven') return { is: 'missing', why: published.why }
  if (state === 'pending') return { is: 'missing', why: 'The records are published; Amazon SES has not seen them yet.' }
  return { is: 'missing', why: 'Amazon SES has given up looking for the records. Remove the domain and add it again.' }
}

/** A lookup without a reply changes nothing. A verified domain loses its status after three failures in a row. Every domain is checked again. */
export function nextState(now: Pick<StartedCheck, 'status' | 'verifiedBy' | 'failures' | 'pendingSeconds'>, verdict: Verdict): NextState {
  if (verdict.is === 'proven') return { status: 'verified', failures: 0, lastError: null }
  const isProven = now.status === 'verified' && now.verifiedBy !== 'sandbox'
  const status = isProven ? 'verified' : now.status === 'failed' ? 'failed' : 'pending'
  const lastError = verdict.why
  if (verdict.is === 'unknown') return { status, failures: now.failures, lastError }
  const failures = now.failures + 1
  if (isProven) return { status: failures < MAX_FAILURES ? 'verified' : 'pending', failures, lastError }
  return { status: now.pendingSeconds > FAILED_AFTER_SECONDS ? 'failed' : status, failures, lastError }
}

type FinishedCheck = StartedCheck & CheckResult & { next: NextState }

/** A batch holds domains of many projects. If the database rejects the data of one, they are stored one by one. */
async function settleAll({ db, log, identities }: Deps, ended: FinishedCheck[]): Promise<DomainRow[]> {
  const store = (some: FinishedCheck[]) =>
    transact(db, async (tx) => {
      const rows = await settle(tx, some, identities ? 'ses' : 'dns')
      await recordFacts(tx, factsOf(some, rows))
      return rows
    })
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

/** A domain that is verified, or is so no longer, or has failed. */
function factsOf(before: StartedCheck[], rows: DomainRow[]): NewFact[] {
  const statuses = new Map(before.map(({ id, status }) => [id, status]))
  return rows.flatMap(({ projectId, id, domain, status, lastError }): NewFact[] => {
    const was = statuses.get(id)
    if (was === status) return []
    if (status === 'verified') return [{ projectId, type: 'domain.verified', data: { domainId: id, domain } }]
    const failed = was === 'verified' || status === 'failed'
    return failed ? [{ projectId, type: 'domain.failed', data: { domainId: id, domain, reason: lastError } }] : []
  })
}

function settle(tx: Tx, ended: FinishedCheck[], proof: 'dns' | 'ses') {
  const given = ended.map(({ projectId, id, checkNumber, findings, next, identity }) => {
    return { ...identity, projectId, id, checkNumber, findings, ...next }
  })
  return many<DomainRow>(tx)`
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
        next_check_at = now() + make_interval(secs => ${CHECK_INTERVAL_SECONDS}),
        updated_at = case when d.status <> c.status then now() else d.updated_at end
      from ${recordset('domains', given, ['projectId', 'id', 'checkNumber', 'status', 'failures', 'lastError', 'findings'], {
        tokens: 'jsonb',
        zone: 'text',
      })} as c
      where d.project_id = c."projectId" and d.id = c.id and d.check_number = c."checkNumber"
      returning d.*
    )
    select ${DOMAIN_COLUMNS} from checked
  `
}
