import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { DASHBOARD_ROOMS } from './dashboard-rooms.ts'
import { LAYERS } from './layers.ts'
import { importsOf, type Rooms, type Source, unlistedRooms, upwardImports } from './support/rooms.ts'

/** Files at the top of `server/src` are the composition root: they may import everything, and nothing may import them. */
const ROOMS: Rooms = {
  '': LAYERS,
  campaigns: ['draft', 'ledger', 'sending'],
  conditions: ['text'],
  contacts: ['record', 'fields', 'changes', 'selection', 'csv'],
  db: ['errors', 'connections', 'embedded'],
  delivery: ['transport', 'rules', 'outbox', 'message', 'feedback', 'emails', 'sender'],
  'delivery/feedback': ['reports', 'ses'],
  'delivery/message': ['links', 'stored'],
  'delivery/outbox': ['streams', 'workers', 'contents', 'outcomes', 'refusals'],
  'delivery/sender': ['limits', 'ledger', 'failover'],
  domains: ['sender-domains', 'link-hosts'],
  http: ['core', 'limits', 'auth', 'openapi'],
  lib: ['text', 'errors', 'collections', 'calendar', 'process', 'concurrency', 'fair', 'threads', 'http-client', 'network', 'smtp'],
  mime: ['encoding', 'html', 'compiled', 'raw'],
  projects: ['csv', 'api-keys', 'audit'],
  segments: ['definition', 'evaluation', 'tracking', 'members'],
  send: ['acceptance', 'submission'],
  templates: ['language', 'fast', 'rendering', 'design', 'starters'],
  workflows: ['steps', 'definition', 'recipes', 'executions', 'webhooks', 'insight'],
}

/** More files than this in one folder are not found by looking: it gets sub-folders by subject. */
const MAX_FLAT_FILES = 20
const WITHOUT_CROWDS = ['server/src', 'server/test', 'server/chaos', 'dashboard/src', 'dashboard/test', 'sdk/src', 'sdk/test', 'bench']

/** Any folder may read any table. Only its owner writes it. */
const OWNERS: Record<string, string> = {
  account_mails: 'account-emails',
  activities: 'events',
  activity_count_deltas: 'events',
  activity_counts: 'events',
  attachments: 'delivery',
  api_key_hashes: 'projects',
  api_key_uses: 'http',
  api_keys: 'projects',
  attempts: 'http',
  audit_entries: 'http',
  billing_meters: 'billing',
  campaign_audit: 'campaigns',
  campaign_excluded: 'campaigns',
  campaign_minutes: 'campaigns',
  campaigns: 'campaigns',
  consents: 'contacts',
  contact_count_deltas: 'contacts',
  contact_counts: 'contacts',
  contact_days: 'contacts',
  contact_fields: 'contacts',
  contacts: 'contacts',
  contents: 'delivery',
  deleted_contact_fields: 'contacts',
  domains: 'domains',
  email_counts: 'projects',
  email_days: 'analytics',
  email_domain_days: 'analytics',
  email_hits: 'opens-clicks',
  email_hours: 'analytics',
  email_ledger: 'delivery',
  emails: 'delivery',
  event_count_deltas: 'events',
  event_counts: 'events',
  events: 'events',
  events_default: 'events',
  former_addresses: 'contacts',
  held_refusals: 'delivery',
  idempotency_keys: 'http',
  instance: 'nodes',
  invitations: 'projects',
  key_usage: 'http',
  ledger_checks: 'ledger',
  listeners: 'events',
  memberships: 'projects',
  job_errors: 'jobs',
  job_files: 'jobs',
  job_pieces: 'jobs',
  job_workers: 'jobs',
  jobs: 'jobs',
  migrations: 'db',
  preview_pages: 'templates',
  project_wipes: 'projects',
  projects: 'projects',
  provider_notifications: 'delivery',
  rate_windows: 'http',
  reactions: 'events',
  refusal_streaks: 'delivery',
  reputations: 'reputation',
  request_sources: 'http',
  sandbox_messages: 'delivery',
  segment_members: 'segments',
  segments: 'segments',
  segment_due: 'segments',
  senders: 'delivery',
  sessions: 'auth',
  soft_bounces: 'delivery',
  sending_pauses: 'delivery',
  stream_rates: 'delivery',
  streams: 'delivery',
  stripe_events: 'billing',
  suppressions: 'delivery',
  suspended_domains: 'projects',
  suspended_owners: 'projects',
  suspensions: 'projects',
  template_versions: 'templates',
  templates: 'templates',
  uploads: 'uploads',
  tracked_segments: 'segments',
  usage_periods: 'projects',
  usage_reports: 'billing',
  user_tokens: 'auth',
  users: 'auth',
  webhook_batches: 'webhook-endpoints',
  webhook_delivered: 'webhook-endpoints',
  webhook_delivered_default: 'webhook-endpoints',
  webhook_deliveries: 'webhook-endpoints',
  webhook_endpoints: 'webhook-endpoints',
  webhook_hours: 'webhook-endpoints',
  webhook_messages: 'webhooks',
  webhook_messages_default: 'webhooks',
  webhook_outbox: 'webhooks',
  webhook_runs: 'webhook-endpoints',
  webhook_runs_default: 'webhook-endpoints',
  webhook_secrets: 'workflows',
  workflow_days: 'workflows',
  workflow_entries: 'workflows',
  workflow_executions: 'workflows',
  workflow_figures: 'workflows',
  workflow_firings: 'workflows',
  workflow_graphs: 'workflows',
  workflow_refusals: 'workflows',
  workflow_step_executions: 'workflows',
  workflow_tallies: 'workflows',
  workflows: 'workflows',
}

