import { type RawBuilder, sql } from 'kysely'
import { isStatementTimeout } from '../../../db/errors/sql-state.ts'
import { isDatabaseUnavailable } from '../../../db/errors/unavailable.ts'
import { many, type Pool, type Tx, transact } from '../../../db/index.ts'
import { recordset } from '../../../db/rows.ts'
import { skipScanCte } from '../../../ledger/skip-scan.ts'
import { backoffMs } from '../../../lib/concurrency/backoff.ts'
import { crash } from '../../../lib/crash-point.ts'
import type { Log } from '../../../lib/process/log.ts'
import { MINUTE, SECOND } from '../../../lib/text/units.ts'
import { hourSql, lockEmailCounts, tryLockEmailCounts } from '../../../projects/email-counts.ts'

/**
 * Outcomes of emails that are counted, each at most once per email, with the condition on an email `e` that holds for the counted ones. Test
 * emails are not counted.
 */
export const EMAIL_OUTCOMES = {
  sent: sql`e.state = 'sent'`,
  failed: sql`e.state = 'failed'`,
  skipped: sql`e.state in ('skipped', 'cancelled')`,
  delivered: sql`e.delivered_at is not null`,
  bounced: sql`e.bounced_at is not null`,
  complained: sql`e.complained_at is not null`,
  // By people.
  opened: sql`e.opened_at is not null`,
  clicked: sql`e.clicked_at is not null`,
  machineOpened: sql`exists (select from email_hits h where h.project_id = e.project_id and h.email_id = e.id and h.machine_opened)`,
  machineClicked: sql`exists (select from email_hits h where h.project_id = e.project_id and h.email_id = e.id and h.machine_clicked)`,
  // By a link of that very email.
  unsubscribed: sql`e.unsubscribed_at is not null`,
} satisfies Record<string, RawBuilder<unknown>>

export type EmailOutcome = keyof typeof EMAIL_OUTCOMES

/**
 * Outcomes that are never taken back, with the time at which they happened: an expression on the email `e` and its `email_hits` row
 * `h`, null if it has not happened. An email that the provider accepted and later refused was sent.
 */
export const FACT_TIMES = {
  sent: sql`e.sent_at`,
  delivered: sql`e.delivered_at`,
  opened: sql`e.opened_at`,
  clicked: sql`e.clicked_at`,
  machineOpened: sql`h.machine_opened_at`,
  machineClicked: sql`h.machine_clicked_at`,
  bounced: sql`e.bounced_at`,
  complained: sql`e.complained_at`,
  unsubscribed: sql`e.unsubscribed_at`,
} satisfies Partial<Record<EmailOutcome, RawBuilder<unknown>>>

export type FactKind = keyof typeof FACT_TIMES

/** Emails whose facts count: neither test emails nor received ones. */
export const IS_COUNTED = sql`not e.test and e.source_type <> 'INBOUND'`

/** Recounts the emails of a campaign: one row with a number for each outcome. Reads all of them. */
export const recountSql = ({ projectId, campaignId }: { projectId: string; campaignId: string }) => {
  const counts = Object.entries(EMAIL_OUTCOMES).map(
    ([kind, condition]) => sql`count(*) filter (where ${condition})::int as ${sql.ref(kind)}`,
  )
  return sql<Record<EmailOutcome | 'total', number>>`
    select count(*)::int as total, ${sql.join(counts)}
    from emails e where e.project_id = ${projectId} and e.campaign_id = ${campaignId} and not e.test`
}

// Appending ------------------------------------------------------------------------------------------------------------

export type LedgerEntry = {
  projectId: string
  id: string
  /** `attempted`: refused during transmission, so never sent. */
  kind: EmailOutcome | 'accepted' | 'attempted'
  /** -1 when an outcome was corrected. */
  n?: number
  /** Only for an email that was accepted or skipped. */
  source?: string
  campaignId?: string | null
  test?: boolean
  /** When it counts for usage and reputation. Null: it does not. */
  countedAt?: Date | null
}

const HAS_FACT = sql`n > 0 and kind in (${sql.join(Object.keys(FACT_TIMES).map((kind) => sql.lit(kind)))})`

/** Appends what happened to emails, given as rows of the columns of a LedgerEntry: one row per project, kind, source, campaign and hour. */
export const insertEntriesSql = (entries: RawBuilder<unknown>) => sql`
  insert into email_ledger (project_id, kind, n, source, campaign_id, hour, email_ids)
  select "projectId", kind, sum(n), source, "campaignId", ${hourSql(sql`"countedAt"`)}, array_agg(id) filter (where ${HAS_FACT})
  from (${entries}) as entries
  where not test and ("campaignId" is not null or "countedAt" is not null or ${HAS_FACT}) group by 1, 2, 4, 5, 6`

