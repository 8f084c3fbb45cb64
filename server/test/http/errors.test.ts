import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { QUOTAS } from '../../src/http/limits/quotas.ts'
import { ERRORS, FIELD_CODES } from '../../src/lib/errors/errors.ts'

const page = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8')
const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| (\d{3})/gm)].map(([, code, status]) => [code, Number(status)])

test('docs/errors.md lists exactly the errors a caller can see, with their status', () => {
  const inCode = Object.entries(ERRORS).map(([code, [status]]) => [code, status])
  expect(rows.sort()).toEqual(inCode.sort())
})

test('docs/errors.md lists exactly the codes a field can have', () => {
  const [, section = ''] = /## Codes of fields\n([\s\S]*?)\n## /.exec(page) ?? []
  const listed = [...section.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, codes]) => [...codes!.matchAll(/`(\w+)`/g)].map(([, code]) => code))
  expect(listed.sort()).toEqual([...FIELD_CODES].sort())
})

const WINDOWS: Record<number, string> = { 900: 'in 15 minutes', 3600: 'an hour', 86400: 'a day' }

test.each(Object.entries(QUOTAS))('docs/errors.md has the limit %s', (_, { what, limit, windowSeconds }) => {
  expect(page).toContain(`| ${what} | ${limit} ${WINDOWS[windowSeconds]} |`)
})

/** The start of a row, and the constants whose values it must have. */
test.each<[string, [file: string, constant: string][]]>([
  ['requests with the keys of one project', [['lib/environment.ts', 'RATE_LIMIT_PER_MINUTE: wholeNumber(0, 1_000_000_000).default(']]],
  ['requests of one session', [['http/auth/auth.ts', 'sessionCalls = createWindowCounter({ limit: ']]],
  ['requests with unknown keys', [['http/auth/key-guessing.ts', 'createGuessGuard({ limit = ']]],
  ['requests with the public key that set', [['track/limits.ts', 'SUBSCRIPTION_CHANGES_PER_MINUTE = ']]],
  ['invalid unsubscribe', [['preferences/routes.ts', 'MAX_INVALID = ']]],
  ['uses of one such link', [['preferences/routes.ts', 'MAX_USES = ']]],
  ['received messages of one project (', [['inbound/limits.ts', 'messagesPerMinute: ']]],
  ['received messages of one project from one client network', [['inbound/limits.ts', 'messagesOfOneNetwork: ']]],
  ['unfinished imports', [['contacts/csv/import.ts', 'MAX_UNFINISHED = ']]],
  ['`data` of one `/v1/send` times', [['send/acceptance/body.ts', 'MAX_COPIES = ']]],
  ['stored data of one contact', [['db/migrations/0004_contacts.sql', 'pg_column_size(data) <= ']]],
  ['`excludeIds`', [['contacts/bulk.ts', 'excludeIds: z.array(z.string().max(100)).max(']]],
  [
    '`value` of a filter',
    [
      ['contacts/selection/list.ts', 'value: z.string().max('],
      ['contacts/selection/filter.ts', 'value: z.union([z.string().max('],
    ],
  ],
  [
    'columns of a CSV file',
    [
      ['contacts/csv/csv.ts', 'MAX_COLUMNS = '],
      ['contacts/csv/csv.ts', 'MAX_CELL = '],
    ],
  ],
  ['rows of a CSV file', [['contacts/csv/csv.ts', 'MAX_ROWS = ']]],
  ['one row of a CSV file', [['contacts/csv/csv-records.ts', 'MAX_RECORD_BYTES = ']]],
  [
    'concurrent image uploads',
    [
      ['uploads/routes.ts', 'createFairSemaphore({ slots: '],
      ['uploads/routes.ts', 'each: '],
    ],
  ],
  ['size of a received message', [['inbound/limits.ts', 'messageBytes: ']]],
  ['received messages in transmission', [['inbound/limits.ts', 'heldBytes: ']]],
  ['recipients of a received message', [['inbound/limits.ts', 'recipients: ']]],
  ['unknown recipients', [['inbound/limits.ts', 'refusals: ']]],
  [
    'concurrent connections',
    [
      ['inbound/limits.ts', 'connections: '],
      ['inbound/limits.ts', 'connectionsOfOne: '],
    ],
  ],
  [
    'idle time',
    [
      ['inbound/limits.ts', 'idleMs: '],
      ['inbound/limits.ts', 'connectionMs: '],
    ],
  ],
  ['recipients of one', [['send/acceptance/body.ts', 'MAX_RECIPIENTS = ']]],
  ['`body` with template tags', [['templates/language/limits.ts', 'MAX_SOURCE = ']]],
  ['subject', [['templates/language/limits.ts', 'MAX_SUBJECT = ']]],
  ['own headers', [['send/acceptance/body.ts', 'MAX_HEADERS = ']]],
  [
    'attachments',
    [
      ['lib/environment.ts', 'MAX_ATTACHMENTS: wholeNumber(0, 100).default('],
      ['lib/environment.ts', 'MAX_ATTACHMENT_MB: wholeNumber(0, 30).default('],
    ],
  ],
  ['tags and outputs', [['templates/language/limits.ts', 'MAX_TAGS = ']]],
  [
    'keys of `data`',
    [
      ['contacts/record/data.ts', 'MAX_KEYS = '],
      ['contacts/record/data.ts', 'MAX_KEY_BYTES = '],
      ['contacts/record/data.ts', 'MAX_VALUE_LENGTH = '],
    ],
  ],
  ['addresses of one', [['contacts/routes.ts', 'MAX_LOOKUP = ']]],
  ['ids of one bulk', [['contacts/bulk.ts', 'MAX_IDS = ']]],
  ['listed event names', [['events/counts.ts', 'MAX_EVENT_NAMES = ']]],
  ['domains of one project', [['domains/sender-domains/add.ts', 'MAX_DOMAINS = ']]],
  ['images of one project', [['lib/environment.ts', 'UPLOAD_QUOTA_MB: wholeNumber(0, 1_000_000_000).default(']]],
  ['messages kept by the sandbox', [['delivery/transport/sandbox.ts', 'MAX_MESSAGES = ']]],
  ['`Idempotency-Key`', [['lib/environment.ts', 'IDEMPOTENCY_TTL_HOURS: wholeNumber(1, 8760).default(']]],
])('docs/errors.md has the limit of %s', (start, constants) => {
  const row = page.split('\n').find((line) => line.startsWith(`| ${start}`))
  for (const [file, constant] of constants) {
    const source = readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8')
    const at = source.indexOf(constant)
    expect([file, constant, at > -1]).toEqual([file, constant, true])
    const [digits = ''] = /^[\d_]+/.exec(source.slice(at + constant.length)) ?? []
    expect(row).toContain(Number(digits.replaceAll('_', '')).toLocaleString('en'))
  }
})
