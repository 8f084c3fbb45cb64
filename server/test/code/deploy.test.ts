import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { readPgBouncerIni } from '../support/pgbouncer-ini.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8')

/** The names in the first columns of the tables of settings. */
const SETTINGS = [...read('docs/configuration.md').matchAll(/^\| (`[A-Z].*?) \|/gm)].flatMap(([, cell]) =>
  [...cell!.matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name]) => name!),
)
/** Settings of the AWS SDK and of the compose files. */
const OF_OTHERS = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'DOMAIN', 'POSTGRES_PASSWORD', 'COMPOSE_PROFILES']

const namesIn = (file: string) => [...read(file).matchAll(/^([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name!)

/** The sections of a compose file below `services`, by name. */
function servicesIn(file: string) {
  const [, services = ''] = /^services:\n([\s\S]*?)^volumes:/m.exec(read(file)) ?? []
  return services.split(/^ {2}(?=[a-z]+:$)/m).filter((text) => /^[a-z]+:\n/.test(text))
}

describe.each([
  ['compose.yaml', '.env.example'],
  ['deploy/compose.yaml', 'deploy/.env.example'],
])('%s', (file, example) => {
  const ours = servicesIn(file).filter((text) => /image: sterna|<<: \*sterna/.test(text))

  test(`hands the settings in .env to Sterna, whose example begins with how email leaves`, () => {
    expect(ours.length).toBeGreaterThan(0)
    const anchor = /^x-sterna: &sterna\n[\s\S]*?^(?=\w)/m.exec(read(file))?.[0] ?? ''
    for (const text of ours) expect(text.includes('<<: *sterna') ? anchor : text).toContain('env_file: [{ path: .env, required: false }]')
    expect(namesIn(example)[0]).toBe('SMTP_URL')
    expect(namesIn(example).slice(0, 6)).toEqual(expect.arrayContaining(['SMTP_URL', 'SES_REGION', 'MAIL_FROM']))
  })

  test('has no setting in its example that nothing reads', () => {
    expect(namesIn(example).filter((name) => !SETTINGS.includes(name) && !OF_OTHERS.includes(name))).toEqual([])
  })

  test('publishes a port for SMTP when its setting says so, and otherwise on a free port of loopback', () => {
    for (const [name, usual] of Object.entries({ SMTP_SUBMISSION_PORT: 587, INBOUND_SMTP_PORT: 25 }))
      expect(read(file)).toContain(`"\${${name}:-127.0.0.1:}:\${${name}:-${usual}}"`)
  })
})

test('the image listens on all addresses of its container', () => {
  expect(
    read('Dockerfile')
      .split(/^FROM /m)
      .at(-1),
  ).toMatch(/^ENV .*\bHOST=0\.0\.0\.0\b/m)
})

test('the documentation has one unit for systemd, which is in deploy/', () => {
  const page = read('docs/operating.md')
  expect(page).toContain('`deploy/sterna.service`')
  expect(page).not.toContain('[Service]')
  const [, folder] = /^Environment=.*\bDATA_DIR=(\S+)/m.exec(read('deploy/sterna.service'))!
  expect(page).toContain(`\`${folder}\``)
})

test('no page installs a package from the registry, which has none yet', () => {
  const pages = ['README.md', 'Dockerfile', 'deploy/sterna.service', 'docs/docker.md', 'docs/operating.md', 'docs/guides/first-send.md']
  const wrong = [...pages, 'docs/guides/upgrading.md'].filter((name) => /npm install[^\n]* sterna(@\w+)?\b(?!-)/.test(read(name)))
  expect(wrong).toEqual([])
})

// One that older versions refuse is commented out.
test('the configuration of PgBouncer has every setting that the documentation explains, with that value', () => {
  const [, section = ''] = /^### Connection poolers\n([\s\S]*?)^\*\*Session mode/m.exec(read('docs/operating.md')) ?? []
  const explained = [...section.matchAll(/^\| `(\w+)(?: = (\w+))?` \|/gm)]
  expect(explained.length).toBeGreaterThanOrEqual(3)
  const { databases, pgbouncer } = readPgBouncerIni()
  for (const [, name, value] of explained) {
    const isNamed = databases!.sterna!.includes(`${name}=`) || new RegExp(`^; ${name} = \\d`, 'm').test(read('deploy/pgbouncer.ini'))
    const found = pgbouncer![name!] ?? (isNamed ? 'in the line of the database, or commented out' : undefined)
    expect(found, name).toBeDefined()
    if (value) expect(found, name).toBe(value)
  }
})
