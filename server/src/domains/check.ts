import { sql } from 'kysely'
import { maybeOne, type Pool, type Tx, transact } from '../db/index.ts'
import type { Dns } from '../lib/dns.ts'
import type { Log } from '../lib/log.ts'
import { DOMAIN_COLUMNS, type DomainRow } from './domain.ts'
import { type Finding, findRecords, judge, recordsFor, type Site, type Verdict } from './records.ts'

type Port = { db: Pool; dns: Dns; site: Site; log: Log }
/** A check that began: what the domain was then, and the number under which the result is settled. */
export type Begun = DomainRow & { checkNumber: number; failures: number; pendingSeconds: number }
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

/** Holds no transaction while it waits for DNS. Undefined when the domain is gone or a later check began. */
export async function finish({ db, dns, site, log }: Port, begun: Begun) {
  const records = recordsFor(begun, site)
  const findings = await findRecords(dns, records)
  const next = nextState(begun, judge(records, findings))
  const row = await transact(db, (tx) => settle(tx, begun, next, findings))
  if (row && row.status !== begun.status)
    log.info({ domain: row.domain, projectId: row.projectId, from: begun.status, to: row.status }, 'domain changed its state')
  return row
}

/** No answer changes nothing. One miss does not take a verification away, three in a row do. */
export function nextState(now: Pick<Begun, 'status' | 'verifiedBy' | 'failures' | 'pendingSeconds'>, verdict: Verdict): Next {
  if (verdict.is === 'proven') return { status: 'verified', failures: 0, lastError: null, nextInSeconds: HOUR }
  const isProven = now.status === 'verified' && now.verifiedBy === 'dns'
  const status = isProven ? 'verified' : now.status === 'failed' ? 'failed' : 'pending'
  const lastError = verdict.why
  if (verdict.is === 'unknown') return { status, failures: now.failures, lastError, nextInSeconds: status === 'failed' ? null : 5 * MINUTE }
  const failures = now.failures + 1
  if (isProven) return { status: failures < PATIENCE ? 'verified' : 'pending', failures, lastError, nextInSeconds: 5 * MINUTE }
  if (status === 'failed' || now.pendingSeconds > GIVE_UP_AFTER) return { status: 'failed', failures, lastError, nextInSeconds: null }
  return { status, failures, lastError, nextInSeconds: now.pendingSeconds > DAY ? HOUR : 5 * MINUTE }
}

const settle = (tx: Tx, { projectId, id, checkNumber }: Begun, { status, failures, lastError, nextInSeconds }: Next, findings: Finding[]) =>
  maybeOne(
    tx,
    sql<DomainRow>`
      update domains set
        status = ${status},
        verified_by = case when ${status} = 'verified' then 'dns' end,
        verified_at = case when ${status} = 'verified' then case when verified_by = 'dns' then verified_at else now() end end,
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
