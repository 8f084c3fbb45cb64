import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { COMMAND_NAMES } from '../../src/cli.ts'
import { cloneDatabase } from '../support/database.ts'
import { freePort, type Running, startNode } from '../support/process.ts'
import { runCommand } from '../support/processes/run-command.ts'
import { SECRET_KEY } from '../support/secret-key.ts'
import { startSesServer } from '../support/servers/ses-server.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
let database: Awaited<ReturnType<typeof cloneDatabase>>
let node: Running

beforeAll(async () => {
  database = await cloneDatabase()
  node = await startNode({ DATABASE_URL: database.url })
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

type Ended = { code: number; output: string }
const settings = () => ({ SECRET_KEY, DATABASE_URL: database.url, PORT: new URL(node.url).port })

/** As a user runs it. Starting the process takes most of a second, so most tests do without. */
function runInShell(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  const all = { PATH: process.env.PATH, HOME: process.env.HOME, ...settings(), ...env }
  return new Promise((resolve) => {
    execFile(process.execPath, ['scripts/cli.mjs', ...args], { cwd: ROOT, env: all }, (err, stdout, stderr) =>
      resolve({ code: typeof err?.code === 'number' ? err.code : 0, output: stdout + stderr }),
    )
  })
}

const sterna = (args: string[], env: Record<string, string> = {}): Promise<Ended> => runCommand(args, { ...settings(), ...env })

const field = (output: string, name: string) => new RegExp(`^${name} +(\\S+)$`, 'm').exec(output)?.[1] ?? ''

test('an account and a project made on the command line work at once in the running server', async () => {
  const user = await runInShell(['user', 'create', '--email', 'Ops@Example.com'])
  expect(user.code).toBe(0)
  const login = await fetch(`${node.url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'ops@example.com', password: field(user.output, 'password') }),
  })
  expect(login.status).toBe(200)

  const project = await sterna(['project', 'create', '--name', 'From the shell', '--owner', 'ops@example.com'])
  expect(project.output).toMatch(/^public {2}pk_[0-9a-f]{64}$/m)
  expect(project.output).toMatch(/^secret {2}sk_[0-9a-f]{64}$/m)
  const cookie = login.headers.get('set-cookie')!.split(';')[0]!
  const projects = (await (await fetch(`${node.url}/users/@me/projects`, { headers: { cookie } })).json()) as { secret: string }[]
  expect(projects.map(({ secret }) => secret)).toEqual([field(project.output, 'secret')])
})

test('contacts are counted anew on request, and the totals are right again', async () => {
  await sterna(['user', 'create', '--email', 'counts@example.com'])
  const project = (await sterna(['project', 'create', '--name', 'Counts', '--owner', 'counts@example.com'])).output
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${field(project, 'secret')}` }
  for (const body of [{ email: 'a@example.com' }, { email: 'b@example.com', subscribed: false }])
    await fetch(`${node.url}/contacts`, { method: 'POST', headers, body: JSON.stringify(body) })
  const client = new pg.Client(database.url)
  await client.connect()
  await client.query('insert into contact_count_deltas (project_id, total, subscribed) values ($1, 7, 7)', [field(project, 'id')])
  await client.end()

  const { code, output } = await sterna(['project', 'recount', field(project, 'id')])
  expect([code, output]).toEqual([0, expect.stringContaining('contact_counts: corrected 1\ncontact_days: right\nevent_counts: right\n')])
  const list = (await (await fetch(`${node.url}/contacts`, { headers })).json()) as { total: number }
  expect(list.total).toBe(2)
  expect((await sterna(['project', 'recount', 'nonsense'])).code).not.toBe(0)
})

test('account emails can be read, with their links', async () => {
  await fetch(`${node.url}/auth/signup`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'new@example.com', password: 'correct horse' }),
  })
  const { output: list } = await sterna(['mail', 'list'])
  const id = /^(\S+) .*new@example\.com/m.exec(list)?.[1] ?? ''
  const { output: email } = await sterna(['mail', 'show', id])
  const token = /token=([\w-]+)/.exec(email)?.[1]
  expect(email).toContain('To: new@example.com')
  expect(node.output()).toContain(`mail show ${id}`)
  expect(node.output()).not.toContain(token)
})

