import { type RawBuilder, sql } from 'kysely'
import { type Db, scalars } from '../db/index.ts'
import type { Schema } from '../db/schema.ts'
import type { SealedColumn } from '../db/sealed-columns.ts'
import { SEALED_DKIM_KEY } from '../domains/sender-domains/add.ts'
import { SEALED_KEY_HASHES } from '../projects/api-keys/api-key.ts'
import { SEALED_ENDPOINT_SECRETS } from '../webhook-endpoints/endpoint.ts'
import { maskSteps } from '../workflows/definition/masked-steps.ts'
import { maskWebhook } from '../workflows/steps/webhook-mask.ts'
import { SEALED_WEBHOOK_SECRETS } from '../workflows/webhooks/webhook-secret.ts'

/** Every table with rows of projects. A table without an entry in PROJECT_TABLES does not compile. */
type ProjectTable = { [Table in keyof Schema]: 'project_id' extends keyof Schema[Table] ? Table : never }[keyof Schema]

/** A table whose rows are in the file. Conditions and values are SQL on a row `t`. */
export type MovedTable = {
  /** Rows that are moved. Checked when they are written and when they are read: a file may come from anywhere. */
  which?: RawBuilder<unknown>
  /** Columns that the target gives its own values. */
  without?: string[]
  /** Values that rows get in the target instead of their own. Nothing that is imported may send by itself. */
  as?: Record<string, RawBuilder<unknown>>
  /** Columns with URLs of images. */
  withImages?: { text?: string[]; json?: string[] }
  /** Columns of values that SECRET_KEY has sealed. In the file they are readable, or missing. */
  sealed?: SealedColumn[]
  /** Columns of JSON with values that a file without secrets has masked. */
  masked?: Record<string, (value: never) => unknown>
  /** Only in a file with secrets. */
  onlyWithSecrets?: true
  /** Rows may have megabytes: fewer of them are read at once. */
  wide?: true
}

/** Why rows of a table are not in the file. */
type LeftOut = { leftOut: string }

const leftOut = <Table extends ProjectTable>(why: string, ...tables: Table[]) =>
  Object.fromEntries(tables.map((table) => [table, { leftOut: why }])) as Record<Table, LeftOut>

const IN_FLIGHT = 'work in progress: the source finishes it'

/** Tables that move as they are. */
const unchanged = <Table extends ProjectTable>(...tables: Table[]) =>
  Object.fromEntries(tables.map((table) => [table, {}])) as Record<Table, MovedTable>

/** Written for executions, visits and firings that were under way. */
const MOVED = sql.lit('moved to another installation')
const isActive = sql`t.status in ('RUNNING', 'WAITING')`
const isOpenVisit = sql`t.status in ('PENDING', 'SCHEDULED', 'WAITING', 'RUNNING')`
const isSending = sql`t.status = 'SENDING'`
const inSandbox = sql`exists (select from instance where transport = 'sandbox')`
const NONE = sql`null`

/**
 * The fate of a project's rows when it moves to another installation, table by table, in the order of import: rows that refer to
 * others come after them.
 */