/** The same, for emails that are accepted by the same statement, given as rows of (project_id, source_type). */
export const insertAcceptedSql = (emails: RawBuilder<unknown>) => sql`
  insert into email_ledger (project_id, kind, n, source, hour)
  select project_id, 'accepted', count(*), source_type, ${hourSql(sql`now()`)} from (${emails}) as emails group by 1, 4`

/** The same, for what the caller knows. */
export async function addEntries(tx: Tx, entries: LedgerEntry[]) {
  if (!entries.length) return
  // Callers pass more of an email than is written.
  const rows = entries.map(({ projectId, id, kind, n = 1, source, campaignId, test = false, countedAt }) => {
    return { projectId, id, kind, n, source, campaignId, test, countedAt }
  })
  const given = recordset('email_ledger', rows, ['projectId', 'id', 'kind', 'n', 'source', 'campaignId'], {
    test: 'boolean',
    countedAt: 'timestamptz',
  })
  await insertEntriesSql(given).execute(tx)
}

// Adding up ------------------------------------------------------------------------------------------------------------

export type CampaignRef = { projectId: string; campaignId: string }

/**
 * Consumers that add up entries, given as SQL for rows of `email_ledger`, each in sums of its own and in the transaction that takes the entries out
 * of the table. The composition root names them: they are in higher layers.
 */
export type EmailFolds = {
  /** Returns the projects whose facts must wait. */
  rollups: (tx: Tx, entries: RawBuilder<unknown>) => Promise<string[]>
  counts: (tx: Tx, entries: RawBuilder<unknown>) => Promise<unknown>
  /** Returns the campaigns that others have locked: their entries wait. */
  counters: (tx: Tx, entries: RawBuilder<unknown>) => Promise<CampaignRef[]>
  lockCampaigns: (tx: Tx, campaigns: CampaignRef[]) => Promise<unknown>
}

/** Projects of one transaction, and rows of each: they take turns. */
const MAX_PROJECTS = 500
const MAX_ROWS = 50
/** Emails that the roll-ups read in one transaction: more could exceed the time limit of a statement on a busy machine. After it was, fewer. */
const MAX_EMAILS = 10_000
const SHRINK = 10
/** Transactions of one run. */
const MAX_ROUNDS = 60

/** Projects and campaigns that wait for the next run. */
type Busy = { projects: string[]; campaigns: CampaignRef[] }
/** `except`: projects that rest. `only`: the others of a turn that failed. `wait`: campaigns whose rows are waited for. */
type Turn = { busy: Busy; emails: number; except: string[]; only?: string[]; wait?: CampaignRef[] }

/** Rest of a project that cannot be added up. */
const REST_MS = { first: SECOND, longest: 10 * MINUTE }

/**
 * Returns a function that adds up what was appended; one worker at a time. If that fails, the projects are tried in halves, and the one that
 * cannot be added up rests, ever longer: it holds up no other.
 */
export function createEmailFold(db: Pool, log: Pick<Log, 'warn'>, folds: EmailFolds) {
  const failing = new Map<string, { failures: number; restsUntil: number }>()
  const listResting = () => [...failing.keys()].filter((id) => failing.get(id)!.restsUntil > performance.now())

  function rest(projectId: string, err: unknown) {
    const before = failing.get(projectId)?.failures ?? 0
    const restMs = backoffMs(before, REST_MS)
    failing.set(projectId, { failures: before + 1, restsUntil: performance.now() + restMs })
    log.warn({ err, projectId, restMs }, 'emails of a project cannot be added up; retrying later')
  }

  /** Returns whether there may be more. Changes the turn: after a time-out it has fewer emails. */
  async function foldTurn(turn: Turn): Promise<boolean> {
    let projects: string[] = []
    const fold = async (tx: Tx) => {
      if (!turn.wait && !(await tryLockEmailCounts(tx))) return false
      if (turn.wait) {
        // Lock order: the campaigns first, so that no other fold waits for a page of recipients.
        await folds.lockCampaigns(tx, turn.wait)
        await lockEmailCounts(tx)
      }
      const rows = await chooseRows(tx, turn)
      projects = [...new Set(rows.map(({ projectId }) => projectId))]
      if (rows.length) await foldRows(tx, folds, { rows, busy: turn.busy })
      return rows.length > 0
    }
    try {
      const hasMore = await transact(db, fold)
      for (const projectId of projects) failing.delete(projectId)
      return hasMore
    } catch (err) {
      const isSlow = isStatementTimeout(err)
      if (isSlow && turn.emails > 1) turn.emails = Math.ceil(turn.emails / SHRINK)
      else if (!projects.length || (isDatabaseUnavailable(err) && !isSlow)) throw err
      else if (projects.length === 1) {
        turn.except.push(projects[0]!)
        rest(projects[0]!, err)
      } else {
        const half = Math.ceil(projects.length / 2)
        for (const only of [projects.slice(0, half), projects.slice(half)]) await foldTurn({ ...turn, only })
      }
      return true
    }
  }

  return async function foldEmailLedger() {
    const turn: Turn = { busy: { projects: [], campaigns: [] }, emails: MAX_EMAILS, except: listResting() }
    for (let round = 0; round < MAX_ROUNDS && (await foldTurn(turn)); round++);
    // Pages of their recipients are being written.
    const { campaigns: wait, projects } = turn.busy
    if (wait.length) await foldTurn({ ...turn, busy: { projects, campaigns: [] }, only: wait.map(({ projectId }) => projectId), wait })
  }
}

