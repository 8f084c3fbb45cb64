import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { one } from '../../src/db/index.ts'
import { readClickToken, readOpenToken, tokensFor } from '../../src/delivery/message/links/tracking-token.ts'
import { findReturnPath, returnPathOf } from '../../src/delivery/message/return-path.ts'
import { newId } from '../../src/lib/id.ts'
import { preferenceLinks } from '../../src/preferences/link.ts'
import { cloneDatabase } from '../support/database.ts'
import { type LocalNode, startLocalNode } from '../support/local-node.ts'
import { runCommand } from '../support/processes/run-command.ts'
import { SECRET_KEY } from '../support/secret-key.ts'

const NEW_KEY = 'the secret key after the rotation'

let database: Awaited<ReturnType<typeof cloneDatabase>>
let made: Awaited<ReturnType<typeof makeValues>>

beforeAll(async () => {
  database = await cloneDatabase()
  made = await withNode({}, makeValues)
})
afterAll(() => database.drop())

async function withNode<T>(env: Record<string, string>, work: (node: LocalNode) => Promise<T>) {
  const node = await startLocalNode({ DATABASE_URL: database.url, ROLE: 'api', ...env })
  return work(node).finally(() => node.stop())
}

const sterna = (args: string[], env: Record<string, string>) => runCommand(args, { DATABASE_URL: database.url, ...env })

/** One of everything that a key has made. */
async function makeValues(node: LocalNode) {
  const { secrets } = node
  const owner = await node.newPerson({ verified: true })
  const project = await node.newProject(owner)
  const [contact] = [await project.contacts.create('ada@example.com'), await project.contacts.create('bob@example.com')]
  await project.call('POST', '/domains', { domain: 'example.com' })
  const { body: webhook } = await owner.call('GET', `/projects/${project.id}/webhook-secret`)
  const guest = await node.newPerson()
  await owner.call('POST', `/projects/${project.id}/members`, { body: { email: guest.email, role: 'MEMBER' } })
  const email = { projectId: project.id, emailId: newId() }
  const tokens = tokensFor(secrets, email)
  return {
    keys: { pk: project.pk, sk: project.sk },
    owner,
    guest,
    projectId: project.id,
    webhook,
    email,
    returnPath: returnPathOf(secrets, email, 'bounces.example'),
    open: tokens.open(),
    click: tokens.click(1, 'https://example.com/'),
    manageUrl: preferenceLinks(secrets, '', { projectId: project.id, contactId: contact.id }).manageUrl,
    cursor: (await project.contacts.list('?limit=1')).cursor as string,
  }
}

/** Whether a node reads what is stored: sealed values and key hashes. */
async function readStored({ db, secrets, call }: LocalNode, cookie: string) {
  const { pk, sk } = made.keys
  const { sealed } = await one(
    db,
    sql<{ sealed: Buffer }>`select dkim_private_key_sealed as sealed from domains where domain = 'example.com'`,
  )
  const answers = {
    secretKey: (await call('GET', '/contacts', { key: sk })).status,
    publicKey: (await call('POST', '/v1/track', { key: pk, body: { email: 'ada@example.com', event: 'signup' } })).status,
    shownKeys: (await call('GET', '/users/@me/projects', { cookie })).body[0].secret,
    webhook: (await call('GET', `/projects/${made.projectId}/webhook-secret`, { cookie })).body.secret,
    dkimKey: secrets.open('dkim-key', sealed).length,
  }
  expect(answers).toEqual({
    secretKey: 200,
    publicKey: 200,
    shownKeys: sk,
    webhook: made.webhook.secret,
    dkimKey: expect.any(Number),
  })
}

/** What was handed out by a key: to browsers, callers and in emails. */
async function readHandedOut({ db, secrets, call }: LocalNode) {
  return {
    session: (await call('GET', '/users/@me', { cookie: made.owner.cookie })).status,
    cursor: (await call('GET', `/contacts?limit=1&cursor=${made.cursor}`, { key: made.keys.sk })).status,
    manageLink: (await call('GET', made.manageUrl)).status,
    returnPath: await findReturnPath(db, secrets, made.returnPath),
    open: readOpenToken(secrets, made.open),
    click: readClickToken(secrets, made.click)?.link,
  }
}

const signIn = async ({ call }: LocalNode) =>
  String(
    (await call('POST', '/auth/login', { body: { email: made.owner.email, password: made.owner.password } })).headers['set-cookie'],
  ).split(';')[0]!

const BOTH = { SECRET_KEY: NEW_KEY, SECRET_KEY_PREVIOUS: SECRET_KEY }

describe('a new SECRET_KEY', () => {
  test('without the former one is refused', async () => {
    await expect(withNode({ SECRET_KEY: NEW_KEY }, async () => {})).rejects.toThrow('SECRET_KEY is not the one')
  })

  test('is not used by commands before a node has started with it', async () => {
    const { code, output } = await sterna(['secret', 'rewrite'], BOTH)
    expect([code, output]).toEqual([1, expect.stringContaining('No node has started with this SECRET_KEY')])
  })

  test('with the former one reads all values, makes its own, and cannot do without the former one', async () => {
    await withNode(BOTH, async (node) => {
      await readStored(node, made.owner.cookie)
      expect(await readHandedOut(node)).toEqual({
        session: 200,
        cursor: 200,
        manageLink: 200,
        returnPath: made.email,
        open: made.email,
        click: 1,
      })
      const invitation = await node.call('POST', '/auth/accept-invitation', {
        body: { token: await node.tokenFor(made.guest.email) },
        cookie: made.guest.cookie,
      })
      expect(invitation.status).toBe(200)
      expect(node.secrets.sign('open-token', '')[0]).not.toBe(made.open.at(-23))
    })
    await expect(withNode({ SECRET_KEY: NEW_KEY }, async () => {})).rejects.toThrow('sealed with a former key')
  })

  test('is enough after the stored values were rewritten; what was handed out by the former key ends', async () => {
    const doctor = async () => (await sterna(['doctor'], BOTH)).output.split('\n').find((line) => line.includes(' secret: '))
    expect(await doctor()).toMatch(/^warn +secret: \d+ stored values need a former key; run: npm run sterna -- secret rewrite$/)

    const { code, output } = await sterna(['secret', 'rewrite'], BOTH)
    expect([code, output]).toEqual([0, expect.stringContaining('Nodes can start without SECRET_KEY_PREVIOUS')])
    expect(output).toMatch(/^API keys: 2 rewritten, 0 left$/m)
    expect(output).toMatch(/^DKIM keys: 1 rewritten, 0 left$/m)
    expect(output).toMatch(/^webhook secrets: 1 rewritten, 0 left$/m)
    expect(output).toMatch(/^account emails: [1-9]\d* rewritten, 0 left$/m)
    expect(output).toMatch(/^sessions \(end within 30 days\): 2 left$/m)
    expect(await doctor()).toMatch(/^ok +secret: no stored value needs SECRET_KEY_PREVIOUS; .*, 2 sessions/)

    await withNode(BOTH, async (node) => expect((await readHandedOut(node)).session).toBe(200))
    await withNode({ SECRET_KEY: NEW_KEY }, async (node) => {
      expect(await readHandedOut(node)).toEqual({
        session: 401,
        cursor: 400,
        manageLink: 404,
        returnPath: undefined,
        open: undefined,
        click: undefined,
      })
      await readStored(node, await signIn(node))
    })
    await expect(withNode({}, async () => {})).rejects.toThrow('SECRET_KEY is not the one')
  })
})
