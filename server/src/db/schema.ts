// Generated from the migrated database by `npm run db:types`. Do not edit.

/** Rows by table, as a select returns them. */
export interface Schema {
  account_mails: {
    id: string
    recipient: string
    subject: string
    sealed_text: Buffer
    state: string
    link_expires_at: Date
    message_token: string
    attempts: number
    failures: number
    due_at: Date
    worker: number | null
    handed_over_at: Date | null
    error: string | null
    created_at: Date
  }
  activities: { project_id: string; id: string; type: string; contact_id: string | null; data: unknown; created_at: Date }
  activity_count_deltas: { project_id: string; id: string; type: string; day: Date; count: string }
  activity_counts: { project_id: string; type: string; day: Date; count: string }
  api_key_hashes: { project_id: string; key_id: string; id: string; hash: Buffer; sealed: Buffer; valid_until: Date | null }
  api_key_uses: { project_id: string; key_id: string; used_at: Date }
  api_keys: {
    project_id: string
    id: string
    kind: string
    name: string
    scopes: string[] | null
    sender_domains: string[] | null
    networks: string[] | null
    expires_at: Date | null
    prefix: string
    version: number
    created_by: string | null
    created_at: Date
  }
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
  attempts: { scope: string; subject: Buffer; window_ends_at: Date; count: number }
  audit_entries: {
    project_id: string
    id: string
    created_at: Date
    actor_type: string
    actor_id: string | null
    actor_name: string | null
    action: string
    target_type: string
    target_id: string | null
    target_name: string | null
    changes: unknown
    network: string | null
  }
  billing_meters: { project_id: string; category: string; since: Date; reported_to: Date; carry: string }
  campaign_audit: {
    project_id: string
    campaign_id: string
    id: string
    action: string
    actor: string
    user_id: string | null
    details: unknown
    created_at: Date
  }
  campaign_excluded: { project_id: string; campaign_id: string; contact_id: string; address: string; reason: string; created_at: Date }
  campaign_minutes: {
    project_id: string
    campaign_id: string
    minute: Date
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
    audience_condition: unknown | null
    uses: unknown
    rate_per_minute: number | null
    status: string
    scheduled_for: Date | null
    started_at: Date | null
    started_by: unknown | null
    sent_at: Date | null
    paused_at: Date | null
    paused_reason: string | null
    resumed_at: Date | null
    content_id: string | null
    frozen_audience: unknown | null
    freeze_cursor: string | null
    freeze_due_at: Date
    freeze_page: number
    freeze_attempts: number
    frozen_at: Date | null
    reserved: number | null
    reserved_for: string | null
    resending: string | null
    settled_at: Date | null
    recounted_at: Date | null
    total_recipients: number
    sent_count: number
    delivered_count: number
    opened_count: number
    clicked_count: number
    machine_opened_count: number
    machine_clicked_count: number
    bounced_count: number
    complained_count: number
    unsubscribed_count: number
    failed_count: number
    skipped_count: number
    excluded_unsubscribed: number
    excluded_suppressed: number
    excluded_invalid: number
    counters_closed_at: Date | null
    closed_refused_count: number | null
    closed_links: unknown | null
    deleted_at: Date | null
    created_at: Date
    updated_at: Date
    design: unknown | null
  }
  consents: { project_id: string; contact_id: string; id: string; subscribed: boolean; source: string; details: unknown; created_at: Date }
  contact_count_deltas: {
    project_id: string
    id: string
    total: number
    subscribed: number
    day: Date | null
    source: string | null
    created: number
    created_subscribed: number
    opted_in: number
    opted_out: number
    deleted: number
    gone_created: number
    gone_created_subscribed: number
    gone_opted_in: number
    gone_opted_out: number
    created_at: Date
  }
  contact_counts: { project_id: string; total: string; subscribed: string }
  contact_days: {
    project_id: string
    day: Date
    source: string
    created: number
    created_subscribed: number
    opted_in: number
    opted_out: number
    deleted: number
    gone_created: number
    gone_created_subscribed: number
    gone_opted_in: number
    gone_opted_out: number
  }
  contact_fields: { project_id: string; key: string; type: string; contacts: number; counted_at: Date | null }
  contacts: {
    project_id: string
    id: string
    email: string
    subscribed: boolean
    data: unknown
    created_by: string | null
    created_at: Date
    updated_at: Date
    subscription_changed_at: Date
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
    headers: unknown
    template_id: string | null
    template_version: number | null
    fingerprint: Buffer | null
    created_at: Date
    raw: Buffer | null
    raw_form: string | null
    raw_tracked: boolean | null
  }
  deleted_contact_fields: { project_id: string; key: string; deleted_at: Date }
  domains: {
    project_id: string
    id: string
    domain: string
    status: string
    verified_by: string | null
    verified_at: Date | null
    pending_since: Date
    dkim_selector: string
    dkim_public_key: string
    dkim_private_key_sealed: Buffer
    ses_tokens: unknown
    ses_zone: string | null
    findings: unknown
    last_error: string | null
    last_checked_at: Date | null
    failures: number
    next_check_at: Date
    check_number: number
    check_began_at: Date | null
    created_at: Date
    updated_at: Date
    link_host: string | null
    link_host_status: string | null
    link_host_pointed: boolean
    link_host_finding: unknown | null
    link_host_error: string | null
    link_host_failures: number
    link_host_since: Date | null
    link_host_next_check_at: Date | null
    link_host_verified: string | null
  }
  email_counts: { project_id: string; kind: string; hour: Date; count: string }
  email_days: {
    project_id: string
    day: Date
    source: string
    campaign_id: string
    template_id: string
    workflow_id: string
    sent: number
    delivered: number
    opened: number
    clicked: number
    machine_opened: number
    machine_clicked: number
    bounced: number
    complained: number
    unsubscribed: number
    within_1s: number
    within_2s: number
    within_5s: number
    within_10s: number
    within_30s: number
    within_1m: number
    within_5m: number
    within_15m: number
    within_1h: number
    within_6h: number
    later: number
  }
  email_domain_days: {
    project_id: string
    day: Date
    domain: string
    sent: number
    delivered: number
    opened: number
    clicked: number
    machine_opened: number
    machine_clicked: number
    bounced: number
    complained: number
    unsubscribed: number
  }
  email_hits: {
    project_id: string
    email_id: string
    events: number
    machine_events: number
    machine_opened: boolean
    machine_clicked: boolean
    machine_opened_at: Date | null
    machine_clicked_at: Date | null
    recent: unknown
  }
  email_hours: {
    project_id: string
    hour: Date
    source: string
    campaign_id: string
    template_id: string
    workflow_id: string
    sent: number
    delivered: number
    opened: number
    clicked: number
    machine_opened: number
    machine_clicked: number
    bounced: number
    complained: number
    unsubscribed: number
    within_1s: number
    within_2s: number
    within_5s: number
    within_10s: number
    within_30s: number
    within_1m: number
    within_5m: number
    within_15m: number
    within_1h: number
    within_6h: number
    later: number
  }
  email_ledger: {
    project_id: string
    id: string
    kind: string
    n: number
    source: string | null
    hour: Date | null
    campaign_id: string | null
    email_ids: string[] | null
    created_at: Date
  }
  emails: {
    project_id: string
    id: string
    content_id: string
    contact_id: string | null
    to_address: string
    to_name: string | null
    follows_contact: boolean
    vars: unknown | null
    only_vars: boolean
    subject: string | null
    source_type: string
    campaign_id: string | null
    workflow_execution_id: string | null
    workflow_id: string | null
    test: boolean
    metered: boolean | null
    resent_from: string | null
    request_id: string | null
    message_id: string
    state: string
    lane: number
    stream_id: string
    attempts: number
    worker: number | null
    handed_over_at: Date | null
    unknown_since: Date | null
    retried_unknown: boolean
    crashes: number
    timeouts: number
    put_back: number
    failures: number
    first_failed_at: Date | null
    due_at: Date | null
    requeued_at: Date | null
    error: string | null
    error_code: string | null
    provider_id: string | null
    sent_at: Date | null
    delivered_at: Date | null
    opened_at: Date | null
    clicked_at: Date | null
    bounced_at: Date | null
    complained_at: Date | null
    unsubscribed_at: Date | null
    opens: number
    clicks: number
    created_at: Date
    updated_at: Date
    send_at: Date | null
  }
  event_count_deltas: { project_id: string; id: string; name: string; day: Date; count: number }
  event_counts: { project_id: string; name: string; day: Date; count: string }
  events: {
    project_id: string
    id: string
    name: string
    contact_id: string | null
    email_id: string | null
    data: unknown
    created_at: Date
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
    held_at: Date
    plain: boolean
    frequent: boolean
    accepted_before: boolean
    accepted_after: Date | null
    asks: number
    confirmed: boolean
  }
  idempotency_keys: {
    project_id: string
    key: string
    request: string
    status_code: number
    result: unknown
    created_at: Date
    lives_from: Date | null
    body_hash: Buffer | null
  }
  instance: {
    singleton: boolean
    secret_checks: Buffer[]
    transport: string | null
    created_at: Date
    database_identity: string | null
    sending_held_at: Date | null
    sending_held_reason: string | null
    claim_nonce: string
    database_changed_at: Date | null
    database_proven: boolean
    workers_left_at: Date | null
    sending_waits_before: Date | null
    sending_waits_up_to: string | null
    sending_waits_reason: string | null
    sending_waits_for_person: boolean
  }
  invitations: {
    project_id: string
    id: string
    email: string
    role: string
    token_hash: Buffer
    created_at: Date
    expires_at: Date
    link_hash: Buffer | null
    invited_by: string | null
  }
  job_errors: { project_id: string; job_id: string; row: number; subject: string; error: string }
  job_files: { project_id: string; job_id: string; content: Buffer }
  job_pieces: { project_id: string; job_id: string; piece: number; content: string }
  job_workers: { worker_id: string; liveness_key: number }
  jobs: {
    project_id: string
    id: string
    type: string
    state: string
    progress: number
    input: unknown
    position: unknown | null
    result: unknown | null
    failed_reason: string | null
    created_at: Date
    finished_at: Date | null
  }
  key_usage: { project_id: string; kind: string; key_version: number; used_at: Date }
  ledger_checks: { project_id: string; checked_at: Date; drift: unknown | null; drift_at: Date | null }
  listeners: { project_id: string; topic: string; listener: string }
  memberships: { project_id: string; user_id: string; role: string; created_at: Date }
  preview_pages: { project_id: string; id: string; html: string; created_at: Date }
  project_wipes: { project_id: string; requested_at: Date }
  projects: {
    id: string
    name: string
    public_key_hash: Buffer
    secret_key_hash: Buffer
    public_key_sealed: Buffer
    secret_key_sealed: Buffer
    key_version: number
    disabled: boolean
    disabled_reason: string | null
    tracking: string
    language: string
    timezone: string
    customer: string | null
    subscription: string | null
    currency: string | null
    billing_limit_workflows: string | null
    billing_limit_campaigns: string | null
    billing_limit_transactional: string | null
    billing_limit_inbound: string | null
    period_start: Date | null
    period_end: Date | null
    billing_check: number
    settled_to: Date | null
    reset_at: Date | null
    emails_removed_at: Date | null
    created_at: Date
    updated_at: Date
    deleted_at: Date | null
    name_fields: string[]
    brand: unknown
  }
  provider_notifications: {
    id: string
    message: string
    received_at: Date
    due_at: Date | null
    tries: number
    kind: string | null
    project_id: string | null
    email_id: string | null
    details: unknown | null
    error: string | null
  }
  rate_windows: { project_id: string; started_at: Date; leased: number; granted: number }
  reactions: {
    project_id: string
    id: string
    contact_id: string | null
    event_id: string | null
    event_name: string | null
    topics: string[]
    attempts: number
    due_at: Date
    created_at: Date
  }
  refusal_streaks: { project_id: string; domain: string; fingerprint: string; replies: number; first_place: string; last_at: Date }
  reputations: {
    project_id: string
    attempted: string
    bounced: string
    complained: string
    all_attempted: string
    all_bounced: string
    all_complained: string
    since: Date | null
    before_attempted: string
    before_bounced: string
    before_complained: string
    acknowledged_at: Date | null
    acknowledged_by: string | null
    due: boolean
  }
  request_sources: { hour: Date; address: string; requests: string }
  sandbox_messages: {
    project_id: string
    id: string
    email_id: string
    recipient: string
    sender: string
    subject: string
    source: Buffer
    created_at: Date
  }
  segment_due: { project_id: string; contact_id: string; segment_id: string; due_at: Date }
  segment_members: { project_id: string; segment_id: string; contact_id: string; added_at: Date }
  segments: {
    project_id: string
    id: string
    name: string
    description: string | null
    type: string
    condition: unknown | null
    uses: unknown
    slug: string
    track_membership: boolean
    member_count: number
    counted_at: Date | null
    count_estimated: boolean
    count_ms: number
    created_at: Date
    updated_at: Date
  }
  senders: { worker: number; lease_until: Date; slowed_by: string | null; counter: string; timeline: string | null }
  sending_pauses: {
    project_id: string
    domain: string
    reason: string
    cause: string | null
    fingerprint: string | null
    failed_probes: number
    since: Date
    until: Date
    probe_until: Date | null
    verifies: boolean
    escalated: boolean
    probed_alone: number
  }
  sessions: { token_hash: Buffer; user_id: string; network: string; user_agent: string | null; created_at: Date; expires_at: Date }
  soft_bounces: { project_id: string; address: string; email_id: string; forgiven: boolean; created_at: Date }
  stream_rates: { project_id: string; id: string; per_minute: number; unused_since: Date }
  streams: {
    project_id: string
    id: string
    lane: number
    from_domain: string
    paused_at: Date | null
    cancelled_at: Date | null
    expiry_from: Date
    created_at: Date
  }
  stripe_events: { id: string; type: string; received_at: Date }
  suppressions: { project_id: string; address: string; reason: string; created_at: Date }
  suspended_domains: { domain: string; suspended: string; until: Date }
  suspended_owners: { suspended: string; owner: string; address: Buffer; reason: string; at: Date; until: Date }
  suspensions: {
    project_id: string
    id: string
    at: Date
    reason: string
    inherited: boolean
    ends_at: Date | null
    until: Date | null
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
    saved_at: Date
    created_at: Date
    design: unknown | null
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
    version: number
    saved_by: string | null
    saved_at: Date
    created_at: Date
    updated_at: Date
    design: unknown | null
    workflow_id: string | null
  }
  tracked_segments: {
    project_id: string
    segment_id: string
    revision: number
    computed_revision: number | null
    clearing: boolean
    windows: unknown
    swept_at: Date
    created_at: Date
  }
  uploads: { project_id: string; id: string; key: string; content_type: string; size: number; created_at: Date }
  usage_periods: { project_id: string; category: string; period_start: Date; used: string; warned: number }
  usage_reports: {
    project_id: string
    category: string
    hour: Date
    part: number
    value: string
    customer: string
    identifier: string
    at: Date | null
    state: string
    uncertain_since: Date | null
    attempts: number
    due_at: Date
    error: string | null
    created_at: Date
    sent_at: Date | null
  }
  user_tokens: { token_hash: Buffer; user_id: string; purpose: string; created_at: Date; expires_at: Date }
  users: {
    id: string
    email: string
    password_hash: string
    email_verified_at: Date | null
    operator: boolean
    created_at: Date
    updated_at: Date
  }
  webhook_batches: {
    project_id: string
    endpoint_id: string
    id: string
    type: string
    message_ids: string[]
    size: number
    created_at: Date
  }
  webhook_delivered: {
    project_id: string
    id: string
    endpoint_id: string
    message_id: string
    type: string
    attempts: unknown
    payload: unknown | null
    delivered_at: Date
    created_at: Date
  }
  webhook_deliveries: {
    project_id: string
    id: string
    endpoint_id: string
    message_id: string
    type: string
    status: string
    tries: number
    attempts: unknown
    due_at: Date
    payload: unknown | null
    created_at: Date
  }
  webhook_endpoints: {
    project_id: string
    id: string
    url: string
    description: string | null
    events: string[]
    enabled: boolean
    disabled_reason: string | null
    secret: Buffer
    previous: Buffer | null
    previous_until: Date | null
    failing_since: Date | null
    leased_until: Date | null
    created_at: Date
    updated_at: Date
  }
  webhook_hours: { project_id: string; endpoint_id: string; hour: Date; succeeded: number; failed: number; duration_ms: string }
  webhook_messages: {
    project_id: string
    id: string
    type: string
    name: string
    contact_id: string | null
    contact_email: string | null
    email_id: string | null
    data: unknown
    created_at: Date
  }
  webhook_outbox: { project_id: string; id: string; type: string; created_at: Date; message_ids: string[] }
  webhook_runs: {
    project_id: string
    endpoint_id: string
    first_id: string
    id: string
    type: string
    message_ids: string[]
    after_ms: number[]
    statuses: number[]
    durations_ms: number[]
    delivered_at: Date
    created_at: Date
  }
  webhook_secrets: { project_id: string; secret: Buffer; previous: Buffer | null; previous_until: Date | null; created_at: Date }
  workflow_days: { project_id: string; workflow_id: string; day: Date; started: string; created_at: Date }
  workflow_entries: { project_id: string; workflow_id: string; contact_id: string; created_at: Date }
  workflow_executions: {
    project_id: string
    id: string
    workflow_id: string
    version: number
    contact_id: string
    status: string
    current_step_id: string | null
    visits: number
    arrived_at: Date
    arrived_event_id: string | null
    due_at: Date | null
    awaits: string | null
    deadline_at: Date | null
    attempts: number
    webhook_host: string | null
    exit_reason: string | null
    context: unknown
    event: unknown | null
    source_event_id: string | null
    once: boolean
    started_at: Date
    completed_at: Date | null
    created_at: Date
    updated_at: Date
  }
  workflow_figures: { project_id: string; workflow_id: string; subject_id: string; kind: string; n: string; created_at: Date }
  workflow_firings: {
    project_id: string
    id: string
    workflow_id: string
    fired_for: Date
    status: string
    reason: string | null
    after: string | null
    enrolled: number
    created_at: Date
    ended_at: Date | null
  }
  workflow_graphs: {
    project_id: string
    workflow_id: string
    version: number
    graph: unknown
    uses: unknown
    pinned: boolean
    created_at: Date
    saved_by: string | null
  }
  workflow_refusals: {
    project_id: string
    workflow_id: string
    contact_id: string
    hour: Date
    reason: string
    count: number
    created_at: Date
  }
  workflow_step_executions: {
    project_id: string
    execution_id: string
    visit: number
    id: string
    workflow_id: string
    step_id: string
    status: string
    scheduled_for: Date | null
    input: unknown | null
    output: unknown | null
    error: string | null
    email_id: string | null
    started_at: Date
    completed_at: Date | null
  }
  workflow_tallies: { project_id: string; id: string; workflow_id: string; subject_id: string; kind: string; n: number; created_at: Date }
  workflows: {
    project_id: string
    id: string
    name: string
    description: string | null
    trigger_type: string
    trigger_config: unknown
    enabled: boolean
    allow_reentry: boolean
    version: number
    next_firing_at: Date | null
    created_at: Date
    updated_at: Date
  }
}

