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