test.each([
  [['user', 'create'], /--email is missing/],
  [['user', 'create', '--email', 'nope'], /--email is not an email address/],
  [['user', 'create', '--email', 'a@example.com', '--password', 'short'], /8 to 256 characters/],
  [['project', 'create', '--name', 'x', '--owner', 'nobody@example.com'], /no account has the address/],
  [['mail', 'show', 'x'], /no account email has this id/],
  [['user', 'create', '--colour', 'red'], /Unknown option '--colour'/],
])('%j prints the mistake and the usage', async (args, message) => {
  const { code, output } = await sterna(args)
  expect(code).toBe(1)
  expect(output).toMatch(message)
  expect(output).not.toMatch(/^\s+at /m)
})

test('a taken address is refused', async () => {
  await sterna(['user', 'create', '--email', 'twice@example.com'])
  const { code, output } = await sterna(['user', 'create', '--email', 'TWICE@example.com'])
  expect([code, output.trim()]).toEqual([1, 'An account with this address already exists.'])
})

test('without a command it shows what there is', async () => {
  const { code, output } = await sterna([])
  expect(code).toBe(0)
  for (const command of ['user create', 'project create', 'mail list', 'mail show', 'migrate', 'doctor']) expect(output).toContain(command)
})

test('--help lists every command, and no other', async () => {
  const { output } = await sterna(['--help'])
  const listed = [...output.matchAll(/^ {2}([a-z-]+(?: [a-z]+)?)/gm)].map(([, name]) => name)
  expect(listed.toSorted()).toEqual(COMMAND_NAMES.toSorted())
})

test.each(['constructor', 'toString', 'claim-code-x', 'user', 'start-x'])('%s is no command', async (word) => {
  expect(await sterna([word])).toMatchObject({ code: 2, output: expect.stringMatching(/^Usage: /) })
})

test('start runs the server', async () => {
  const { code, output } = await runInShell(['start'], { PORT: 'nowhere' })
  expect([code, output]).toEqual([1, expect.stringMatching(/The configuration is not valid:\n {2}PORT: /)])
})

test.each([[['--help']], [['-h']], [['help']], [['user', 'create', '--help']], [['doctor', '-h']]])(
  '%j prints the usage on standard output and is no error',
  async (args) => {
    // On standard output alone: a complaint on standard error would come behind it.
    expect(await sterna(args)).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^Usage: [\s\S]*disk and ports; send a message out and back\n$/),
    })
  },
)

test('the process prints the usage, and ends with 1 after a mistake', async () => {
  const [help, mistake] = await Promise.all([runInShell(['--help']), runInShell(['user', 'create'])])
  expect(help).toMatchObject({ code: 0, output: expect.stringMatching(/^Usage: [\s\S]*disk and ports; send a message out and back\n$/) })
  expect(mistake).toMatchObject({ code: 1, output: expect.stringMatching(/^--email is missing\n\nUsage: /) })
  expect(mistake.output).not.toMatch(/^\s+at /m)
})

test('migrate reports when there is nothing to do', async () => {
  expect(await sterna(['migrate'])).toEqual({ code: 0, output: 'The database is up to date.\n' })
})

test('doctor finds a healthy installation healthy', async () => {
  const { code, output } = await sterna(['doctor'])
  expect(code).toBe(0)
  expect(output).not.toContain('FAIL')
  for (const line of ['node', 'configuration', 'disk', 'uploads', 'port', 'database', 'migrations', 'secret', 'reactions'])
    expect(output).toMatch(new RegExp(`^ok {4}${line}: `, 'm'))
})

const NO_BUCKET = {
  S3_ENDPOINT: 'http://127.0.0.1:1',
  S3_BUCKET: 'x',
  S3_REGION: 'auto',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'key',
}

