import { sql } from 'kysely'
import { many, maybeOne, type Pool, type Tx, transact } from '../../db/index.ts'
import type { Dns } from '../../lib/network/dns.ts'
import { createSafeFetch } from '../../lib/network/safe-fetch.ts'
import { literalAddress } from '../../lib/network/webhook-target.ts'
import type { Log } from '../../lib/process/log.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { KB } from '../../lib/text/units.ts'
import { recordFacts } from '../../webhooks/facts.ts'
import { CHECK_INTERVAL_SECONDS, FAILED_AFTER_SECONDS, MAX_FAILURES } from '../sender-domains/check.ts'
import { DOMAIN_COLUMNS, type DomainRow } from '../sender-domains/domain.ts'
import { isProven } from '../sender-domains/proof.ts'
import { findRecords, judgeRecord, linkRecord, type RecordFinding, type Verdict } from '../sender-domains/records.ts'
import { PROOF_PATH, urlOnHost } from './link-host.ts'

type Deps = { db: Pool; dns: Dns; secrets: Secrets; log: Log; publicUrl: string }
type Due = Pick<DomainRow, 'projectId' | 'id' | 'domain' | 'status'> & {
  linkHost: string
  failures: number
  pendingSeconds: number
  isDomainVerified: boolean
}

const LOOKUP_MS = 4_000
const TIMEOUT_MS = 5_000
/** The proof is 23 characters. */
const MAX_REPLY = KB
/** Hosts checked at a time. */
const BATCH = 50
const MAX_RUN_MS = 5_000

/** Checks the hosts that are due, until none is or the time is over; the rest is due in the next minute. */
export async function checkDueLinkHosts(deps: Deps) {
  for (const deadline = performance.now() + MAX_RUN_MS; performance.now() < deadline; ) {
    const due = await transact(deps.db, (tx) => takeDue(tx))
    if (!due.length) return
    await Promise.all(due.map((each) => checkOne(deps, each)))
  }
}

/** Checks the host of one domain now. Returns the domain; undefined without a host. */
export async function checkLinkHostNow(deps: Deps, { projectId, id }: DomainRow): Promise<DomainRow | undefined> {
  const due = await maybeOne<Due>(deps.db)`
    select ${DUE} from domains where project_id = ${projectId} and id = ${id} and link_host is not null
  `
  return due && checkOne(deps, due)
}

const DUE = sql`
  project_id as "projectId", id, domain, link_host as "linkHost", link_host_status as status, link_host_failures as failures,
  extract(epoch from now() - link_host_since)::float8 as "pendingSeconds", ${isProven} is true as "isDomainVerified"`

/** Due again in 5 minutes, in case this process dies before it stores the result. */
const takeDue = (tx: Tx) => many<Due>(tx)`
  update domains set link_host_next_check_at = now() + make_interval(secs => ${CHECK_INTERVAL_SECONDS})
  where (project_id, id) in (
    select project_id, id from domains where link_host is not null and link_host_next_check_at <= now()
    order by link_host_next_check_at limit ${BATCH} for update skip locked)
  returning ${DUE}`

async function checkOne(deps: Deps, due: Due) {
  const { linkHost, projectId, status } = due
  // Required here: links work by this record alone.
  const record = { ...linkRecord(linkHost, deps.publicUrl), required: true }
  const findings = await findRecords(deps.dns, [record])
  const published = judgeRecord([record], findings)
  const verdict = published.is === 'proven' ? await judge(deps, due) : published
  const row = await transact(deps.db, (tx) => settle(tx, due, findings[0]!, verdict))
  if (row && row.linkHostStatus !== status)
    deps.log.info({ linkHost, projectId, from: status, to: row.linkHostStatus }, 'link host status changed')
  return row
}

/** A CNAME proves little: the host may be another name of the operator's. The proof is the DNS of its domain. */
async function judge(deps: Deps, { linkHost: host, domain, isDomainVerified }: Due): Promise<Verdict> {
  if (!isDomainVerified) return { is: 'unknown', why: `${domain} is not verified.` }
  if (await isOurs(deps, host)) return { is: 'proven' }
  return { is: 'missing', why: `${host} does not lead to this installation, or has no certificate.` }
}

/** Whether a request to the host arrives here. Only to public addresses, or where the installation itself is; nothing of the reply is shown. */
async function isOurs({ dns, secrets, publicUrl }: Deps, host: string) {
  const own = await addressesOf(dns, new URL(publicUrl))
  const target = { allowed: own.map((ip) => `${ip}/${ip.includes(':') ? 128 : 32}`), ownHost: '' }
  const url = `${urlOnHost(publicUrl, host)}${PROOF_PATH}`
  const safeFetch = createSafeFetch(dns, target)
  const reply = await safeFetch({ url, method: 'GET', headers: {}, body: undefined, timeoutMs: TIMEOUT_MS, maxReply: MAX_REPLY })
  return reply.is === 'status' && reply.status === 200 && secrets.isSigned('link-host', host, reply.text ?? '')
}

async function addressesOf(dns: Dns, url: URL): Promise<string[]> {
  const literal = literalAddress(url)
  if (literal) return [literal]
  if (url.hostname === 'localhost') return ['127.0.0.1', '::1']
  const found = await Promise.all([dns.lookUp('A', url.hostname, LOOKUP_MS), dns.lookUp('AAAA', url.hostname, LOOKUP_MS)])
  return found.flatMap((answer) => (answer.is === 'found' ? answer.records : []))
}

/** As for domains: a lookup without a reply changes nothing, and a verified host fails after three failures in a row. */
export function nextLinkHostState(
  { status, failures, pendingSeconds }: Pick<Due, 'status' | 'failures' | 'pendingSeconds'>,
  verdict: Verdict,
) {
  if (verdict.is === 'proven') return { status: 'verified' as const, failures: 0, error: null }
  if (verdict.is === 'unknown') return { status, failures, error: verdict.why }
  const isOver = status === 'verified' ? failures + 1 >= MAX_FAILURES : pendingSeconds > FAILED_AFTER_SECONDS
  return { status: isOver ? ('failed' as const) : status, failures: failures + 1, error: verdict.why }
}

/** Only if the domain still has this host. */
async function settle(tx: Tx, due: Due, finding: RecordFinding, verdict: Verdict) {
  const next = nextLinkHostState(due, verdict)
  const row = await maybeOne<DomainRow>(tx)`
    update domains set
      link_host_status = ${next.status},
      link_host_verified = case when ${next.status} = 'verified' then link_host else link_host_verified end,
      link_host_pointed = case when ${finding.status === 'unknown'} then link_host_pointed else ${finding.status === 'found'} end,
      link_host_finding = ${JSON.stringify(finding)}::jsonb,
      link_host_error = ${next.error},
      link_host_failures = ${next.failures},
      link_host_since = case when link_host_status <> ${next.status} then now() else link_host_since end,
      link_host_next_check_at = now() + make_interval(secs => ${CHECK_INTERVAL_SECONDS}),
      updated_at = case when link_host_status <> ${next.status} then now() else updated_at end
    where project_id = ${due.projectId} and id = ${due.id} and link_host = ${due.linkHost}
    returning ${DOMAIN_COLUMNS}
  `
  const { projectId, id: domainId, domain, linkHost } = due
  const data = { domainId, domain, linkHost, reason: next.error }
  if (row && due.status === 'verified' && next.status === 'failed') await recordFacts(tx, [{ projectId, type: 'domain.failed', data }])
  return row
}