export const PROJECT_TABLES: Record<ProjectTable, MovedTable | LeftOut> = {
  ...unchanged('contacts', 'former_addresses', 'consents', 'contact_fields', 'deleted_contact_fields', 'contact_counts', 'contact_days'),
  contact_count_deltas: { without: ['id'] },
  ...unchanged('suppressions', 'soft_bounces'),

  ...unchanged('events', 'event_counts'),
  event_count_deltas: { without: ['id'] },
  ...unchanged('activities', 'activity_counts'),
  activity_count_deltas: { without: ['id'] },

  templates: { wide: true, withImages: { text: ['body'], json: ['design'] } },
  template_versions: { wide: true, withImages: { text: ['body'], json: ['design'] } },

  ...unchanged('segments', 'segment_members', 'tracked_segments', 'segment_due'),

  // Messages of SMTP submission are kept for days only.
  contents: { wide: true, as: { raw: NONE } },
  emails: {
    which: sql`t.state in ('sent', 'failed', 'skipped', 'cancelled')`,
    // Without the data of its request a failed email cannot be resent: its attachments are not here.
    as: { vars: sql`case when t.campaign_id is not null then t.vars end`, worker: NONE },
  },
  // Hashes of clients, keyed by the SECRET_KEY of the source; kept for a minute.
  email_hits: { as: { recent: sql`'[]'::jsonb` } },
  ...unchanged('email_hours', 'email_days', 'email_domain_days', 'email_counts'),
  reputations: { as: { due: sql`true` } },
  suspensions: {},

  // A campaign that is being sent goes on at the source: sent from here too, contacts would get it twice.
  campaigns: {
    wide: true,
    which: sql`t.deleted_at is null`,
    withImages: { text: ['body'], json: ['design'] },
    as: {
      status: sql`case t.status when 'SENDING' then 'CANCELLED' when 'SCHEDULED' then 'DRAFT' else t.status end`,
      settled_at: sql`case when ${isSending} or t.status = 'CANCELLED' and t.settled_at is null then now() else t.settled_at end`,
      scheduled_for: sql`case when t.status <> 'SCHEDULED' then t.scheduled_for end`,
      started_by: sql`case when t.status <> 'SCHEDULED' then t.started_by end`,
      paused_at: NONE,
      paused_reason: NONE,
      resending: NONE,
      reserved: NONE,
      reserved_for: NONE,
    },
  },
  ...unchanged('campaign_excluded', 'campaign_audit'),

  workflows: { as: { enabled: sql`false`, next_firing_at: NONE } },
  workflow_graphs: { wide: true, masked: { graph: maskSteps } },
  // A contact that is in a workflow goes on at the source. Here the execution has ended, and counts as the one of its contact.
  workflow_executions: {
    as: {
      status: sql`case when ${isActive} then 'CANCELLED' else t.status end`,
      exit_reason: sql`case when ${isActive} then ${MOVED} else t.exit_reason end`,
      completed_at: sql`case when ${isActive} then now() else t.completed_at end`,
      due_at: NONE,
      awaits: NONE,
      deadline_at: NONE,
      webhook_host: NONE,
    },
  },
  workflow_step_executions: {
    masked: { input: maskWebhook },
    as: {
      status: sql`case when ${isOpenVisit} then 'SKIPPED' else t.status end`,
      error: sql`case when ${isOpenVisit} then ${MOVED} else t.error end`,
      completed_at: sql`case when ${isOpenVisit} then now() else t.completed_at end`,
    },
  },
  workflow_entries: {},
  workflow_firings: {
    as: {
      status: sql`case t.status when 'RUNNING' then 'SKIPPED' else t.status end`,
      reason: sql`case t.status when 'RUNNING' then ${MOVED} else t.reason end`,
      ended_at: sql`case t.status when 'RUNNING' then now() else t.ended_at end`,
    },
  },
  ...unchanged('workflow_refusals', 'workflow_figures', 'workflow_days'),
  workflow_tallies: { without: ['id'] },

  // A client that repeats a request here gets the answer of the source instead of a second email.
  idempotency_keys: {},
  uploads: { wide: true },

  // Verified by this installation, not by the source.
  domains: {
    sealed: [SEALED_DKIM_KEY],
    as: {
      status: sql`case when ${inSandbox} then 'verified' else 'pending' end`,
      verified_by: sql`case when ${inSandbox} then 'sandbox' end`,
      verified_at: sql`case when ${inSandbox} then now() end`,
      pending_since: sql`now()`,
      ses_tokens: sql`'[]'::jsonb`,
      ses_zone: NONE,
      findings: sql`'[]'::jsonb`,
      last_error: NONE,
      last_checked_at: NONE,
      failures: sql`0`,
      next_check_at: sql`now()`,
      check_number: sql`0`,
      check_began_at: NONE,
      link_host_status: sql`case when t.link_host is not null then 'pending' end`,
      link_host_verified: NONE,
      link_host_pointed: sql`false`,
      link_host_finding: NONE,
      link_host_error: NONE,
      link_host_failures: sql`0`,
      link_host_since: sql`case when t.link_host is not null then now() end`,
      link_host_next_check_at: sql`case when t.link_host is not null then now() end`,
    },
  },
  webhook_endpoints: { sealed: SEALED_ENDPOINT_SECRETS, as: { enabled: sql`false`, leased_until: NONE, failing_since: NONE } },
  webhook_secrets: { sealed: SEALED_WEBHOOK_SECRETS, onlyWithSecrets: true },
  api_keys: { onlyWithSecrets: true },
  api_key_hashes: { sealed: [SEALED_KEY_HASHES], onlyWithSecrets: true },

  ...leftOut('follows from other rows, and is made anew', 'listeners', 'usage_periods', 'ledger_checks'),
  ...leftOut('what happened to emails in the last seconds: the recount after the import adds it up', 'email_ledger'),
  ...leftOut(IN_FLIGHT, 'jobs', 'job_errors', 'job_files', 'job_pieces', 'reactions', 'project_wipes'),
  ...leftOut(IN_FLIGHT, 'streams', 'stream_rates', 'campaign_minutes', 'rate_windows'),
  ...leftOut('kept for days after the last email, and only emails that have ended are moved', 'attachments'),
  ...leftOut('messages that were never sent', 'sandbox_messages'),
  ...leftOut('each is read once, within seconds', 'preview_pages'),
  ...leftOut('as they came, for weeks; what they said is in emails, events and suppressions', 'provider_notifications'),
  ...leftOut(
    'what relays replied to the source, whose addresses and connections are others',
    'held_refusals',
    'refusal_streaks',
    'sending_pauses',
  ),
  ...leftOut(
    'requests that the source has made, or has still to make; kept for days',
    'webhook_outbox',
    'webhook_messages',
    'webhook_batches',
    'webhook_runs',
    'webhook_deliveries',
    'webhook_delivered',
    'webhook_hours',
  ),
  ...leftOut('accounts belong to an installation: people are invited again', 'memberships', 'invitations'),
  ...leftOut('names accounts and networks of the source, where it stays; the import is the first entry here', 'audit_entries'),
  ...leftOut('uses at the source', 'key_usage', 'api_key_uses'),
  ...leftOut('belongs to the Stripe account of the source', 'billing_meters', 'usage_reports'),
}

export type MovedTableName = ProjectTable

/** Tables of a file, in their order. */
export const movedTables = (withSecrets: boolean): [ProjectTable, MovedTable][] =>
  (Object.entries(PROJECT_TABLES) as [ProjectTable, MovedTable | LeftOut][]).flatMap(([name, table]) =>
    'leftOut' in table || (table.onlyWithSecrets && !withSecrets) ? [] : [[name, table] as [ProjectTable, MovedTable]],
  )

/** In the order of the table. Without columns that the database fills by itself. */
export const listColumns = (db: Db, table: ProjectTable, { without = [] }: MovedTable) =>
  scalars<string>(db)`
    select attname from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = ''
      and attname <> all(${['project_id', ...without]}::text[])
    order by attnum
  `
