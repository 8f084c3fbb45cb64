import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, chownSync, copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, expect, test } from 'vitest'
import { canReach, unprivilegedUser } from '../../src/db/embedded/home.ts'
import { VERSION } from '../../src/lib/process/version-number.ts'
import { eventually } from '../support/eventually.ts'
import { destroyTestFolder, newTestFolder } from '../support/postgres.ts'
import { freePort } from '../support/process.ts'
import { installFromClone } from '../support/processes/install-from-clone.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const GUIDES = join(ROOT, 'docs/guides')
const folder = newTestFolder()
const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})
afterAll(() => destroyTestFolder(folder))

/** As root: another user, who may write nothing but the folder it works in. */
const user = process.getuid?.() === 0 ? unprivilegedUser() : undefined
/** `npm run release` asks for it: it takes a minute. Also where that user cannot read this clone, whose dependencies are used otherwise. */
const isFromRegistry = process.env.FROM_REGISTRY !== undefined || (user !== undefined && !canReach(user, ROOT))

/** Blocks of commands of a guide: those that are `run` here, the one that starts the `server`, and those that are only `shown`. */
function commandsOf(guide: string) {
  const text = readFileSync(join(GUIDES, guide), 'utf8')
  return [...text.matchAll(/^```(?:sh|bash)([^\n]*)\n([\s\S]*?)^```$/gm)].map(([, words, commands]) => ({
    mode: words!.trim(),
    commands: commands!.trim(),
  }))
}
const guides = readdirSync(GUIDES).filter((name) => name.endsWith('.md'))

test('every command of a guide says whether it is run here or only shown', () => {
  const others = ['docker', 'ses', 'smtp', 'webhooks'].map((name) => `../${name}.md`)
  const modes = [...guides, ...others].flatMap((guide) => commandsOf(guide).map(({ mode }) => mode))
  expect(modes.filter((mode) => !['run', 'run server', 'shown'].includes(mode))).toEqual([])
  expect(modes.filter((mode) => mode === 'run').length).toBeGreaterThan(5)
})

test('the package sends a first email by its guide, in an empty folder, as an ordinary user', { timeout: 300_000 }, async () => {
  const { pack } = await import(new URL('../../../scripts/pack.mjs', import.meta.url).href)
  const file: string = await pack(folder)
  const work = join(folder, 'work')
  mkdirSync(work)
  const port = String(await freePort())
  const [install, server, ...rest] = commandsOf('first-send.md').filter(({ mode }) => mode.startsWith('run'))
  expect([install!.commands, server!.mode]).toEqual(['npm install ./sterna-*.tgz', 'run server'])

  await (isFromRegistry ? installFromRegistry(file, work) : installFromClone(file, work))
  chmodSync(folder, 0o755)
  if (user) chownSync(work, user.uid, user.gid)
  const env = { PATH: `${process.env.PATH}:${standIns(work)}`, HOME: work, PORT: port, SANDBOX_DELIVERIES: 'false' }
  const options = { cwd: work, ...user }

  const running = spawn('sh', ['-c', `exec ${server!.commands}`], { ...options, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let output = ''
  for (const stream of [running.stdout, running.stderr]) stream.on('data', (text) => (output += text))
  stops.push(() => running.exitCode === null && process.kill(-running.pid!, 'SIGKILL'))
  await eventually(() => expect(output).toContain('Sterna is ready'), { timeout: 120_000 })

  expect(statSync(join(work, 'data')).uid).toBe(user?.uid ?? process.getuid!())

  const run = async (commands: string, more: Record<string, string> = {}) => {
    const script = commands.replaceAll('localhost:3000', `localhost:${port}`)
    return (await promisify(execFile)('sh', ['-ec', script], { ...options, env: { ...env, ...more } })).stdout
  }
  // In one shell: a later block uses what an earlier one has exported.
  const said = await run(rest.map(({ commands }) => commands).join('\n'))
  expect(said).toContain('"grace@example.com"')
  expect((await run('npx sterna --version')).trim()).toBe(VERSION)
  expect(await run('npx sterna help')).toContain('Usage: npx sterna')

  writeFileSync(join(work, 'contacts.csv'), 'email,FNAME,LNAME,subscribed\nlin@example.com,Lin,Yu,yes\n')
  const STERNA_SECRET_KEY = /^secret +(\S+)$/m.exec(readFileSync(join(work, 'project.txt'), 'utf8'))![1]!
  for (const guide of guides.filter((name) => name !== 'first-send.md'))
    for (const { mode, commands } of commandsOf(guide))
      if (mode === 'run')
        expect(await run(commands, { STERNA_URL: `http://localhost:${port}`, STERNA_SECRET_KEY }), guide).toContain('jobId')

  const ended = new Promise((resolve) => running.once('exit', resolve))
  process.kill(-running.pid!, 'SIGTERM')
  await ended
  expect(output).toContain('"msg":"stopping"')
})

/** A folder with a curl, for a machine that has none. */
function standIns(work: string) {
  const place = join(work, 'stand-ins')
  mkdirSync(place)
  copyFileSync(join(ROOT, 'server/test/support/processes/curl.mjs'), join(place, 'curl'))
  chmodSync(join(place, 'curl'), 0o755)
  writeFileSync(join(place, 'package.json'), '{ "type": "module" }')
  return place
}

/** As a user does, from a registry that also has this package: npm reads the lock file of a package only if the registry says that it has one. */
async function installFromRegistry(file: string, work: string) {
  const registry = await startRegistry(file)
  const env = { ...process.env, npm_config_registry: registry.url }
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', 'sterna'], { cwd: work, env }).finally(registry.stop)
  const namesIn = (path: string) =>
    Object.entries<{ version: string }>(JSON.parse(readFileSync(join(work, 'node_modules', path), 'utf8')).packages).flatMap(
      ([place, { version }]) => (place ? [`${place.slice(place.lastIndexOf('node_modules/') + 13)}@${version}`] : []),
    )
  const locked = new Set(namesIn('sterna/npm-shrinkwrap.json'))
  expect(namesIn('.package-lock.json').filter((name) => !locked.has(name))).toEqual([`sterna@${VERSION}`])
}

const NPM = 'https://registry.npmjs.org'

/** Has one package, and sends npm elsewhere for all others. */
async function startRegistry(file: string) {
  const content = readFileSync(file)
  const manifest = JSON.parse((await promisify(execFile)('tar', ['-xzOf', file, 'package/package.json'])).stdout)
  const server = createServer((req, res) => {
    if (req.url === '/sterna') res.setHeader('content-type', 'application/json').end(JSON.stringify(packument()))
    else if (req.url === '/sterna.tgz') res.end(content)
    else res.writeHead(302, { location: `${NPM}${req.url}` }).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const integrity = `sha512-${createHash('sha512').update(content).digest('base64')}`
  const packument = () => ({
    name: 'sterna',
    'dist-tags': { latest: VERSION },
    versions: { [VERSION]: { ...manifest, _hasShrinkwrap: true, dist: { tarball: `${url}/sterna.tgz`, integrity } } },
  })
  return { url, stop: () => void server.close() }
}
