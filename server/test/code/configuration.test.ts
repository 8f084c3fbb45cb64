import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Environment } from '../../src/lib/environment.ts'

const PAGE = fileURLToPath(new URL('../../../docs/configuration.md', import.meta.url))

/** Titles by the first variable of the section: the others follow in the order of the schema. */
const SECTIONS: Record<string, string> = {
  PORT: 'How Sterna is reached',
  DATA_DIR: 'Data and secrets',
  DATABASE_URL: 'Database',
  ROLE: 'The process',
  DISABLE_SIGNUPS: 'Accounts',
  SMTP_URL: 'Sending',
  SMTP_SUBMISSION_PORT: 'Sending by SMTP',
  BOUNCE_DOMAIN: 'Bounces and received mail',
  RATE_LIMIT_PER_MINUTE: 'Limits',
  EMAIL_RETENTION_MONTHS: 'Retention',
  DNS_SERVERS: 'Network',
  UPLOAD_QUOTA_MB: 'Images',
  STRIPE_SECRET_KEY: 'Billing',
  METRICS_PORT: 'Metrics and traces',
}

/** What follows the table of a section. */
const NOTES: Record<string, string> = {
  Accounts: `
### Emails to account holders

Verifications, password resets and invitations are kept until a worker has both a transport (\`SMTP_URL\` or \`SES_REGION\`)
and \`MAIL_FROM\`; \`npm run sterna -- mail list\` shows them. Then those whose link still works are sent; the others stay kept.
`,
}

const HEAD = `# Configuration

<!-- Made from server/src/lib/environment.ts by \`npx vitest run server/test/code/configuration.test.ts -u\`. -->

Sterna is configured by environment variables. All are optional, and a variable without a value counts as not set. An
invalid value stops the start with a message that names the variable and the reason.
`

/** Schemas by name, in their order. */
const VARIABLES = Object.entries(Environment.shape)

/** The values that a setting takes, if they are few words or a range of numbers. */
function describeValues(schema: z.ZodType) {
  const { enum: words, minimum, maximum } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  if (words)
    return words
      .filter((word) => !['1', '0'].includes(String(word)))
      .map((word) => `\`${word}\``)
      .join(', ')
  return minimum === undefined ? '' : `${minimum} to ${maximum}`
}

function describeDefault(schema: z.ZodType) {
  const value = schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined
  const isGiven = ['string', 'number', 'boolean'].includes(typeof value)
  return isGiven ? `\`${value}\`` : ''
}

function printPage() {
  const sections: { title: string; rows: string[] }[] = []
  for (const [name, schema] of VARIABLES) {
    if (SECTIONS[name]) sections.push({ title: SECTIONS[name], rows: [] })
    sections.at(-1)!.rows.push(`| \`${name}\` | ${describeDefault(schema)} | ${describeValues(schema)} | ${schema.description} |`)
  }
  const printed = sections.map(({ title, rows }) =>
    [`## ${title}`, '', '| name | default | values | meaning |', '|---|---|---|---|', ...rows, NOTES[title] ?? ''].join('\n'),
  )
  return `${[HEAD, ...printed].join('\n').trimEnd()}\n`.replaceAll('|  |', '| |').replaceAll('|  |', '| |')
}

test('every setting is described, and every section begins with one', () => {
  expect(VARIABLES.filter(([, { description }]) => !description?.endsWith('.')).map(([name]) => name)).toEqual([])
  expect(Object.keys(SECTIONS).filter((name) => !VARIABLES.some(([each]) => each === name))).toEqual([])
})

// Run this file with -u to write the page.
test('docs/configuration.md is made from the schema of the settings', async () => {
  await expect(printPage()).toMatchFileSnapshot(PAGE)
})

test('the README leaves the settings to that page', () => {
  const readme = readFileSync(fileURLToPath(new URL('../../../README.md', import.meta.url)), 'utf8')
  expect(readme).toContain('(docs/configuration.md)')
  expect(readme).not.toMatch(/^\| `[A-Z_]+`/m)
})