const SRC = fileURLToPath(new URL('../../src', import.meta.url))
const DASHBOARD = fileURLToPath(new URL('../../../dashboard/src', import.meta.url))

const readSources = (folder: string): Source[] =>
  (readdirSync(folder, { recursive: true }) as string[])
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => ({ file, code: readFileSync(join(folder, file), 'utf8') }))
const sources = readSources(SRC)
const pages = readSources(DASHBOARD)

const folderOf = (path: string) => (path.includes('/') ? path.split('/')[0]! : '')

/** Imports that close a cycle. Those of types alone do not exist when the code runs. */
function importCycles(files: Source[]) {
  const run = ({ file, code }: Source) =>
    importsOf({ file, code: code.replaceAll(/^import (?:type [^;]*?|\{(?:\s*type \w+,?)+\s*\}) from '[^']+'/gm, '') })
  const imports = new Map(files.map((source) => [source.file, run(source)]))
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (file: string, path: string[]) => {
    if (path.includes(file)) return void cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
    if (done.has(file)) return
    for (const target of imports.get(file) ?? []) visit(target, [...path, file])
    done.add(file)
  }
  for (const file of imports.keys()) visit(file, [])
  return cycles
}

/** Folders with more files than a reader can survey, without their sub-folders. */
function crowdedFolders(files: Source[]) {
  const sizes = new Map<string, number>()
  for (const { file } of files) sizes.set(dirname(file), (sizes.get(dirname(file)) ?? 0) + 1)
  return [...sizes].filter(([, size]) => size > MAX_FLAT_FILES).map(([folder]) => folder)
}

/** Query keys that a file of the dashboard builds outside `data/`, and invalidations of more or less than a noun. */
const strayKeys = (files: Source[]) =>
  files
    .filter(({ file, code }) => !file.startsWith('data/') && /(?<!\.)\bqueryKey\b|\bkeysOf\(|\binvalidateQueries\([^)]/.test(code))
    .map(({ file }) => file)

/** Keys that are built twice in `data/`, as `noun part`: by `key = keysOf(noun)` and `key(projectId, part, …)`, or by `queryKey: [part`. */
function duplicateKeys(files: Source[]) {
  const keys = files.flatMap(({ code }) => [
    ...[...code.matchAll(/queryKey: \[('[^']+')/g)].map(([, part]) => part!),
    ...[...code.matchAll(/const (\w+) = keysOf\('([^']+)'\)/g)].flatMap(([, make, noun]) => [
      noun!,
      ...[...code.matchAll(new RegExp(`queryKey: ${make}\\(projectId((?:, '[^']+')+)`, 'g'))].map(([, parts]) => `${noun}${parts}`),
    ]),
  ])
  return keys.filter((key, index) => keys.indexOf(key) < index)
}

const EXPORT = /^export (?:abstract |async )?(?:const|let|function\*?|class|type) (\w+)/gm

/** Names that two files export. A type and its schema may share one name in one file. */
function duplicateExports(files: Source[]) {
  const exporters = new Map<string, Set<string>>()
  for (const { file, code } of files.filter((source) => !/\.test\.tsx?$/.test(source.file)))
    for (const [, name] of code.matchAll(EXPORT)) exporters.set(name!, (exporters.get(name!) ?? new Set()).add(file))
  return [...exporters].filter(([, from]) => from.size > 1).map(([name, from]) => `${name}: ${[...from].join(', ')}`)
}

const WRITE =
  /(?:insert into|(?<!do )(?<!for )update|delete from|truncate) (?!set\b|skip\b)(\w+)|(?:insertInto|updateTable|deleteFrom|insertRows|updateFrom|wipeSql|wipeRows|dropRows|keepNewest)\((?:tx, )?\s*'(\w+)'/g

const foreignWrites = (files: Source[]) =>
  files.flatMap(({ file, code }) =>
    [...code.matchAll(WRITE)]
      .map(([, raw, built]) => (raw ?? built)!)
      .filter((table) => OWNERS[table] && OWNERS[table] !== folderOf(file))
      .map((table) => `${file} writes ${table}`),
  )

/**
 * Writes on a pool instead of a transaction, as `file table`. Each is one statement, which is committed when it is answered: before the
 * last byte of a message leaves (mark), after its outcome is known (settle), and before the call that it counts (quotas, rate limit).
 */
const POOL_WRITES = [
  'delivery/outbox/mark.ts emails',
  'http/limits/quotas.ts attempts',
  'http/limits/quotas.ts attempts',
  'http/limits/rate-limit.ts rate_windows',
]

const RUN = /\b(?:many|one|maybeOne|maybeScalar|scalars?|countAffected)(?:<[^`]*?>)?\(\s*(?!tx\b)\w+(?:,|\)`)/g
const EXECUTE = /\.execute\(\s*(?![\s()]|tx\b)/g
const BUILD = /\b(?!tx\b)\w+\.(?=(?:insertInto|updateTable|deleteFrom)\()/g

function argumentsFrom(code: string, start: number) {
  let open = 1
  let end = start
  for (; end < code.length && open; end++) if ('()'.includes(code[end]!)) open += code[end] === '(' ? 1 : -1
  return code.slice(start, end)
}

/** The template whose text begins there, with those inside it. */
function templateFrom(code: string, start: number) {
  const open = ['`']
  let end = start
  for (; end < code.length && open.length; end++) {
    const isText = open.at(-1) === '`'
    if (code[end] === '`' && !isText) open.push('`')
    else if (code[end] === '{' && (!isText || code[end - 1] === '$')) open.push('{')
    else if (code[end] === (isText ? '`' : '}')) open.pop()
  }
  return code.slice(start, end)
}

/** The code of the functions and statements that `text` uses and `code` declares, in the way of `settleSql(…)` and `MARK.with(…)`. */
const declarationsOf = (code: string, text: string) =>
  [...text.matchAll(/\b(\w+)(?:\.with)?\(/g)].map(
    ([, name]) => new RegExp(`^(?:const|function) ${name}\\b[\\s\\S]*?\\n\\}?\\n`, 'm').exec(code)?.[0] ?? '',
  )

/** Only the first table of a statement: the others are written by the same one. */
const firstWrite = (text: string) => {
  const [[, raw, built] = []] = text.matchAll(WRITE)
  return raw ?? built
}

/** Statements that write and are run on anything but a `tx`, which is a transaction wherever a parameter has this name. */
const poolWrites = (files: Source[]) =>
  files.flatMap(({ file, code }) => {
    const run = [...code.matchAll(RUN)].map(({ index, 0: call }) =>
      (call.endsWith('`') ? templateFrom : argumentsFrom)(code, index + call.length),
    )
    const executed = [...code.matchAll(EXECUTE)].map(({ index }) => code.slice(code.lastIndexOf('\n\n', index), index))
    const built = [...code.matchAll(BUILD)].map(({ index, 0: handle }) => code.slice(index + handle.length, index + 100))
    const tables = [
      ...run.map((text) => firstWrite([text, ...declarationsOf(code, text)].join('\n'))),
      ...executed.map(firstWrite),
      ...built.map(firstWrite),
    ]
    const misnamed = /\btx: (?!Tx\b)\w+/.exec(code)?.[0]
    return [...tables.flatMap((table) => (table ? `${file} ${table}` : [])), ...(misnamed ? [`${file} ${misnamed}`] : [])]
  })

test('sub-folders have an order, at every depth', () => {
  expect(unlistedRooms(sources, ROOMS)).toEqual([])
})

test('imports only point down, at every depth', () => {
  expect(upwardImports(sources, ROOMS)).toEqual([])
})

test('no file imports itself through others', () => {
  expect(importCycles(sources)).toEqual([])
  expect(importCycles(pages)).toEqual([])
})

test('imports of the dashboard only point down, at every depth', () => {
  expect(unlistedRooms(pages, DASHBOARD_ROOMS)).toEqual([])
  expect(upwardImports(pages, DASHBOARD_ROOMS)).toEqual([])
})

test('no folder holds more files than a reader can survey', () => {
  for (const folder of WITHOUT_CROWDS)
    expect(crowdedFolders(readSources(fileURLToPath(new URL(`../../../${folder}`, import.meta.url))))).toEqual([])
})

test('an exported name is unique', () => {
  expect(duplicateExports(sources)).toEqual([])
  expect(duplicateExports(pages)).toEqual([])
})

test('a query of the dashboard has one key, which its noun in data/ owns', () => {
  expect(strayKeys(pages)).toEqual([])
  expect(duplicateKeys(pages.filter(({ file }) => file.startsWith('data/')))).toEqual([])
})

test('a table is written only by its owner', () => {
  expect(foreignWrites(sources)).toEqual([])
})

test('advisory locks are those of one list', () => {
  const takers = sources
    .filter(({ file, code }) => /pg_\w*advisory_\w*lock/.test(code) && !['db', 'nodes'].includes(folderOf(file)))
    .map(({ file }) => file)
  expect(takers).toEqual(['ledger/locks.ts'])
})

test('writes happen in a transaction, but for the known single statements', () => {
  expect(poolWrites(sources.filter(({ file }) => !file.endsWith('.test.ts'))).sort()).toEqual(POOL_WRITES)
})

test('every table has an owner', () => {
  const schema = readFileSync(join(SRC, 'db/schema.ts'), 'utf8')
  const tables = [...schema.matchAll(/^ {2}(\w+): \{$/gm)].map(([, table]) => table!)
  expect(tables.filter((table) => !OWNERS[table])).toEqual([])
})

test('the rules detect violations', () => {
  const climbing = { file: 'ui/form/button.tsx', code: `import { x } from '../../data/keys.ts'` }
  expect(upwardImports([climbing], DASHBOARD_ROOMS)).toEqual(['ui/form/button.tsx -> data/keys.ts'])
  expect(
    importCycles([
      { file: 'a.ts', code: `import { x } from './b.ts'` },
      { file: 'b.ts', code: `import { y } from './a.ts'` },
    ]),
  ).toEqual(['a.ts -> b.ts -> a.ts'])
  const crossing = { file: 'features/keys/page.tsx', code: `import { x } from '../team/roles.ts'` }
  expect(upwardImports([crossing], DASHBOARD_ROOMS)).toEqual(['features/keys/page.tsx -> features/team/roles.ts'])
  expect(
    duplicateExports([
      { file: 'a.ts', code: 'export const x = 1\nexport type x = 1' },
      { file: 'b.ts', code: 'export function x() {}' },
    ]),
  ).toEqual(['x: a.ts, b.ts'])
  expect(strayKeys([{ file: 'features/keys/page.tsx', code: `useQuery({ queryKey: ['keys'] })` }])).toEqual(['features/keys/page.tsx'])
  expect(strayKeys([{ file: 'list/list.ts', code: 'queries.invalidateQueries(keyUsageQuery(id))' }])).toEqual(['list/list.ts'])
  expect(strayKeys([{ file: 'list/list.ts', code: 'setQueryData(page.queryKey, x); queries.invalidateQueries()' }])).toEqual([])
  expect(
    duplicateKeys([
      { file: 'data/a.ts', code: `const key = keysOf('a')\nqueryKey: key(projectId, 'one', id)\nqueryKey: key(projectId, 'one', other)` },
      { file: 'data/b.ts', code: `const aKey = keysOf('a')\nqueryKey: ['me']` },
      { file: 'data/c.ts', code: `queryKey: ['me']` },
    ]),
  ).toEqual(["a, 'one'", 'a', "'me'"])
  expect(crowdedFolders(Array.from({ length: MAX_FLAT_FILES + 1 }, (_, index) => ({ file: `ui/${index}.ts`, code: '' })))).toEqual(['ui'])
  const upward = (file: string, target: string) => upwardImports([{ file, code: `import { x } from '${target}'` }], ROOMS)
  expect(upward('http/auth.ts', '../projects/keys.ts')).toEqual(['http/auth.ts -> projects/keys.ts'])
  expect(upward('http/auth.ts', '../account-emails/account-email.ts')).toEqual(['http/auth.ts -> account-emails/account-email.ts'])
  expect(upward('http/auth/auth.ts', '../../projects/keys.ts')).toEqual(['http/auth/auth.ts -> projects/keys.ts'])
  expect(upward('auth/login.ts', '../http/server.ts')).toEqual([])
  expect(upwardImports([{ file: 'auth/login.ts', code: `await import('../main.ts')` }], ROOMS)).toEqual(['auth/login.ts -> main.ts'])
  expect(upward('delivery/outbox/mark.ts', '../sender/gate.ts')).toEqual(['delivery/outbox/mark.ts -> delivery/sender/gate.ts'])
  expect(upward('http/limits/bounds.ts', '../server.ts')).toEqual(['http/limits/bounds.ts -> http/server.ts'])
  expect(upward('http/limits/bounds.ts', '../auth/auth.ts')).toEqual(['http/limits/bounds.ts -> http/auth/auth.ts'])
  expect(upward('http/auth/auth.ts', '../limits/bounds.ts')).toEqual([])
  expect(upward('http/server.ts', './auth/auth.ts')).toEqual([])
  const files = [
    { file: 'ui/page/page.ts', code: '' },
    { file: 'ui/form/field.ts', code: '' },
  ]
  expect(unlistedRooms(files, { '': ['ui'], ui: ['form', 'page'] })).toEqual([])
  expect(unlistedRooms(files, { '': ['ui'], ui: ['form', 'text'] })).toEqual([`sub-folders of 'ui': form, page; listed: form, text`])
  expect(unlistedRooms(files, { '': ['ui', 'data'] })).toEqual([
    `sub-folders of '': ui; listed: data, ui`,
    `sub-folders of 'ui': form, page; listed: none`,
  ])
  expect(foreignWrites([{ file: 'auth/login.ts', code: 'sql`update projects set name = 1`' }])).toEqual(['auth/login.ts writes projects'])
  expect(foreignWrites([{ file: 'http/auth.ts', code: `tx.deleteFrom('sessions')` }])).toEqual(['http/auth.ts writes sessions'])
  expect(foreignWrites([{ file: 'http/auth.ts', code: `wipeRows(tx, 'sessions', scope)` }])).toEqual(['http/auth.ts writes sessions'])
  expect(foreignWrites([{ file: 'http/auth.ts', code: `wipeSql('sessions', scope)` }])).toEqual(['http/auth.ts writes sessions'])
  expect(foreignWrites([{ file: 'http/auth.ts', code: `insertRows('sessions', rows, ['id'])` }])).toEqual(['http/auth.ts writes sessions'])
  expect(poolWrites([{ file: 'a.ts', code: "many(db, prepared`${updateFrom('emails', rows, keys)}`)" }])).toEqual(['a.ts emails'])
  expect(foreignWrites([{ file: 'auth/login.ts', code: 'sql`select 1 from projects for update skip locked`' }])).toEqual([])
  expect(poolWrites([{ file: 'a.ts', code: 'many(db, sql`update emails set x = 1`)' }])).toEqual(['a.ts emails'])
  expect(poolWrites([{ file: 'a.ts', code: `one<{ a: x; b: () => y }>(db)\`\${a ? sql\`b\` : c} update emails set x = 1\`` }])).toEqual([
    'a.ts emails',
  ])
  expect(poolWrites([{ file: 'a.ts', code: 'many<Row>(db)`select 1`\ncountAffected(tx)`delete from jobs`' }])).toEqual([])
  expect(poolWrites([{ file: 'a.ts', code: 'one(\n  pool,\n  sql`insert into jobs (id) values (f(1))`)' }])).toEqual(['a.ts jobs'])
  expect(poolWrites([{ file: 'a.ts', code: '\n\nconst save = (db: Pool) => sql`delete from jobs`.execute(db)' }])).toEqual(['a.ts jobs'])
  expect(poolWrites([{ file: 'a.ts', code: 'many(db, saveSql(1))\n\nfunction saveSql() {\n  return sql`delete from jobs`\n}\n' }])).toEqual(
    ['a.ts jobs'],
  )
  expect(poolWrites([{ file: 'a.ts', code: 'const DROP = prepared`delete from jobs`\n\nmany(db, DROP.with({ a: 1 }))' }])).toEqual([
    'a.ts jobs',
  ])
  expect(poolWrites([{ file: 'a.ts', code: `db.deleteFrom('jobs').execute()` }])).toEqual(['a.ts jobs'])
  expect(poolWrites([{ file: 'a.ts', code: 'const f = (tx: Pool) => 1' }])).toEqual(['a.ts tx: Pool'])
  expect(poolWrites([{ file: 'a.ts', code: 'many(tx, sql`update emails set x = 1`)' }])).toEqual([])
  expect(poolWrites([{ file: 'a.ts', code: 'many(db, sql`select 1 from emails for update`)' }])).toEqual([])
})
