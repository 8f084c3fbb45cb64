import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { destroyTestFolder, newTestFolder } from '../support/postgres.ts'
import { startNode } from '../support/process.ts'
import { runCommand } from '../support/processes/run-command.ts'

const folder = newTestFolder()
afterAll(() => destroyTestFolder(folder))

// biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape; a wrong field fails the test
type Answer = { status: number; body: any }

/** Without SECRET_KEY: the key of the installation is a file, which the backup contains. */
const WITHOUT_KEY = { SECRET_KEY: '' }

async function sterna(dataDir: string, ...args: string[]) {
  const { code, output } = await runCommand(args, { DATA_DIR: dataDir })
  if (code !== 0) throw new Error(output)
  return output
}
const failureOf = (running: Promise<unknown>) =>
  running.then(
    () => '',
    (err: Error) => err.message,
  )

test('an installation is backed up while it runs, and its copy knows what was committed and sends nothing until told to', {
  timeout: 600_000,
}, async () => {
  const [before, after, backup] = ['before', 'after', 'backup'].map((name) => join(folder, name)) as [string, string, string]
  const node = await startNode({ ...WITHOUT_KEY, DATA_DIR: before })
  await sterna(before, 'user', 'create', '--email', 'ann@shop.example', '--password', 'a good password')
  const keys = await sterna(before, 'project', 'create', '--name', 'Shop', '--owner', 'ann@shop.example')
  const secret = /^secret +(\S+)$/m.exec(keys)![1]!
  const call = (url: string, method: string, path: string, body?: object) =>
    fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    }).then(async (answer): Promise<Answer> => ({ status: answer.status, body: await answer.json() }))

  /** Writes until it is stopped; knows what was acknowledged. */
  const written: string[] = []
  let isWriting = true
  const writing = (async () => {
    for (let n = 0; isWriting && n < 5_000; n++) {
      const { status } = await call(node.url, 'POST', '/contacts', { email: `reader${n}@shop.example`, data: { n } })
      if (status < 300) written.push(`reader${n}@shop.example`)
    }
  })()
  await eventually(() => expect(written.length).toBeGreaterThan(20))
  expect((await call(node.url, 'POST', '/domains', { domain: 'shop.example' })).status).toBeLessThan(300)
  const email = { to: 'bob@shop.example', from: 'news@shop.example', subject: 'Hello', body: '<p>Hello</p>' }
  const sendAt = new Date(Date.now() + 3_600_000).toISOString()
  const [{ email: emailId }] = (await call(node.url, 'POST', '/v1/send', { ...email, sendAt })).body.data.emails
  const committed = [...written]
  expect(await sterna(before, 'backup', backup)).toContain('Backed up')
  isWriting = false
  await writing
  expect(await node.stop()).toBe(0)

  expect(await failureOf(sterna(before, 'restore', backup))).toContain('has a database')
  expect(await failureOf(sterna(before, 'backup', backup))).toContain('is not empty')
  expect(await sterna(after, 'restore', backup)).toContain('nothing is sent until')
  expect(readFileSync(join(after, 'secret.key'), 'utf8')).toBe(readFileSync(join(before, 'secret.key'), 'utf8'))

  const restored = await startNode({ ...WITHOUT_KEY, DATA_DIR: after })
  expect(restored.output()).toContain('nothing is sent until you run')
  const { body } = await call(restored.url, 'GET', '/contacts?limit=100')
  expect(body.total).toBeGreaterThanOrEqual(committed.length)
  for (const email of [committed[0]!, committed.at(-1)!]) {
    const found = await call(restored.url, 'GET', `/contacts?search=${encodeURIComponent(email)}`)
    expect(found.body.data[0]?.email).toBe(email)
  }
  expect((await call(restored.url, 'PATCH', `/emails/${emailId}`, { sendAt: new Date().toISOString() })).status).toBe(200)
  const resumedAt = new Date()
  expect(await sterna(after, 'sending', 'resume')).toContain('Emails leave again')
  expect(await sterna(after, 'sending', 'resume')).toContain('was not held')
  const sent = await eventually(async () => {
    const { body } = await call(restored.url, 'GET', `/emails/${emailId}`)
    expect(body.status).toBe('SENT')
    return body
  })
  expect(new Date(sent.sentAt) >= resumedAt).toBe(true)
  expect(await restored.stop()).toBe(0)
})

test('a backup with a damaged or missing file is not restored', async () => {
  const backup = join(folder, 'backup')
  const file = join(backup, 'database', 'PG_VERSION')
  appendFileSync(file, 'x')
  const target = join(folder, 'third')
  expect(await failureOf(sterna(target, 'restore', backup))).toContain('PG_VERSION is missing or damaged')
  expect(existsSync(join(target, 'postgres', 'data'))).toBe(false)
  expect(readdirSync(folder)).toContain('third')
  expect(await failureOf(sterna(target, 'restore', join(folder, 'nowhere')))).toContain('is not a complete backup')
})
