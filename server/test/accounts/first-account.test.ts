import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { buildApp } from '../../src/app.ts'
import { connect } from '../../src/db/index.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { deriveSecrets } from '../../src/lib/secrets.ts'
import { checkSecret } from '../../src/nodes/instance.ts'
import { cookieOf, createSterna, startApp, useApp } from '../support/app.ts'
import { cloneDatabase } from '../support/database.ts'
import { startNode } from '../support/process.ts'
import { runCommand } from '../support/processes/run-command.ts'
import { SECRET_KEY } from '../support/secret-key.ts'
import { expectToWait } from './account-client.ts'

const PUBLIC = { PUBLIC_URL: 'https://mail.example.com', CLAIM_FIRST_ACCOUNT: 'true' }
const sterna = useApp({ env: { ...PUBLIC, TRUST_PROXY: '127.0.0.1' }, withWorker: false })

let people = 0
const newEmail = () => `first${++people}@example.com`
let networks = 0
const newNetwork = () => `198.51.100.${++networks}`
const signUp = (body: object = {}, network = newNetwork(), to: Pick<typeof sterna, 'call'> = sterna) =>
  to.call('POST', '/auth/signup', {
    body: { email: newEmail(), password: 'correct horse', ...body },
    headers: { 'x-forwarded-for': network },
  })
const commandLine = (args: string[], env: Record<string, string> = {}) =>
  runCommand(args, { SECRET_KEY, DATABASE_URL: sterna.url, ...PUBLIC, ...env })
const printedCode = async (env: Record<string, string> = {}) => (await commandLine(['claim-code'], env)).output.trim()
const needsCode = async () => (await sterna.call('GET', '/config')).body.features.signup.needsClaimCode
const countUsers = async () => (await sql<{ n: number }>`select count(*)::int as n from users`.execute(sterna.db)).rows[0]!.n
const operators = async () => (await sql<{ email: string }>`select email from users where operator`.execute(sterna.db)).rows

beforeEach(async () => {
  await sql`truncate users cascade`.execute(sterna.db)
})

const refusal = (answer: Awaited<ReturnType<typeof signUp>>) => [answer.status, answer.body.error.code]
const REFUSED = [403, 'CLAIM_CODE_REQUIRED']

describe('the first sign-up of an installation that others can reach', () => {
  test('needs the code that the command line prints, and makes the operator', async () => {
    const code = await printedCode()
    expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$/)
    expect(await needsCode()).toBe(true)
    expect(refusal(await signUp())).toEqual(REFUSED)
    expect(refusal(await signUp({ claimCode: 'ABCD-EFGH-JKMN-PQRS' }))).toEqual(REFUSED)
    expect(await countUsers()).toBe(0)

    const answer = await signUp({ claimCode: code })
    expect(answer.status).toBe(200)
    expect((await sterna.call('GET', '/users/@me', { cookie: cookieOf(answer) })).body.operator).toBe(true)
    expect(await needsCode()).toBe(false)
    expect(await printedCode()).toContain('There is an account already')
  })

  test.each<[string, (code: string) => string]>([
    ['in small letters', (code) => code.toLowerCase()],
    ['without hyphens', (code) => code.replaceAll('-', '')],
    ['with spaces', (code) => ` ${code.replaceAll('-', ' ')} `],
    ['with letters that look like its digits', (code) => code.replaceAll('0', 'o').replaceAll('1', 'l')],
  ])('takes the code %s', async (_, write) => {
    expect((await signUp({ claimCode: write(await printedCode()) })).status).toBe(200)
  })

  test('refuses a code that only begins right, is empty, or has one character more', async () => {
    const code = await printedCode()
    for (const claimCode of [code.slice(0, -1), '', `${code}A`, code.slice(5)])
      expect(refusal(await signUp({ claimCode })), claimCode).toEqual(REFUSED)
    const long = await signUp({ claimCode: 'A'.repeat(101) })
    expect([long.status, long.body.error.errors[0].field]).toEqual([422, 'claimCode'])
  })

  test('may try ten codes an hour and network; a sign-up without one is no try', async () => {
    const network = newNetwork()
    const code = await printedCode()
    for (let n = 0; n < 10; n++) {
      expect(refusal(await signUp({ claimCode: `wrong ${n}` }, network))).toEqual(REFUSED)
      expect(refusal(await signUp({}, network))).toEqual(REFUSED)
    }
    expectToWait(await signUp({ claimCode: code }, network), 3600)
    expect((await signUp({ claimCode: code })).status).toBe(200)
  })

  test('needs the code by an invitation, too', async () => {
    expect(refusal(await signUp({ invitation: 'x'.repeat(43) }))).toEqual(REFUSED)
    expect(await countUsers()).toBe(0)
  })

  test('is one of several at the same time: the others are ordinary accounts', async () => {
    const claimCode = await printedCode()
    const answers = await Promise.all(Array.from({ length: 8 }, () => signUp({ claimCode })))
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect(await operators()).toHaveLength(1)
  })

  test('leaves nothing to sign-ups without the code at the same time', async () => {
    const claimCode = await printedCode()
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => signUp(n === 4 ? { claimCode, email: 'owner@example.com' } : {})))
    expect(answers[4]!.status).toBe(200)
    expect(await operators()).toEqual([{ email: 'owner@example.com' }])
  })

  test('is closed by an account made on the command line', async () => {
    expect((await commandLine(['user', 'create', '--email', 'ops@example.com'])).code).toBe(0)
    expect(await needsCode()).toBe(false)
    expect((await signUp()).status).toBe(200)
    expect(await operators()).toEqual([{ email: 'ops@example.com' }])
  })

  test('is no way around closed sign-ups', async () => {
    const claimCode = await printedCode()
    const closed = await startApp(sterna.url, { env: { ...PUBLIC, DISABLE_SIGNUPS: 'true' }, withWorker: false })
    expect(refusal(await signUp({ claimCode }, undefined, closed.sterna))).toEqual([403, 'FORBIDDEN'])
    await closed.close()
  })
})

