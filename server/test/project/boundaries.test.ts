import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** Ground floor first. A folder may import from lower floors, never from its own floor or above. */
const FLOORS = [
  'lib',
  'mime',
  'db',
  'http jobs account-emails',
  'events projects conditions',
  'contacts domains uploads',
  'preferences',
  'templates',
  'delivery',
  'segments',
  'track send verify opens-clicks inbound campaigns workflows public',
  'activity analytics usage billing auth',
].map((line) => line.split(' '))

/** Any folder may read any table. Only its owner writes it. */
const OWNERS: Record<string, string> = {
  account_mails: 'account-emails',
  attachments: 'delivery',
  attempts: 'http',
  consents: 'contacts',
  contact_counts: 'contacts',
  contact_fields: 'contacts',
  contacts: 'contacts',
  contents: 'delivery',
  domains: 'domains',
  email_hits: 'opens-clicks',
  emails: 'delivery',
  event_count_deltas: 'events',
  event_counts: 'events',
  events: 'events',
  events_default: 'events',
  idempotency_keys: 'http',
  instance: 'db',
  invitations: 'projects',
  listeners: 'events',
  memberships: 'projects',
  job_errors: 'jobs',
  job_files: 'jobs',
  job_workers: 'jobs',
  jobs: 'jobs',
  migrations: 'db',
  project_wipes: 'projects',
  projects: 'projects',
  provider_notifications: 'delivery',
  rate_windows: 'http',
  reactions: 'events',
  sandbox_messages: 'delivery',
  senders: 'delivery',
  sessions: 'auth',
  soft_bounces: 'delivery',
  sending_pauses: 'delivery',
  suppressions: 'delivery',
  templates: 'templates',
  uploads: 'uploads',
  user_tokens: 'auth',
  users: 'auth',
}

type Source = { file: string; code: string }

const SRC = fileURLToPath(new URL('../../src', import.meta.url))
const sources: Source[] = (readdirSync(SRC, { recursive: true }) as string[])
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file, code: readFileSync(join(SRC, file), 'utf8') }))

/** Files that lie in no folder are the roof: they may use everything, and nothing may use them. */
const ROOF = FLOORS.length
const folderOf = (path: string) => (path.includes('/') ? path.split('/')[0]! : '')
const floorOf = (path: string) => (folderOf(path) === '' ? ROOF : FLOORS.findIndex((floor) => floor.includes(folderOf(path))))

const climbing = (files: Source[]) =>
  files.flatMap(({ file, code }) =>
    [...code.matchAll(/(?: from |import\()'(\.\.?\/[^']+)'/g)]
      .map(([, target]) => join(dirname(file), target!))
      .filter((target) => folderOf(target) !== folderOf(file) && floorOf(target) >= floorOf(file))
      .map((target) => `${file} -> ${target}`),
  )

const WRITE =
  /(?:insert into|(?<!do )(?<!for )update|delete from|truncate) (?!set\b|skip\b)(\w+)|(?:insertInto|updateTable|deleteFrom)\('(\w+)'/g

const trespassing = (files: Source[]) =>
  files.flatMap(({ file, code }) =>
    [...code.matchAll(WRITE)]
      .map(([, raw, built]) => (raw ?? built)!)
      .filter((table) => OWNERS[table] && OWNERS[table] !== folderOf(file))
      .map((table) => `${file} writes ${table}`),
  )

test('every folder has a floor', () => {
  const homeless = sources.filter(({ file }) => floorOf(file) === -1).map(({ file }) => file)
  expect(homeless).toEqual([])
})

test('imports only point down', () => {
  expect(climbing(sources)).toEqual([])
})

test('a table is written only by its owner', () => {
  expect(trespassing(sources)).toEqual([])
})

test('every table has an owner', () => {
  const schema = readFileSync(join(SRC, 'db/schema.ts'), 'utf8')
  const tables = [...schema.matchAll(/^ {2}(\w+): \{$/gm)].map(([, table]) => table!)
  expect(tables.filter((table) => !OWNERS[table])).toEqual([])
})

test('the rules see what breaks them', () => {
  expect(climbing([{ file: 'http/auth.ts', code: `import { x } from '../projects/keys.ts'` }])).toEqual([
    'http/auth.ts -> projects/keys.ts',
  ])
  expect(climbing([{ file: 'http/auth.ts', code: `import { x } from '../account-emails/account-email.ts'` }])).toEqual([
    'http/auth.ts -> account-emails/account-email.ts',
  ])
  expect(climbing([{ file: 'auth/login.ts', code: `await import('../main.ts')` }])).toEqual(['auth/login.ts -> main.ts'])
  expect(climbing([{ file: 'auth/login.ts', code: `import { x } from '../http/server.ts'` }])).toEqual([])
  expect(trespassing([{ file: 'auth/login.ts', code: 'sql`update projects set name = 1`' }])).toEqual(['auth/login.ts writes projects'])
  expect(trespassing([{ file: 'http/auth.ts', code: `tx.deleteFrom('sessions')` }])).toEqual(['http/auth.ts writes sessions'])
  expect(trespassing([{ file: 'auth/login.ts', code: 'sql`select 1 from projects for update skip locked`' }])).toEqual([])
})