test('doctor prints what failed and how to fix it', async () => {
  const port = await freePort()
  const other = createServer((_req, res) => res.writeHead(404).end()).listen(port, '127.0.0.1')
  await once(other, 'listening')
  const taken = await sterna(['doctor'], { PORT: String(port) })
  other.close()
  expect(taken).toMatchObject({ code: 1, output: expect.stringMatching(/^FAIL {2}port: .*set PORT$/m) })

  const cases: [Record<string, string>, RegExp][] = [
    [{ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }, /^FAIL {2}database: .*check DATABASE_URL/m],
    [
      { SECRET_KEY: 'another secret key that is long enough', ...NO_BUCKET },
      /^FAIL {2}uploads: cannot write to bucket x .*check S3_[\s\S]*^FAIL {2}secret: .*Restore it/m,
    ],
    [{ ROLE: 'boss' }, /^FAIL {2}configuration: .*\n {2}ROLE: /m],
    [
      { PUBLIC_URL: 'http://mail.example.com', ROLE: 'api' },
      /^warn {2}public url: .*set PUBLIC_URL=https[\s\S]*^warn {2}uploads: .*set S3_/m,
    ],
    [
      { SMTP_URL: 'smtp://localhost', PUBLIC_URL: 'http://localhost:3000' },
      /^warn {2}public url: http:\/\/localhost:3000 cannot be reached from outside.*set PUBLIC_URL=https/m,
    ],
    [
      { NODE_ENV: 'production', PUBLIC_URL: 'https://127.0.0.1' },
      /^warn {2}public url: https:\/\/127\.0\.0\.1 cannot be reached from outside/m,
    ],
    [{ PUBLIC_URL: 'https://mail.example.com', SMTP_URL: 'smtp://localhost' }, /^ok {4}public url: https:\/\/mail\.example\.com$/m],
    [
      { SMTP_URL: 'smtp://localhost' },
      /^warn {2}account emails: MAIL_FROM is not set: .*stored, not sent; set MAIL_FROM$[\s\S]*^FAIL {2}transport: smtp here, sandbox on running nodes \(sterna-api\+worker:\d+\); give all nodes the same SMTP_URL/m,
    ],
    [{ SMTP_URL: 'smtp://localhost', MAIL_FROM: 'Ops <ops@example.com>' }, /^ok {4}account emails: sent from ops@example\.com$/m],
    [{ DATA_DIR: './package.json/data' }, /^FAIL {2}data folder: .*set DATA_DIR\nFAIL {2}uploads: .*set DATA_DIR/m],
  ]
  for (const [env, line] of cases) expect((await sterna(['doctor'], env)).output).toMatch(line)
})

test('doctor asks Amazon SES whether it may send, and how fast', async () => {
  const ses = await startSesServer()
  // Not the one of the running node, which is a sandbox.
  const fresh = await cloneDatabase()
  const env = { DATABASE_URL: fresh.url, MAIL_FROM: 'mail@example.com', SES_REGION: 'eu-central-1' }
  const known = { ...env, SES_ENDPOINT: ses.url }
  const topic = { SNS_TOPIC_ARNS: 'arn:aws:sns:eu-central-1:123456789012:sterna' }
  // The AWS SDK reads its credentials from the process.
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDTEST')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
  const good = await sterna(['doctor'], { ...known, ...topic })
  const nobody = await sterna(['doctor'], { ...known, SES_ENDPOINT: 'http://127.0.0.1:1' })
  ses.account.SendQuota.SentLast24Hours = 50_000
  const { output: usedUp } = await sterna(['doctor'], known)
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDOTHER')
  const stranger = await sterna(['doctor'], known)
  vi.unstubAllEnvs()
  ses.stop()
  await fresh.drop()
  expect(good).toMatchObject({ code: 0, output: expect.stringMatching(/^ok {4}ses: allows 1000 .*\nok {4}sns: accepts arn/m) })
  expect(stranger).toMatchObject({ code: 1, output: expect.stringMatching(/^FAIL {2}ses: .*token is invalid.*check SES_REGION/m) })
  expect(nobody).toMatchObject({ code: 1, output: expect.stringMatching(/^FAIL {2}ses: no answer from Amazon/m) })
  expect(usedUp).toMatch(/^warn {2}ses: The quota of 50000 .*\nwarn {2}sns: SNS_TOPIC_ARNS is not set/m)
})
