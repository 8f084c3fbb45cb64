import { execFile, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, expect, test } from 'vitest'
import { unprivilegedUser } from '../../src/db/embedded/home.ts'
import { eventually } from '../support/eventually.ts'
import { destroyTestFolder, newTestFolder } from '../support/postgres.ts'
import { freePort } from '../support/process.ts'

const folder = newTestFolder()
const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})
afterAll(() => destroyTestFolder(folder))

/** As root: another user, who may write nothing but the folder it works in. */
const user = process.getuid?.() === 0 ? unprivilegedUser() : undefined

test('the package starts in an empty folder, as an ordinary user, and sends a first email', { timeout: 300_000 }, async () => {
  const { pack } = await import(new URL('../../../scripts/pack.mjs', import.meta.url).href)
  const file: string = await pack(folder)
  const [installation, work] = [join(folder, 'installation'), join(folder, 'work')]
  for (const each of [installation, work]) mkdirSync(each)
  writeFileSync(join(installation, 'package.json'), '{ "private": true }')
  await promisify(execFile)('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', file], { cwd: installation })
  const installed = join(installation, 'node_modules')
  expect(JSON.parse(readFileSync(join(installed, 'fastify/package.json'), 'utf8')).version).toBe(lockedVersion('fastify'))
  chmodSync(folder, 0o755)
  if (user) chownSync(work, user.uid, user.gid)

  const port = String(await freePort())
  const env = { PATH: process.env.PATH, HOME: work, PORT: port, SANDBOX_DELIVERIES: 'false' }
  const options = { cwd: work, env, ...user }
  const sterna = async (...args: string[]) => (await promisify(execFile)(join(installed, '.bin/sterna'), args, options)).stdout
  const server = spawn(join(installed, '.bin/sterna'), ['start'], { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (text) => (output += text))
  stops.push(() => server.kill('SIGKILL'))
  await eventually(() => expect(output).toContain('Sterna is ready'), { timeout: 120_000 })

  expect(await sterna('--version')).toMatch(/^\d+\.\d+\.\d+/)
  expect(await sterna('help')).toContain('Usage: npx sterna')
  await sterna('user', 'create', '--email', 'ann@shop.example', '--password', 'a good password')
  const secret = /^secret +(\S+)$/m.exec(await sterna('project', 'create', '--name', 'Shop', '--owner', 'ann@shop.example'))![1]!
  // biome-ignore lint/suspicious/noExplicitAny: a wrong field fails the test
  const call = async (method: string, path: string, body?: object): Promise<any> => {
    const headers = { authorization: `Bearer ${secret}`, ...(body ? { 'content-type': 'application/json' } : {}) }
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
    return answer.json()
  }
  await call('POST', '/domains', { domain: 'shop.example' })
  const sent = await call('POST', '/v1/send', { to: 'bob@shop.example', from: 'a@shop.example', subject: 'Hello', body: '<p>Hello</p>' })
  const { email: id } = sent.data.emails[0]
  await eventually(async () => expect((await call('GET', `/emails/${id}`)).status).toBe('SENT'))
  expect(await fetch(`http://127.0.0.1:${port}/`).then((page) => page.text())).toContain('<div id=')

  const ended = new Promise((resolve) => server.once('exit', resolve))
  server.kill('SIGTERM')
  expect(await ended).toBe(0)
})

const lockedVersion = (name: string) =>
  JSON.parse(readFileSync(new URL('../../../package-lock.json', import.meta.url), 'utf8')).packages[`node_modules/${name}`].version