describe('the claim code', () => {
  test('is another one in another database, and does not follow from the database alone', async () => {
    const here = await printedCode()
    await sql`update instance set claim_nonce = gen_random_uuid()`.execute(sterna.db)
    expect(await printedCode()).not.toBe(here)
  })

  test.each(['api', 'worker'])('is in the log of a node with the role %s while there is no account, and not later', async (role) => {
    const code = await printedCode()
    const env = { DATABASE_URL: sterna.url, ROLE: role, ...PUBLIC }
    const before = await startNode(env)
    await expect.poll(before.output).toContain('is ready')
    expect(before.output()).toContain(`claim code ${code}`)
    await before.stop()
    await signUp({ claimCode: code })
    const after = await startNode(env)
    await expect.poll(after.output).toContain('is ready')
    expect(after.output()).not.toContain('claim code')
    await after.stop()
  })
})

describe('no code is needed', () => {
  const opened: { close(): Promise<void> }[] = []
  afterAll(() => Promise.all(opened.map((app) => app.close())))

  test.each<[string, Record<string, string>, boolean]>([
    ['by default, on loopback', {}, false],
    ['with a PUBLIC_URL on loopback', { PUBLIC_URL: 'http://127.0.0.1:3000', HOST: '::1' }, false],
    ['with a PUBLIC_URL on localhost', { PUBLIC_URL: 'http://sterna.localhost', HOST: 'localhost' }, false],
    ['unless it listens for others', { HOST: '0.0.0.0' }, true],
    ['unless it listens for others by IPv6', { HOST: '::', PUBLIC_URL: 'http://localhost:3000' }, true],
    ['unless PUBLIC_URL is another host', { PUBLIC_URL: 'http://192.168.1.10:3000' }, true],
    ['when it is switched off', { HOST: '0.0.0.0', PUBLIC_URL: 'https://mail.example.com', CLAIM_FIRST_ACCOUNT: 'false' }, false],
  ])('%s', async (_, env, isNeeded) => {
    const started = await startApp(sterna.url, { env: { CLAIM_FIRST_ACCOUNT: '', ...env }, withWorker: false })
    opened.push(started)
    const { body } = await started.sterna.call('GET', '/config')
    expect(body.features.signup).toEqual({ signupsDisabled: false, hasAccounts: false, needsClaimCode: isNeeded })
    expect((await signUp({}, undefined, started.sterna)).status).toBe(isNeeded ? 403 : 200)
  })
})

describe('after a change of the secret key', () => {
  const NEW_KEY = 'another secret key of this installation 0123456789'
  const rotated = { SECRET_KEY: NEW_KEY, SECRET_KEY_PREVIOUS: SECRET_KEY }

  test('the former claim code works until the former key is removed, and `secret rewrite` leaves the current one', async () => {
    const database = await cloneDatabase()
    const log = createLog('silent')
    const db = connect({ url: database.url, max: 4, log })
    const codeWith = (env: Record<string, string>) => printedCode({ DATABASE_URL: database.url, ...env })
    const config = loadConfig({ DATABASE_URL: database.url, ...PUBLIC, ...rotated })
    const appWith = async (...keys: [string, ...string[]]) => {
      const secrets = deriveSecrets(...keys)
      const app = await buildApp({ config, db, secrets, log })
      return { app, client: createSterna(app, db, secrets) }
    }
    await checkSecret(db, deriveSecrets(SECRET_KEY), { adopt: true })
    const former = await codeWith({})
    await checkSecret(db, deriveSecrets(NEW_KEY, SECRET_KEY), { adopt: true })
    const current = await codeWith(rotated)
    expect(current).not.toBe(former)
    const rewritten = await commandLine(['secret', 'rewrite'], { DATABASE_URL: database.url, ...rotated })
    expect(rewritten).toMatchObject({ code: 0, output: expect.stringContaining('Nodes can start without SECRET_KEY_PREVIOUS') })
    expect(await codeWith({ SECRET_KEY: NEW_KEY })).toBe(current)

    const [both, removed] = [await appWith(NEW_KEY, SECRET_KEY), await appWith(NEW_KEY)]
    expect(refusal(await signUp({ claimCode: former }, undefined, removed.client))).toEqual(REFUSED)
    expect((await signUp({ claimCode: former }, undefined, both.client)).status).toBe(200)
    await sql`truncate users cascade`.execute(db)
    expect((await signUp({ claimCode: current }, undefined, removed.client)).status).toBe(200)
    await Promise.all([both.app.close(), removed.app.close()])
    await db.destroy()
    await database.drop()
  })
})