/** Types of the columns in SQL. */
export const SQL_TYPES: { [Table in keyof Schema]: { [Column in keyof Schema[Table]]: string } } = {
  account_mails: { id: 'uuid', recipient: 'text', subject: 'text', sealed_text: 'bytea', state: 'text', link_expires_at: 'timestamptz', message_token: 'text', attempts: 'int4', failures: 'int2', due_at: 'timestamptz', worker: 'int4', handed_over_at: 'timestamptz', error: 'text', created_at: 'timestamptz' },
  activities: { project_id: 'uuid', id: 'uuid', type: 'text', contact_id: 'uuid', data: 'jsonb', created_at: 'timestamptz' },
  activity_count_deltas: { project_id: 'uuid', id: 'int8', type: 'text', day: 'date', count: 'int8' },
  activity_counts: { project_id: 'uuid', type: 'text', day: 'date', count: 'int8' },
  api_key_hashes: { project_id: 'uuid', key_id: 'uuid', id: 'uuid', hash: 'bytea', sealed: 'bytea', valid_until: 'timestamptz' },
  api_key_uses: { project_id: 'uuid', key_id: 'uuid', used_at: 'timestamptz' },
  api_keys: { project_id: 'uuid', id: 'uuid', kind: 'text', name: 'text', scopes: '_text', sender_domains: '_text', networks: '_text', expires_at: 'timestamptz', prefix: 'text', version: 'int4', created_by: 'uuid', created_at: 'timestamptz' },
  attachments: { project_id: 'uuid', content_id: 'uuid', position: 'int4', filename: 'text', content_type: 'text', cid: 'text', inline: 'bool', bytes: 'bytea' },
  attempts: { scope: 'text', subject: 'bytea', window_ends_at: 'timestamptz', count: 'int4' },
  audit_entries: { project_id: 'uuid', id: 'uuid', created_at: 'timestamptz', actor_type: 'text', actor_id: 'text', actor_name: 'text', action: 'text', target_type: 'text', target_id: 'text', target_name: 'text', changes: 'jsonb', network: 'text' },
  billing_meters: { project_id: 'uuid', category: 'text', since: 'timestamptz', reported_to: 'timestamptz', carry: 'int8' },
  campaign_audit: { project_id: 'uuid', campaign_id: 'uuid', id: 'uuid', action: 'text', actor: 'text', user_id: 'uuid', details: 'jsonb', created_at: 'timestamptz' },
  campaign_excluded: { project_id: 'uuid', campaign_id: 'uuid', contact_id: 'uuid', address: 'text', reason: 'text', created_at: 'timestamptz' },
  campaign_minutes: { project_id: 'uuid', campaign_id: 'uuid', minute: 'timestamptz', sent: 'int4', failed: 'int4', bounced: 'int4', complained: 'int4' },
  campaigns: { project_id: 'uuid', id: 'uuid', name: 'text', description: 'text', subject: 'text', body: 'text', preview_text: 'text', from_address: 'text', from_name: 'text', reply_to: 'text', type: 'text', template_id: 'uuid', audience_type: 'text', segment_id: 'uuid', audience_condition: 'jsonb', uses: 'jsonb', rate_per_minute: 'int4', status: 'text', scheduled_for: 'timestamptz', started_at: 'timestamptz', started_by: 'jsonb', sent_at: 'timestamptz', paused_at: 'timestamptz', paused_reason: 'text', resumed_at: 'timestamptz', content_id: 'uuid', frozen_audience: 'jsonb', freeze_cursor: 'uuid', freeze_due_at: 'timestamptz', freeze_page: 'int4', freeze_attempts: 'int4', frozen_at: 'timestamptz', reserved: 'int4', reserved_for: 'text', resending: 'text', settled_at: 'timestamptz', recounted_at: 'timestamptz', total_recipients: 'int4', sent_count: 'int4', delivered_count: 'int4', opened_count: 'int4', clicked_count: 'int4', machine_opened_count: 'int4', machine_clicked_count: 'int4', bounced_count: 'int4', complained_count: 'int4', unsubscribed_count: 'int4', failed_count: 'int4', skipped_count: 'int4', excluded_unsubscribed: 'int4', excluded_suppressed: 'int4', excluded_invalid: 'int4', counters_closed_at: 'timestamptz', closed_refused_count: 'int4', closed_links: 'jsonb', deleted_at: 'timestamptz', created_at: 'timestamptz', updated_at: 'timestamptz', design: 'jsonb' },
  consents: { project_id: 'uuid', contact_id: 'uuid', id: 'uuid', subscribed: 'bool', source: 'text', details: 'jsonb', created_at: 'timestamptz' },
  contact_count_deltas: { project_id: 'uuid', id: 'int8', total: 'int4', subscribed: 'int4', day: 'date', source: 'text', created: 'int4', created_subscribed: 'int4', opted_in: 'int4', opted_out: 'int4', deleted: 'int4', gone_created: 'int4', gone_created_subscribed: 'int4', gone_opted_in: 'int4', gone_opted_out: 'int4', created_at: 'timestamptz' },
  contact_counts: { project_id: 'uuid', total: 'int8', subscribed: 'int8' },
  contact_days: { project_id: 'uuid', day: 'date', source: 'text', created: 'int4', created_subscribed: 'int4', opted_in: 'int4', opted_out: 'int4', deleted: 'int4', gone_created: 'int4', gone_created_subscribed: 'int4', gone_opted_in: 'int4', gone_opted_out: 'int4' },
  contact_fields: { project_id: 'uuid', key: 'text', type: 'text', contacts: 'int4', counted_at: 'timestamptz' },
  contacts: { project_id: 'uuid', id: 'uuid', email: 'text', subscribed: 'bool', data: 'jsonb', created_by: 'text', created_at: 'timestamptz', updated_at: 'timestamptz', subscription_changed_at: 'timestamptz' },
  contents: { project_id: 'uuid', id: 'uuid', type: 'text', subject: 'text', preview_text: 'text', body: 'text', from_address: 'text', from_name: 'text', reply_to: 'text', headers: 'jsonb', template_id: 'uuid', template_version: 'int4', fingerprint: 'bytea', created_at: 'timestamptz', raw: 'bytea', raw_form: 'text', raw_tracked: 'bool' },
  deleted_contact_fields: { project_id: 'uuid', key: 'text', deleted_at: 'timestamptz' },
  domains: { project_id: 'uuid', id: 'uuid', domain: 'text', status: 'text', verified_by: 'text', verified_at: 'timestamptz', pending_since: 'timestamptz', dkim_selector: 'text', dkim_public_key: 'text', dkim_private_key_sealed: 'bytea', ses_tokens: 'jsonb', ses_zone: 'text', findings: 'jsonb', last_error: 'text', last_checked_at: 'timestamptz', failures: 'int4', next_check_at: 'timestamptz', check_number: 'int4', check_began_at: 'timestamptz', created_at: 'timestamptz', updated_at: 'timestamptz', link_host: 'text', link_host_status: 'text', link_host_pointed: 'bool', link_host_finding: 'jsonb', link_host_error: 'text', link_host_failures: 'int4', link_host_since: 'timestamptz', link_host_next_check_at: 'timestamptz', link_host_verified: 'text' },
  email_counts: { project_id: 'uuid', kind: 'text', hour: 'timestamptz', count: 'int8' },
  email_days: { project_id: 'uuid', day: 'date', source: 'text', campaign_id: 'uuid', template_id: 'uuid', workflow_id: 'uuid', sent: 'int4', delivered: 'int4', opened: 'int4', clicked: 'int4', machine_opened: 'int4', machine_clicked: 'int4', bounced: 'int4', complained: 'int4', unsubscribed: 'int4', within_1s: 'int4', within_2s: 'int4', within_5s: 'int4', within_10s: 'int4', within_30s: 'int4', within_1m: 'int4', within_5m: 'int4', within_15m: 'int4', within_1h: 'int4', within_6h: 'int4', later: 'int4' },
  email_domain_days: { project_id: 'uuid', day: 'date', domain: 'text', sent: 'int4', delivered: 'int4', opened: 'int4', clicked: 'int4', machine_opened: 'int4', machine_clicked: 'int4', bounced: 'int4', complained: 'int4', unsubscribed: 'int4' },
  email_hits: { project_id: 'uuid', email_id: 'uuid', events: 'int4', machine_events: 'int4', machine_opened: 'bool', machine_clicked: 'bool', machine_opened_at: 'timestamptz', machine_clicked_at: 'timestamptz', recent: 'jsonb' },
  email_hours: { project_id: 'uuid', hour: 'timestamptz', source: 'text', campaign_id: 'uuid', template_id: 'uuid', workflow_id: 'uuid', sent: 'int4', delivered: 'int4', opened: 'int4', clicked: 'int4', machine_opened: 'int4', machine_clicked: 'int4', bounced: 'int4', complained: 'int4', unsubscribed: 'int4', within_1s: 'int4', within_2s: 'int4', within_5s: 'int4', within_10s: 'int4', within_30s: 'int4', within_1m: 'int4', within_5m: 'int4', within_15m: 'int4', within_1h: 'int4', within_6h: 'int4', later: 'int4' },
  email_ledger: { project_id: 'uuid', id: 'int8', kind: 'text', n: 'int4', source: 'text', hour: 'timestamptz', campaign_id: 'uuid', email_ids: '_uuid', created_at: 'timestamptz' },
  emails: { project_id: 'uuid', id: 'uuid', content_id: 'uuid', contact_id: 'uuid', to_address: 'text', to_name: 'text', follows_contact: 'bool', vars: 'jsonb', only_vars: 'bool', subject: 'text', source_type: 'text', campaign_id: 'uuid', workflow_execution_id: 'uuid', workflow_id: 'uuid', test: 'bool', metered: 'bool', resent_from: 'uuid', request_id: 'text', message_id: 'text', state: 'text', lane: 'int2', stream_id: 'uuid', attempts: 'int4', worker: 'int4', handed_over_at: 'timestamptz', unknown_since: 'timestamptz', retried_unknown: 'bool', crashes: 'int2', timeouts: 'int2', put_back: 'int2', failures: 'int2', first_failed_at: 'timestamptz', due_at: 'timestamptz', requeued_at: 'timestamptz', error: 'text', error_code: 'text', provider_id: 'text', sent_at: 'timestamptz', delivered_at: 'timestamptz', opened_at: 'timestamptz', clicked_at: 'timestamptz', bounced_at: 'timestamptz', complained_at: 'timestamptz', unsubscribed_at: 'timestamptz', opens: 'int4', clicks: 'int4', created_at: 'timestamptz', updated_at: 'timestamptz', send_at: 'timestamptz' },
  event_count_deltas: { project_id: 'uuid', id: 'int8', name: 'text', day: 'date', count: 'int4' },
  event_counts: { project_id: 'uuid', name: 'text', day: 'date', count: 'int8' },
  events: { project_id: 'uuid', id: 'uuid', name: 'text', contact_id: 'uuid', email_id: 'uuid', data: 'jsonb', created_at: 'timestamptz' },
  former_addresses: { project_id: 'uuid', address: 'text', contact_id: 'uuid' },
  held_refusals: { project_id: 'uuid', email_id: 'uuid', domain: 'text', fingerprint: 'text', reply: 'text', unknown_recipient: 'bool', place: 'int8', held_at: 'timestamptz', plain: 'bool', frequent: 'bool', accepted_before: 'bool', accepted_after: 'timestamptz', asks: 'int2', confirmed: 'bool' },
  idempotency_keys: { project_id: 'uuid', key: 'text', request: 'text', status_code: 'int4', result: 'jsonb', created_at: 'timestamptz', lives_from: 'timestamptz', body_hash: 'bytea' },
  instance: { singleton: 'bool', secret_checks: '_bytea', transport: 'text', created_at: 'timestamptz', database_identity: 'text', sending_held_at: 'timestamptz', sending_held_reason: 'text', claim_nonce: 'uuid', database_changed_at: 'timestamptz', database_proven: 'bool', workers_left_at: 'timestamptz', sending_waits_before: 'timestamptz', sending_waits_up_to: 'uuid', sending_waits_reason: 'text', sending_waits_for_person: 'bool' },
  invitations: { project_id: 'uuid', id: 'uuid', email: 'text', role: 'text', token_hash: 'bytea', created_at: 'timestamptz', expires_at: 'timestamptz', link_hash: 'bytea', invited_by: 'uuid' },
  job_errors: { project_id: 'uuid', job_id: 'uuid', row: 'int4', subject: 'text', error: 'text' },
  job_files: { project_id: 'uuid', job_id: 'uuid', content: 'bytea' },
  job_pieces: { project_id: 'uuid', job_id: 'uuid', piece: 'int4', content: 'text' },
  job_workers: { worker_id: 'text', liveness_key: 'int4' },
  jobs: { project_id: 'uuid', id: 'uuid', type: 'text', state: 'text', progress: 'int4', input: 'jsonb', position: 'jsonb', result: 'jsonb', failed_reason: 'text', created_at: 'timestamptz', finished_at: 'timestamptz' },
  key_usage: { project_id: 'uuid', kind: 'text', key_version: 'int4', used_at: 'timestamptz' },
  ledger_checks: { project_id: 'uuid', checked_at: 'timestamptz', drift: 'jsonb', drift_at: 'timestamptz' },
  listeners: { project_id: 'uuid', topic: 'text', listener: 'text' },
  memberships: { project_id: 'uuid', user_id: 'uuid', role: 'text', created_at: 'timestamptz' },
  preview_pages: { project_id: 'uuid', id: 'uuid', html: 'text', created_at: 'timestamptz' },
  project_wipes: { project_id: 'uuid', requested_at: 'timestamptz' },
  projects: { id: 'uuid', name: 'text', public_key_hash: 'bytea', secret_key_hash: 'bytea', public_key_sealed: 'bytea', secret_key_sealed: 'bytea', key_version: 'int4', disabled: 'bool', disabled_reason: 'text', tracking: 'text', language: 'text', timezone: 'text', customer: 'text', subscription: 'text', currency: 'text', billing_limit_workflows: 'int8', billing_limit_campaigns: 'int8', billing_limit_transactional: 'int8', billing_limit_inbound: 'int8', period_start: 'timestamptz', period_end: 'timestamptz', billing_check: 'int4', settled_to: 'timestamptz', reset_at: 'timestamptz', emails_removed_at: 'timestamptz', created_at: 'timestamptz', updated_at: 'timestamptz', deleted_at: 'timestamptz', name_fields: '_text', brand: 'jsonb' },
  provider_notifications: { id: 'text', message: 'text', received_at: 'timestamptz', due_at: 'timestamptz', tries: 'int2', kind: 'text', project_id: 'uuid', email_id: 'uuid', details: 'jsonb', error: 'text' },
  rate_windows: { project_id: 'uuid', started_at: 'timestamptz', leased: 'int4', granted: 'int4' },
  reactions: { project_id: 'uuid', id: 'uuid', contact_id: 'uuid', event_id: 'uuid', event_name: 'text', topics: '_text', attempts: 'int4', due_at: 'timestamptz', created_at: 'timestamptz' },
  refusal_streaks: { project_id: 'uuid', domain: 'text', fingerprint: 'text', replies: 'int4', first_place: 'int8', last_at: 'timestamptz' },
  reputations: { project_id: 'uuid', attempted: 'int8', bounced: 'int8', complained: 'int8', all_attempted: 'int8', all_bounced: 'int8', all_complained: 'int8', since: 'timestamptz', before_attempted: 'int8', before_bounced: 'int8', before_complained: 'int8', acknowledged_at: 'timestamptz', acknowledged_by: 'text', due: 'bool' },
  request_sources: { hour: 'timestamptz', address: 'text', requests: 'int8' },
  sandbox_messages: { project_id: 'uuid', id: 'uuid', email_id: 'uuid', recipient: 'text', sender: 'text', subject: 'text', source: 'bytea', created_at: 'timestamptz' },
  segment_due: { project_id: 'uuid', contact_id: 'uuid', segment_id: 'uuid', due_at: 'timestamptz' },
  segment_members: { project_id: 'uuid', segment_id: 'uuid', contact_id: 'uuid', added_at: 'timestamptz' },
  segments: { project_id: 'uuid', id: 'uuid', name: 'text', description: 'text', type: 'text', condition: 'jsonb', uses: 'jsonb', slug: 'text', track_membership: 'bool', member_count: 'int4', counted_at: 'timestamptz', count_estimated: 'bool', count_ms: 'int4', created_at: 'timestamptz', updated_at: 'timestamptz' },
  senders: { worker: 'int4', lease_until: 'timestamptz', slowed_by: 'text', counter: 'int8', timeline: 'text' },
  sending_pauses: { project_id: 'uuid', domain: 'text', reason: 'text', cause: 'text', fingerprint: 'text', failed_probes: 'int4', since: 'timestamptz', until: 'timestamptz', probe_until: 'timestamptz', verifies: 'bool', escalated: 'bool', probed_alone: 'int4' },
  sessions: { token_hash: 'bytea', user_id: 'uuid', network: 'text', user_agent: 'text', created_at: 'timestamptz', expires_at: 'timestamptz' },
  soft_bounces: { project_id: 'uuid', address: 'text', email_id: 'uuid', forgiven: 'bool', created_at: 'timestamptz' },
  stream_rates: { project_id: 'uuid', id: 'uuid', per_minute: 'int4', unused_since: 'timestamptz' },
  streams: { project_id: 'uuid', id: 'uuid', lane: 'int2', from_domain: 'text', paused_at: 'timestamptz', cancelled_at: 'timestamptz', expiry_from: 'timestamptz', created_at: 'timestamptz' },
  stripe_events: { id: 'text', type: 'text', received_at: 'timestamptz' },
  suppressions: { project_id: 'uuid', address: 'text', reason: 'text', created_at: 'timestamptz' },
  suspended_domains: { domain: 'text', suspended: 'uuid', until: 'timestamptz' },
  suspended_owners: { suspended: 'uuid', owner: 'uuid', address: 'bytea', reason: 'text', at: 'timestamptz', until: 'timestamptz' },
  suspensions: { project_id: 'uuid', id: 'uuid', at: 'timestamptz', reason: 'text', inherited: 'bool', ends_at: 'timestamptz', until: 'timestamptz', lifted_by: 'text' },
  template_versions: { project_id: 'uuid', template_id: 'uuid', version: 'int4', subject: 'text', preview_text: 'text', body: 'text', from_address: 'text', from_name: 'text', reply_to: 'text', type: 'text', saved_by: 'uuid', saved_at: 'timestamptz', created_at: 'timestamptz', design: 'jsonb' },
  templates: { project_id: 'uuid', id: 'uuid', name: 'text', description: 'text', subject: 'text', preview_text: 'text', body: 'text', from_address: 'text', from_name: 'text', reply_to: 'text', type: 'text', version: 'int4', saved_by: 'uuid', saved_at: 'timestamptz', created_at: 'timestamptz', updated_at: 'timestamptz', design: 'jsonb', workflow_id: 'uuid' },
  tracked_segments: { project_id: 'uuid', segment_id: 'uuid', revision: 'int4', computed_revision: 'int4', clearing: 'bool', windows: 'jsonb', swept_at: 'timestamptz', created_at: 'timestamptz' },
  uploads: { project_id: 'uuid', id: 'uuid', key: 'text', content_type: 'text', size: 'int4', created_at: 'timestamptz' },
  usage_periods: { project_id: 'uuid', category: 'text', period_start: 'timestamptz', used: 'int8', warned: 'int2' },
  usage_reports: { project_id: 'uuid', category: 'text', hour: 'timestamptz', part: 'int4', value: 'int8', customer: 'text', identifier: 'text', at: 'timestamptz', state: 'text', uncertain_since: 'timestamptz', attempts: 'int4', due_at: 'timestamptz', error: 'text', created_at: 'timestamptz', sent_at: 'timestamptz' },
  user_tokens: { token_hash: 'bytea', user_id: 'uuid', purpose: 'text', created_at: 'timestamptz', expires_at: 'timestamptz' },
  users: { id: 'uuid', email: 'text', password_hash: 'text', email_verified_at: 'timestamptz', operator: 'bool', created_at: 'timestamptz', updated_at: 'timestamptz' },
  webhook_batches: { project_id: 'uuid', endpoint_id: 'uuid', id: 'uuid', type: 'text', message_ids: '_uuid', size: 'int4', created_at: 'timestamptz' },
  webhook_delivered: { project_id: 'uuid', id: 'uuid', endpoint_id: 'uuid', message_id: 'uuid', type: 'text', attempts: 'jsonb', payload: 'jsonb', delivered_at: 'timestamptz', created_at: 'timestamptz' },
  webhook_deliveries: { project_id: 'uuid', id: 'uuid', endpoint_id: 'uuid', message_id: 'uuid', type: 'text', status: 'text', tries: 'int4', attempts: 'jsonb', due_at: 'timestamptz', payload: 'jsonb', created_at: 'timestamptz' },
  webhook_endpoints: { project_id: 'uuid', id: 'uuid', url: 'text', description: 'text', events: '_text', enabled: 'bool', disabled_reason: 'text', secret: 'bytea', previous: 'bytea', previous_until: 'timestamptz', failing_since: 'timestamptz', leased_until: 'timestamptz', created_at: 'timestamptz', updated_at: 'timestamptz' },
  webhook_hours: { project_id: 'uuid', endpoint_id: 'uuid', hour: 'timestamptz', succeeded: 'int4', failed: 'int4', duration_ms: 'int8' },
  webhook_messages: { project_id: 'uuid', id: 'uuid', type: 'text', name: 'text', contact_id: 'uuid', contact_email: 'text', email_id: 'uuid', data: 'jsonb', created_at: 'timestamptz' },
  webhook_outbox: { project_id: 'uuid', id: 'uuid', type: 'text', created_at: 'timestamptz', message_ids: '_uuid' },
  webhook_runs: { project_id: 'uuid', endpoint_id: 'uuid', first_id: 'uuid', id: 'uuid', type: 'text', message_ids: '_uuid', after_ms: '_int4', statuses: '_int2', durations_ms: '_int4', delivered_at: 'timestamptz', created_at: 'timestamptz' },
  webhook_secrets: { project_id: 'uuid', secret: 'bytea', previous: 'bytea', previous_until: 'timestamptz', created_at: 'timestamptz' },
  workflow_days: { project_id: 'uuid', workflow_id: 'uuid', day: 'date', started: 'int8', created_at: 'timestamptz' },
  workflow_entries: { project_id: 'uuid', workflow_id: 'uuid', contact_id: 'uuid', created_at: 'timestamptz' },
  workflow_executions: { project_id: 'uuid', id: 'uuid', workflow_id: 'uuid', version: 'int4', contact_id: 'uuid', status: 'text', current_step_id: 'uuid', visits: 'int4', arrived_at: 'timestamptz', arrived_event_id: 'uuid', due_at: 'timestamptz', awaits: 'text', deadline_at: 'timestamptz', attempts: 'int4', webhook_host: 'text', exit_reason: 'text', context: 'jsonb', event: 'jsonb', source_event_id: 'uuid', once: 'bool', started_at: 'timestamptz', completed_at: 'timestamptz', created_at: 'timestamptz', updated_at: 'timestamptz' },
  workflow_figures: { project_id: 'uuid', workflow_id: 'uuid', subject_id: 'uuid', kind: 'text', n: 'int8', created_at: 'timestamptz' },
  workflow_firings: { project_id: 'uuid', id: 'uuid', workflow_id: 'uuid', fired_for: 'timestamptz', status: 'text', reason: 'text', after: 'uuid', enrolled: 'int4', created_at: 'timestamptz', ended_at: 'timestamptz' },
  workflow_graphs: { project_id: 'uuid', workflow_id: 'uuid', version: 'int4', graph: 'jsonb', uses: 'jsonb', pinned: 'bool', created_at: 'timestamptz', saved_by: 'uuid' },
  workflow_refusals: { project_id: 'uuid', workflow_id: 'uuid', contact_id: 'uuid', hour: 'timestamptz', reason: 'text', count: 'int4', created_at: 'timestamptz' },
  workflow_step_executions: { project_id: 'uuid', execution_id: 'uuid', visit: 'int4', id: 'uuid', workflow_id: 'uuid', step_id: 'uuid', status: 'text', scheduled_for: 'timestamptz', input: 'jsonb', output: 'jsonb', error: 'text', email_id: 'uuid', started_at: 'timestamptz', completed_at: 'timestamptz' },
  workflow_tallies: { project_id: 'uuid', id: 'int8', workflow_id: 'uuid', subject_id: 'uuid', kind: 'text', n: 'int4', created_at: 'timestamptz' },
  workflows: { project_id: 'uuid', id: 'uuid', name: 'text', description: 'text', trigger_type: 'text', trigger_config: 'jsonb', enabled: 'bool', allow_reentry: 'bool', version: 'int4', next_firing_at: 'timestamptz', created_at: 'timestamptz', updated_at: 'timestamptz' },
}