type Chosen = { projectId: string; id: string }[]

/** Each consumer adds an entry up exactly once: what it has added is removed from the row in the same transaction. */
async function foldRows(tx: Tx, folds: EmailFolds, { rows, busy }: { rows: Chosen; busy: Busy }) {
  const chosen = sql`(
    select l.* from unnest(${rows.map(({ projectId }) => projectId)}::uuid[], ${rows.map(({ id }) => id)}::bigint[]) as t(project_id, id)
    join email_ledger l on l.project_id = t.project_id and l.id = t.id)`
  const projects = await folds.rollups(tx, chosen)
  await folds.counts(tx, chosen)
  // Last, because requests wait for the rows of campaigns.
  const campaigns = await folds.counters(tx, chosen)
  // Not what was busy before: that may have been added now.
  await removeFolded(tx, chosen, { projects, campaigns })
  crash('facts-added')
  busy.projects.push(...projects)
  busy.campaigns.push(...campaigns)
}

const isBusy = ({ projects, campaigns }: Busy) => ({
  rollups: sql`l.project_id = any(${projects}::uuid[])`,
  counters: sql`l.campaign_id = any(${campaigns.map(({ campaignId }) => campaignId)}::uuid[])`,
})

/** The oldest rows of each project. */
const chooseRows = (tx: Tx, { busy, emails, except, only }: Turn) => {
  const is = isBusy(busy)
  return many<Chosen[number]>(tx)`
    with recursive ${skipScanCte('waiting', { table: 'email_ledger', by: ['project_id'], where: sql`true` })}, oldest as (
      select w.project_id, l.id, l.emails, row_number() over (partition by w.project_id order by l.id) as turn
      from (
        select project_id from waiting where project_id <> all(${except}::uuid[]) and coalesce(project_id = any(${only ?? null}::uuid[]), true)
        limit ${MAX_PROJECTS}
      ) as w cross join lateral (
        select l.id, case when l.email_ids is null then 1 else l.n end as emails
        from email_ledger l where l.project_id = w.project_id
          and (l.hour is not null or l.email_ids is not null and not ${is.rollups} or l.campaign_id is not null and not ${is.counters})
        order by l.id limit ${MAX_ROWS}) as l
    )
    select project_id as "projectId", id from (
      select project_id, id, sum(emails) over (order by turn, project_id) - emails as before from oldest
    ) as summed where before < ${emails}
  `
}

async function removeFolded(tx: Tx, chosen: RawBuilder<unknown>, busy: Busy) {
  const is = isBusy(busy)
  const waits = sql`(l.email_ids is not null and ${is.rollups} or l.campaign_id is not null and ${is.counters})`
  await sql`
    delete from email_ledger l using ${chosen} as c where l.project_id = c.project_id and l.id = c.id and not ${waits}
  `.execute(tx)
  if (!busy.projects.length && !busy.campaigns.length) return
  await sql`
    update email_ledger l set hour = null, email_ids = case when ${is.rollups} then l.email_ids end,
      campaign_id = case when ${is.counters} then l.campaign_id end
    from ${chosen} as c where l.project_id = c.project_id and l.id = c.id and (l.hour is not null
      or l.email_ids is not null and not ${is.rollups} or l.campaign_id is not null and not ${is.counters})
  `.execute(tx)
}
