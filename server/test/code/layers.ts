/** The files at the top of `server/src`, the composition root: they may import everything, and nothing may import them. */
export const ROOT_FILES: Record<string, string> = {
  'main.ts': 'starts and stops the process; loads only what its role needs',
  'cli.ts': 'the command line',
  'app.ts': 'every route module, in one list',
  'worker.ts': 'all background work: job handlers, cron, the sender, the SMTP listener',
  'worker-app.ts': 'what a worker answers over HTTP: `/health` and `/ready`',
  'agenda.ts': 'one statement that finds out which tasks of a worker have something due',
  'ledgers.ts': 'every sum that is kept by deltas: folded, checked and recounted',
  'wipers.ts': 'what a project reset deletes',
  'housekeeping.ts': 'what is deleted by age',
  'email-retention.ts': 'removes old emails: closes campaigns, then page by page',
}

/** Lowest layer first, with what each folder does. A folder may import from lower layers, never from its own layer or above. */
export const FOLDERS: Record<string, string>[] = [
  { lib: 'config, errors, ids, secrets, addresses, DNS, queues and caches' },
  { mime: 'MIME: compose, encode, DKIM signature, HTML to text, compiled HTML; received messages; pure' },
  { db: 'pool, migrations, embedded PostgreSQL' },
  { nodes: 'the nodes of an installation: presence, joining, holds of sending, connections' },
  { ledger: 'sums kept by deltas, with their checks and repairs; loops over projects; advisory locks' },
  { webhooks: 'shared by WEBHOOK steps and endpoints: facts, signatures, retries, calls in turns' },
  {
    http: 'what all routes share: auth, limits, validation, paging, errors',
    jobs: 'the job engine',
    'account-emails': 'emails to account holders: verification, reset, invitations',
  },
  {
    projects: 'the tenant: keys, members, invitations, wiping, counts of emails, caps, suspensions',
    events: 'recording, counting and listing events',
  },
  {
    contacts: 'contacts, their data, subscription, consent, import, bulk jobs',
    domains: 'sender domains, their DKIM keys and checks; link hosts',
    uploads: 'images',
  },
  {
    preferences: 'links, pages and footer for unsubscribing',
    conditions: 'the filter language: one tree, read as schema, SQL, matcher and explanation',
  },
  { templates: 'the template language, rendering, designs, stored templates' },
  { delivery: 'everything between a queued row and the final state of an email' },
  { segments: 'dynamic and static segments: members, counts, preview, entries and exits' },
  {
    track: '`POST /v1/track`: accepts events',
    send: '`POST /v1/send`, and SMTP submission: accepts emails',
    campaigns: 'one email to many contacts: audience, recipients, schedule, pauses, counters',
    workflows: 'steps that contacts are taken through: graphs, executions, schedules, webhooks',
    verify: '`POST /v1/verify`: can this address receive email?',
    'opens-clicks': 'the pixel and the rewritten links: opens and clicks',
    inbound: 'the SMTP listener: reads messages and hands them over',
  },
  {
    auth: 'accounts, sessions, sign-in',
    usage: 'where an event name, a contact field or a template is used',
    billing: 'Stripe: checkout, notifications, reports of usage; limits and their emails',
    reputation: 'bounce and complaint rates: levels, disabling, acknowledging',
    activity: 'the feed: events and recorded activities as one list',
    'webhook-endpoints': "notifies customers' servers: endpoints, deliveries, replays",
    analytics: 'roll-ups of emails, their recount, and the figures read from them',
  },
  {
    doctor: 'checks of an installation, and rewriting what former secret keys sealed',
    monitoring: 'metrics and traces',
    backup: 'copies an installation with the embedded database, and restores it',
    moving: 'a project as a file: export, import, and what becomes of each table',
  },
]

export const LAYERS = FOLDERS.map((layer) => Object.keys(layer))
