// Makes an installation with the version of today and keeps it for the tests of all later versions: `tsx server/scripts/release-fixture.ts`.
// `npm run release` runs it. One that exists is never made again: it is what customers of that release have.
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import PostalMime from 'postal-mime'
import { borrowDatabase } from '../src/db/open.ts'
import { loadConfig } from '../src/lib/config.ts'
import { createLog } from '../src/lib/process/log.ts'
import { VERSION } from '../src/lib/process/version-number.ts'
import { readHtml } from '../src/mime/html/html-to-text.ts'
import { until } from '../test/support/eventually.ts'
import { MULTIPART, multipart } from '../test/support/files/multipart.ts'
import { fillProject, LINK_TARGET } from '../test/support/filled-project.ts'
import { startNode } from '../test/support/process.ts'
import { dumpRows, folderOfRelease, type MadeByRelease } from '../test/support/release-fixture.ts'

const ACCOUNT = { email: 'ada@example.com', password: 'a good password' }

type Headers = Record<string, string>

/** Requests to a node, with a key or a cookie. */
const apiOf =
  (url: string, credentials: Headers) =>
  async (method: string, path: string, body?: unknown, headers: Headers = {}) => {
    const isBytes = Buffer.isBuffer(body)
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { ...credentials, ...(body !== undefined && !isBytes && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: isBytes ? new Uint8Array(body) : JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text }
  }

async function fillNode(url: string): Promise<MadeByRelease> {
  const signUp = await apiOf(url, {})('POST', '/auth/signup', ACCOUNT)
  const byOwner = apiOf(url, { cookie: signUp.headers.getSetCookie()[0]!.split(';')[0]! })
  const { body: project } = await byOwner('POST', '/users/@me/projects', { name: 'Kept' })
  const call = apiOf(url, { authorization: `Bearer ${project.secret}` })
  await call('POST', '/domains', { domain: 'kept.example' })
  await call('POST', '/webhook-endpoints', { url: UNREACHABLE, events: ['*'] })
  await byOwner('POST', `/projects/${project.id}/members`, { email: 'grace@example.com', role: 'MEMBER' })
  const filled = await fillProject({ id: project.id, domain: 'kept.example', call, byOwner })
  await addHistory(call)

  const { data: messages } = (await call('GET', '/sandbox/messages?limit=100')).body
  const { id: messageId } = messages.find(({ emailId }: { emailId: string }) => emailId === filled.emailId)
  const { html = '' } = await PostalMime.parse((await call('GET', `/sandbox/messages/${messageId}`)).body.source)
  const links = readHtml(html).links.map(({ target }) => target)
  const pathOf = (part: string) =>
    new URL([...links, ...(html.match(/https?:[^"')]+/g) ?? [])].find((link) => link.includes(part))!).pathname
  const made = {
    account: ACCOUNT,
    keys: { public: project.public, secret: project.secret, named: filled.key.key },
    links: { unsubscribe: pathOf('/unsubscribe/'), click: pathOf('/t/c/'), open: pathOf('/t/o/') },
    linkTarget: LINK_TARGET,
    imageKey: filled.image.key,
    templateId: filled.template.id,
    unsubscribingContactId: filled.readers[4].id,
    contacts: (await call('GET', '/contacts?limit=1')).body.total,
    sentCampaignId: filled.sent.id,
  }
  await apiOf(url, BROWSER)('GET', made.links.open)
  await until('an open is recorded', async () => (await call('GET', '/events?limit=100')).body.data.some(isOpen))
  return made
}

const UNREACHABLE = 'http://127.0.0.2:9/everything'
const BROWSER = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }
const isOpen = ({ name }: { name: string }) => name === 'email.open'

/** A hard bounce, by the address that asks the sandbox for one, and an import. */
async function addHistory(call: ReturnType<typeof apiOf>) {
  const email = { to: 'bounce@example.com', from: 'news@kept.example', subject: 'Back', body: '<p>Back</p>' }
  const id: string = (await call('POST', '/v1/send', email)).body.data.emails[0].email
  await until('an email bounces', async () => (await call('GET', `/emails/${id}`)).body.bouncedAt)
  const { jobId } = (await call('POST', '/contacts/import', multipart([{ content: 'email,city\nlin@example.com,Kyoto\n' }]), MULTIPART))
    .body
  await until('an import ends', async () => (await call('GET', `/contacts/import/${jobId}`)).body.finishedAt)
}

async function write() {
  const folder = folderOfRelease(VERSION)
  if (existsSync(folder)) return console.log(`${folder} exists, and stays as it is.`)
  const dataDir = mkdtempSync(join(tmpdir(), 'sterna-fixture-'))
  const env = { DATA_DIR: dataDir, SECRET_KEY: '', SANDBOX_DELIVERIES: 'true' }
  try {
    const node = await startNode(env)
    const made = await fillNode(node.url).finally(() => node.stop())
    const database = await borrowDatabase(loadConfig(env), createLog('warn'))
    await dumpRows(database.url, folder).finally(() => database.stop())
    writeFileSync(join(folder, 'made.json'), `${JSON.stringify(made, null, 2)}\n`)
    for (const name of ['secret.key', 'uploads']) cpSync(join(dataDir, name), join(folder, name), { recursive: true })
    console.log(`${folder} is written: commit it.`)
  } catch (err) {
    rmSync(folder, { recursive: true, force: true })
    throw err
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

await write()
