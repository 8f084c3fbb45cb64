// Generated from the migrated database by `npm run db:types`. Do not edit.
import type { ColumnType } from 'kysely'

type Generated<T> = T extends ColumnType<infer S, infer I, infer U> ? ColumnType<S, I | undefined, U> : ColumnType<T, T | undefined, T>
type Json = ColumnType<unknown, string, string>
type Timestamp = ColumnType<Date, Date | string, Date | string>

export interface Schema {
  account_mails: {
    id: string
    recipient: string
    subject: string
    sealed_text: Buffer
    state: Generated<string>
    link_expires_at: Timestamp
    message_token: string | null
    attempts: Generated<number>
    failures: Generated<number>
    due_at: Generated<Timestamp>
    worker: number | null
    handed_over_at: Timestamp | null
    error: string | null
    created_at: Generated<Timestamp>
  }
  activities: {
    project_id: string
    id: string
    type: string
    contact_id: string | null
    data: Generated<Json>
    created_at: Generated<Timestamp>
  }
  activity_count_deltas: { project_id: string; id: string; type: string; day: Timestamp; count: string }
  activity_counts: { project_id: string; type: string; day: Timestamp; count: string }
  attachments: {
    project_id: string
    content_id: string
    position: number
    filename: string
    content_type: string
    cid: string | null
    inline: boolean
    bytes: Buffer
  }
  attempts: { scope: string; subject: Buffer; window_ends_at: Timestamp; count: number }
  billing_meters: { project_id: string; category: string; since: Timestamp; reported_to: Timestamp; carry: Generated<string> }
  campaign_audit: {
    project_id: string
    campaign_id: string
    id: string
    action: string
    actor: string
    user_id: string | null
    details: Generated<Json>
    created_at: Generated<Timestamp>
  }
  campaign_excluded: {
    project_id: string
    campaign_id: string
    contact_id: string
    address: string
    reason: string
    created_at: Generated<Timestamp>
  }
  campaign_minutes: {
    project_id: string
    campaign_id: string
    minute: Timestamp
    sent: number
    failed: number
    bounced: number
    complained: number
  }
  campaigns: {
    project_id: string
    id: string
    name: string
    description: string | null
    subject: string
    body: string
    preview_text: string | null
    from_address: string
    from_name: string | null
    reply_to: string | null
    type: string
    template_id: string | null
    audience_type: string
    segment_id: string | null
    audience_condition: Json | null
    uses: Generated<Json>
    rate_per_minute: number | null
    status: Generated<string>
    scheduled_for: Timestamp | null
    started_at: Timestamp | null
    started_by: Json | null
    sent_at: Timestamp | null
    paused_at: Timestamp | null
    paused_reason: string | null
    resumed_at: Timestamp | null
    content_id: string | null
    frozen_audience: Json | null
    freeze_cursor: string | null
    freeze_due_at: Generated<Timestamp>
    freeze_page: Generated<number>
    freeze_attempts: Generated<number>
    frozen_at: Timestamp | null
    reserved: number | null
    reserved_for: string | null
    resending: string | null
    settled_at: Timestamp | null
    recounted_at: Timestamp | null
    total_recipients: Generated<number>
    sent_count: Generated<number>
    delivered_count: Generated<number>
    opened_count: Generated<number>
    clicked_count: Generated<number>
    machine_opened_count: Generated<number>
    machine_clicked_count: Generated<number>
    bounced_count: Generated<number>
    complained_count: Generated<number>
    unsubscribed_count: Generated<number>
    failed_count: Generated<number>
    skipped_count: Generated<number>
    excluded_unsubscribed: Generated<number>
    excluded_suppressed: Generated<number>
    excluded_invalid: Generated<number>
    counters_closed_at: Timestamp | null
    closed_refused_count: number | null
    closed_links: Json | null
    deleted_at: Timestamp | null
    created_at: Generated<Timestamp>
    updated_at: Generated<Timestamp>
  }
  consents: {
    project_id: string
    contact_id: string
    id: string
    subscribed: boolean
    source: string
    details: Generated<Json>
    created_at: Generated<Timestamp>
  }
  contact_count_deltas: {
    project_id: string
    id: string
    total: Generated<number>
    subscribed: Generated<number>
    day: Timestamp | null
    source: string | null
    created: Generated<number>
    created_subscribed: Generated<number>
    opted_in: Generated<number>
    opted_out: Generated<number>
    deleted: Generated<number>
    gone_created: Generated<number>
    gone_created_subscribed: Generated<number>
    gone_opted_in: Generated<number>
    gone_opted_out: Generated<number>
    created_at: Generated<Timestamp>
  }
  contact_counts: { project_id: string; total: string; subscribed: string }
  contact_days: {
    project_id: string
    day: Timestamp
    source: string
    created: Generated<number>
    created_subscribed: Generated<number>
    opted_in: Generated<number>
    opted_out: Generated<number>
    deleted: Generated<number>
    gone_created: Generated<number>
    gone_created_subscribed: Generated<number>
    gone_opted_in: Generated<number>
    gone_opted_out: Generated<number>
  }
  contact_fields: { project_id: string; key: string; type: string; contacts: Generated<number>; counted_at: Timestamp | null }
  contacts: {
    project_id: string
    id: string
    email: string
    subscribed: boolean
    data: Generated<Json>
    created_by: string | null
    created_at: Generated<Timestamp>
    updated_at: Generated<Timestamp>
    subscription_changed_at: Generated<Timestamp>
  }
  contents: {
    project_id: string
    id: string
    type: string
    subject: string
    preview_text: string | null
    body: string
    from_address: string
    from_name: string | null
    reply_to: string | null
    headers: Generated<Json>
    template_id: string | null
    template_version: number | null
    fingerprint: Buffer | null
    created_at: Generated<Timestamp>
  }
  deleted_contact_fields: { project_id: string; key: string; deleted_at: Generated<Timestamp> }
  domains: {
    project_id: string
    id: string
    domain: string
    status: Generated<string>
    verified_by: string | null
    verified_at: Timestamp | null
    pending_since: Generated<Timestamp>
    dkim_selector: string
    dkim_public_key: string
    dkim_private_key_sealed: Buffer
    ses_tokens: Generated<Json>
    ses_zone: string | null
    findings: Generated<Json>
    last_error: string | null
    last_checked_at: Timestamp | null
    failures: Generated<number>
    next_check_at: Generated<Timestamp>
    check_number: Generated<number>
    check_began_at: Timestamp | null
    created_at: Generated<Timestamp>
    updated_at: Generated<Timestamp>
  }
  email_counts: { project_id: string; kind: string; hour: Timestamp; count: string }
  email_days: {
    project_id: string
    day: Timestamp
    source: string
    campaign_id: string
    template_id: string
    workflow_id: string
    sent: Generated<number>
    delivered: Generated<number>
    opened: Generated<number>
    clicked: Generated<number>
    machine_opened: Generated<number>
    machine_clicked: Generated<number>
    bounced: Generated<number>
    complained: Generated<number>
    unsubscribed: Generated<number>
    within_1s: Generated<number>
    within_2s: Generated<number>
    within_5s: Generated<number>
    within_10s: Generated<number>
    within_30s: Generated<number>
    within_1m: Generated<number>
    within_5m: Generated<number>
    within_15m: Generated<number>
    within_1h: Generated<number>
    within_6h: Generated<number>
    later: Generated<number>
  }
  email_domain_days: {
    project_id: string
    day: Timestamp
    domain: string
    sent: Generated<number>
    delivered: Generated<number>
    opened: Generated<number>
    clicked: Generated<number>
    machine_opened: Generated<number>
    machine_clicked: Generated<number>
    bounced: Generated<number>
    complained: Generated<number>
    unsubscribed: Generated<number>
  }
  email_hits: {
    project_id: string
    email_id: string
    events: Generated<number>
    machine_events: Generated<number>
    machine_opened: Generated<boolean>
    machine_clicked: Generated<boolean>
    machine_opened_at: Timestamp | null
    machine_clicked_at: Timestamp | null
    recent: Generated<Json>
  }
  email_hours: {
    project_id: string
    hour: Timestamp
    source: string
    campaign_id: string
    template_id: string
    workflow_id: string
    sent: Generated<number>
    delivered: Generated<number>
    opened: Generated<number>
    clicked: Generated<number>
    machine_opened: Generated<number>
    machine_clicked: Generated<number>
    bounced: Generated<number>
    complained: Generated<number>
    unsubscribed: Generated<number>
    within_1s: Generated<number>
    within_2s: Generated<number>
    within_5s: Generated<number>
    within_10s: Generated<number>
    within_30s: Generated<number>
    within_1m: Generated<number>
    within_5m: Generated<number>
    within_15m: Generated<number>
    within_1h: Generated<number>
    within_6h: Generated<number>
    later: Generated<number>
  }
  email_ledger: {
    project_id: string
    id: string
    kind: string
    n: number
    source: string | null
    hour: Timestamp | null
    campaign_id: string | null
    email_ids: string[] | null
    created_at: Generated<Timestamp>
  }
  emails: {
    project_id: string
    id: string
    content_id: string
    contact_id: string | null
    to_address: string
    to_name: string | null
    follows_contact: Generated<boolean>
    vars: Generated<Json | null>
    only_vars: Generated<boolean>
    subject: string | null
    source_type: string
    campaign_id: string | null
    workflow_execution_id: string | null
    workflow_id: string | null
    test: Generated<boolean>
    metered: boolean | null
    resent_from: string | null
    request_id: string | null
    message_id: string
    state: Generated<string>
    lane: number
    stream_id: string
    attempts: Generated<number>
    worker: number | null
    handed_over_at: Timestamp | null
    unknown_since: Timestamp | null
    retried_unknown: Generated<boolean>
    crashes: Generated<number>
    timeouts: Generated<number>
    put_back: Generated<number>
    failures: Generated<number>
    first_failed_at: Timestamp | null
    due_at: Timestamp | null
    requeued_at: Timestamp | null
    error: string | null
    error_code: string | null
    provider_id: string | null
    sent_at: Timestamp | null
    delivered_at: Timestamp | null
    opened_at: Timestamp | null
    clicked_at: Timestamp | null
    bounced_at: Timestamp | null
    complained_at: Timestamp | null
    unsubscribed_at: Timestamp | null
    opens: Generated<number>
    clicks: Generated<number>
    created_at: Generated<Timestamp>
    updated_at: Generated<Timestamp>
  }
  event_count_deltas: { project_id: string; id: string; name: string; day: Timestamp; count: number }
  event_counts: { project_id: string; name: string; day: Timestamp; count: string }
  events: {
    project_id: string
    id: string
    name: string
    contact_id: string | null
    email_id: string | null
    data: Generated<Json>
    created_at: Generated<Timestamp>
  }
  former_addresses: { project_id: string; address: string; contact_id: string }
  held_refusals: {
    project_id: string
    email_id: string
    domain: string
    fingerprint: string
    reply: string
    unknown_recipient: boolean
    place: string
    held_at: Generated<Timestamp>
  }
  idempotency_keys: {
    project_id: string
    key: string
    request: string
    status_code: number
    result: Generated<Json>
    created_at: Generated<Timestamp>
  }
  instance: { singleton: Generated<boolean>; secret_checks: Buffer[]; transport: string | null; created_at: Generated<Timestamp> }
  invitations: {
    project_id: string
    id: string
    email: string
    role: string
    token_hash: Buffer
    created_at: Generated<Timestamp>
    expires_at: Timestamp
  }
  job_errors: { project_id: string; job_id: string; row: number; subject: string; error: string }
  job_files: { project_id: string; job_id: string; content: Buffer }
  job_pieces: { project_id: string; job_id: string; piece: number; content: string }
  job_workers: { worker_id: string; liveness_key: number }
  jobs: {
    project_id: string
    id: string
    type: string
    state: Generated<string>
    progress: Generated<number>
    input: Generated<Json>
    position: Json | null
    result: Json | null
    failed_reason: string | null
    created_at: Generated<Timestamp>
    finished_at: Timestamp | null
  }
  key_usage: { project_id: string; kind: string; key_version: number; used_at: Timestamp }
  ledger_checks: { project_id: string; checked_at: Generated<Timestamp>; drift: Json | null; drift_at: Timestamp | null }
  listeners: { project_id: string; topic: string; listener: string }
  memberships: { project_id: string; user_id: string; role: string; created_at: Generated<Timestamp> }
  preview_pages: { project_id: string; id: string; html: string; created_at: Generated<Timestamp> }
  project_wipes: { project_id: string; requested_at: Generated<Timestamp> }
  projects: {
    id: string
    name: string
    public_key_hash: Buffer
    secret_key_hash: Buffer
    public_key_sealed: Buffer
    secret_key_sealed: Buffer
    key_version: Generated<number>
    disabled: Generated<boolean>
    disabled_reason: string | null
    tracking: Generated<string>
    language: Generated<string>
    timezone: Generated<string>
    customer: string | null
    subscription: string | null
    currency: string | null
    billing_limit_workflows: string | null
    billing_limit_campaigns: string | null
    billing_limit_transactional: string | null
    billing_limit_inbound: string | null
    period_start: Timestamp | null
    period_end: Timestamp | null
    billing_check: Generated<number>
    settled_to: Timestamp | null
    reset_at: Timestamp | null
    created_at: Generated<Timestamp>
    updated_at: Generated<Timestamp>
    deleted_at: Timestamp | null
  }
  provider_notifications: {
    id: string
    message: string
    received_at: Generated<Timestamp>
    due_at: Generated<Timestamp | null>
    tries: Generated<number>
    kind: string | null
    project_id: string | null
    email_id: string | null
    details: Json | null
    error: string | null
  }
  rate_windows: { project_id: string; started_at: Timestamp; leased: number; granted: number }
  reactions: {
    project_id: string
    id: string
    contact_id: string | null
    event_id: string | null
    event_name: string | null
    topics: string[]
    attempts: Generated<number>
    due_at: Generated<Timestamp>
    created_at: Generated<Timestamp>
  }
  refusal_streaks: {
    project_id: string
    domain: string
    fingerprint: string
    replies: number
    first_place: string
    last_at: Generated<Timestamp>
  }
  reputations: {
    project_id: string
    attempted: Generated<string>
    bounced: Generated<string>
    complained: Generated<string>
    all_attempted: Generated<string>
    all_bounced: Generated<string>
    all_complained: Generated<string>
    since: Timestamp | null
    before_attempted: Generated<string>
    before_bounced: Generated<string>
    before_complained: Generated<string>
    acknowledged_at: Timestamp | null
    acknowledged_by: string | null
    due: Generated<boolean>
  }
  rollup_recounts: { project_id: string; recounted_at: Generated<Timestamp> }
  sandbox_messages: {
    project_id: string
    id: string
    email_id: string
    recipient: string
    sender: string
    subject: string
    source: Buffer
    created_at: Generated<Timestamp>
  }
  segment_due: { project_id: string; contact_id: string; segment_id: string; due_at: Timestamp }
  segment_members: { project_id: string; segment_id: string; contact_id: string; added_at: Generated<Timestamp> }
  segments: {
    project_id: string
    id: string
    name: string
    description: string | null
    type: string
    condition: Json | null
    uses: Generated<Json>
    slug: string
    track_membership: Generated<boolean>
    member_count: Generated<number>
    counted_at: Timestamp | null
    count_estimated: Generated<boolean>
    count_ms: Generated<number>
    created_at: Generated<Timestamp>
    updated_at: Generated<Timestamp>
  }
  senders: { worker: number; lease_until: Timestamp; slowed_by: string | null }
  sending_pauses: {
    project_id: string
    domain: string
    reason: string
    cause: string | null
    fingerprint: string | null
    failed_probes: Generated<number>
    since: Generated<Timestamp>
    until: Timestamp
    probe_until: Timestamp | null
    verifies: Generated<boolean>
    escalated: Generated<boolean>
  }
  sessions: {
    token_hash: Buffer
    user_id: string
    network: string
    user_agent: string | null
    created_at: Generated<Timestamp>
    expires_at: Timestamp
  }
  soft_bounces: { project_id: string; address: string; email_id: string; forgiven: Generated<boolean>; created_at: Generated<Timestamp> }
  stream_rates: { project_id: string; id: string; per_minute: number; unused_since: Generated<Timestamp> }
  streams: {
    project_id: string
    id: string
    lane: Generated<number>
    from_domain: string
    paused_at: Timestamp | null
    cancelled_at: Timestamp | null
    expiry_from: Generated<Timestamp>
    created_at: Generated<Timestamp>
  }
  stripe_events: { id: string; type: string; received_at: Generated<Timestamp> }
  suppressions: { project_id: string; address: string; reason: string; created_at: Generated<Timestamp> }
  suspended_domains: { domain: string; suspended: string; until: Timestamp }
  suspended_owners: { suspended: string; owner: string; address: Buffer; reason: string; at: Generated<Timestamp>; until: Timestamp }
  suspensions: {
    project_id: string
    id: string
    at: Generated<Timestamp>
    reason: string
    inherited: Generated<boolean>
    ends_at: Timestamp | null
    until: Timestamp | null
    lifted_by: string | null
  }
  template_versions: {
    project_id: string
    template_id: string
    version: number
    subject: string
    preview_text: string | null
    body: string
    from_address: string | null
    from_name: string | null
    reply_to: string | null
    type: string
    saved_by: string | null
    saved_at: Timestamp
    created_at: Generated<Timestamp>
  }
  templates: {
    project_id: string
    id: string
    name: string
    description: string | null
    subject: string
    preview_text: string | null
    body: string
    from_address: string | null
    from_name: string | null
    reply_to: string | null
    type: string
    version: Generated<number>
    saved_by: string | null
    saved_at: Generated<Timestamp>
    created_at: Generated<Timestamp>
    updated_at: Generated<Timestamp>
  }
  tracked_segments: {
    project_id: string
    segment_id: string
    revision: Generated<number>
    computed_revision: number | null
    clearing: Generated<boolean>
    windows: Generated<Json>
    swept_at: Generated<Timestamp>
    created_at: Generated<Timestamp>
  }
  uploads: { project_id: string; id: string; key: string; content_type: string; size: number; created_at: Generated<Timestamp> }
  usage_periods: { project_id: string; category: string; period_start: Timestamp; used: string; warned: Generated<number> }
  usage_reports: {
    project_id: string
    category: string
    hour: Timestamp
    part: Generated<number>
    value: string
    customer: string
    identifier: string
    at: Timestamp | null
    state: Generated<string>
    uncertain_since: Timestamp | null
    attempts: Generated<number>
    due_at: Generated<Timestamp>
    error: string | null
    created_at: Generated<Timestamp>
    sent_at: Timestamp | null
  }
  user_tokens: { token_hash: Buffer; user_id: string; purpose: string; created_at: Generated<Timestamp>; expires_at: Timestamp }
  users: {
    id: string
    email: string
    password_hash: string
    email_verified_at: Timestamp | null
    operator: Generated<boolean>
    created_at: Generated<Timestamp>
    updated_at: Generated<Timestamp>
  }
  webhook_secrets: {
    project_id: string
    secret: Buffer
    previous: Buffer | null
    previous_until: Timestamp | null
    created_at: Generated<Timestamp>
  }
  workflow_days: { project_id: string; workflow_id: string; day: Timestamp; started: string; created_at: Generated<Timestamp> }
  workflow_entries: { project_id: string; workflow_id: string; contact_id: string; created_at: Generated<Timestamp> }
  workflow_executions: {
    project_id: string
    id: string
    workflow_id: string
    version: number
    contact_id: string
    status: Generated<string>
    current_step_id: string | null
    visits: Generated<number>
    arrived_at: Generated<Timestamp>
    arrived_event_id: string | null
    due_at: Generated<Timestamp | null>
    awaits: string | null
    deadline_at: Timestamp | null
    attempts: Generated<number>
    webhook_host: string | null
    exit_reason: string | null
    context: Generated<Json>
    event: Json | null
    source_event_id: string | null
    once: Generated<boolean>
    started_at: Generated<Timestamp>
    completed_at: Timestamp | null
    created_at: Generated<Timestamp>
    updated_at: Generated<Timestamp>
  }
  workflow_figures: {
    project_id: string
    workflow_id: string
    subject_id: string
    kind: string
    n: string
    created_at: Generated<Timestamp>
  }
  workflow_firings: {
    project_id: string
    id: string
    workflow_id: string
    fired_for: Timestamp
    status: string
    reason: string | null
    after: string | null
    enrolled: Generated<number>
    created_at: Generated<Timestamp>
    ended_at: Timestamp | null
  }
  workflow_graphs: {
    project_id: string
    workflow_id: string
    version: number
    graph: Json
    uses: Generated<Json>
    pinned: Generated<boolean>
    created_at: Generated<Timestamp>
  }
  workflow_refusals: {
    project_id: string
    workflow_id: string
    contact_id: string
    hour: Timestamp
    reason: string
    count: Generated<number>
    created_at: Generated<Timestamp>
  }
  workflow_step_executions: {
    project_id: string
    execution_id: string
    visit: number
    id: string
    workflow_id: string
    step_id: string
    status: string
    scheduled_for: Timestamp | null
    input: Json | null
    output: Json | null
    error: string | null
    email_id: string | null
    started_at: Generated<Timestamp>
    completed_at: Timestamp | null
  }
  workflow_tallies: {
    project_id: string
    id: string
    workflow_id: string
    subject_id: string
    kind: string
    n: number
    created_at: Generated<Timestamp>
  }
  workflows: {
    project_id: string
    id: string
    name: string
    description: string | null
    trigger_type: Generated<string>
    trigger_config: Generated<Json>
    enabled: Generated<boolean>
    allow_reentry: Generated<boolean>
    version: Generated<number>
    next_firing_at: Timestamp | null
    created_at: Generated<Timestamp>
    updated_at: Generated<Timestamp>
  }
}
