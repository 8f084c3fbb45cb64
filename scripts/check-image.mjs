// Runs the lines of the Dockerfile without Docker: every stage in a folder of its own, RUN and CMD as an unprivileged user when this runs as
// root, CMD on a tree without write permission and in a network of its own, as in a container. Starts the result with nothing but the
// settings of the image, sends an email through its outer address, and stops it by STOPSIGNAL. Not checked: the base image.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const CONTEXT = join(dirname(fileURLToPath(import.meta.url)), '..')
const NOBODY = { uid: 65_534, gid: 65_534 }
const START_MS = 120_000
const STOP_MS = 45_000
const isRoot = process.getuid?.() === 0
/** The address that others reach the container by. For documentation (RFC 5737): nothing else has it. */
const OUTER = '198.51.100.2'
const PORT = 3000
/** A network of its own for a command: as another user than root by a user namespace, in which it keeps its user. */
const UNSHARED = isRoot ? ['--net'] : ['--user', '--map-current-user', '--keep-caps', '--net']
const WITH_ADDRESS = `ip link set lo up && ip address add ${OUTER}/32 dev lo && exec "$0" "$@"`

/** Called again, in that network: the stage to start. */
const started = process.argv.indexOf('--start')
const work = started < 0 ? mkdtempSync(join(tmpdir(), 'sterna-image-')) : dirname(process.argv[started + 1])
chmodSync(work, 0o755)
let running

async function check() {
  const stages = new Map()
  let stage
  for (const [, word, rest] of readLines()) {
    if (word === 'FROM') {
      stage = newStage(/ AS (\w+)$/i.exec(rest)?.[1] ?? 'final')
      stages.set(stage.name, stage)
    } else if (word === 'WORKDIR') stage.cwd = makeFolder(inStage(stage, rest), stage)
    else if (word === 'ENV')
      for (const pair of rest.split(' '))
        stage.env[pair.split('=')[0]] = inPaths(stage, pair.slice(pair.indexOf('=') + 1)).replace('$PATH', process.env.PATH)
    else if (word === 'COPY') copy(stage, rest, stages)
    else if (word === 'RUN') run(stage, rest)
    else if (word === 'STOPSIGNAL') stage.signal = rest
    else if (word === 'HEALTHCHECK') stage.health = JSON.parse(rest.slice(rest.indexOf('[')))
    else if (word === 'CMD') stage.command = JSON.parse(rest)
    else if (!['USER', 'VOLUME', 'EXPOSE'].includes(word)) throw new Error(`the check does not know ${word}`)
  }
  await startAsContainer(stage)
}

/** In a network of its own. Where that is not allowed: in this one, on loopback, which an image without HOST would answer, too. */
async function startAsContainer(stage) {
  const inNetwork = (command, ...args) =>
    spawnSync('unshare', [...UNSHARED, 'sh', '-c', WITH_ADDRESS, command, ...args], { stdio: 'inherit' })
  if (inNetwork('true').status !== 0) {
    console.log('no network namespaces here: the outer address of the container is not asked')
    return start(stage, { address: '127.0.0.1', port: await freePort() })
  }
  const file = join(work, 'stage.json')
  writeFileSync(file, JSON.stringify(stage))
  const { status } = inNetwork(process.execPath, fileURLToPath(import.meta.url), '--start', file)
  if (status !== 0) throw new Error(`the check in the network of the container ended with ${status}`)
}

const readLines = () =>
  readFileSync(join(CONTEXT, 'Dockerfile'), 'utf8')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => /^(\w+)\s+(.*)$/.exec(line))

function newStage(name) {
  const root = join(work, name)
  return { name, root: makeFolder(root, {}), cwd: root, env: {}, signal: 'SIGTERM' }
}

function makeFolder(path) {
  mkdirSync(path, { recursive: true })
  if (isRoot) for (let each = path; each !== work; each = dirname(each)) chownSync(each, NOBODY.uid, NOBODY.gid)
  return path
}

const inStage = ({ root, cwd }, path) => (path.startsWith('/') ? join(root, path) : resolve(cwd, path))
/** The folders of the image, where they are here. */
const inPaths = ({ root }, text) => text.replace(/(^|\s)\/(app|data)\b/g, (_, before, folder) => `${before}${root}/${folder}`)

function copy(stage, rest, stages) {
  const words = rest.split(/\s+/)
  const from = words[0].startsWith('--from=') ? stages.get(words.shift().slice('--from='.length)) : undefined
  const target = words.pop()
  for (const source of words) {
    const path = from ? inStage(from, source) : join(CONTEXT, source)
    if (!existsSync(path)) throw new Error(`COPY ${source}: there is no such file`)
    const isFolder = statSync(path).isDirectory()
    const to = isFolder || !(target.endsWith('/') || target === '.') ? inStage(stage, target) : join(inStage(stage, target), basename(path))
    makeFolder(isFolder ? to : dirname(to))
    cpSync(path, to, { recursive: true, verbatimSymlinks: true, filter: (each) => from || !isIgnored(each.slice(CONTEXT.length + 1)) })
  }
  if (isRoot) execFileSync('chown', ['-R', `${NOBODY.uid}:${NOBODY.gid}`, stage.root])
}

/** By .dockerignore. */
const isIgnored = (path) =>
  /(^|\/)(node_modules|dist|\.git)(\/|$)/.test(path) || /^(data|release|bench\/data|dashboard\/screenshots)(\/|$)/.test(path)

function envOf({ root, env }) {
  const { PATH } = process.env
  const home = makeFolder(join(root, 'home'))
  return { PATH, HOME: home, TMPDIR: makeFolder(join(root, 'tmp')), ...env }
}

function run(stage, command) {
  console.log(`RUN ${command}`)
  // The owner of the data folder is the user that everything runs as.
  const script = inPaths(stage, command).replace('chown node:node', isRoot ? `chown ${NOBODY.uid}:${NOBODY.gid}` : 'true')
  execFileSync('/bin/sh', ['-ec', script], {
    cwd: stage.cwd,
    env: envOf(stage),
    stdio: ['ignore', 'inherit', 'inherit'],
    ...(isRoot ? NOBODY : {}),
  })
}

async function start(stage, { address, port }) {
  const env = { ...envOf(stage), ...(port === PORT ? {} : { PORT: String(port) }) }
  for (const name of readdirSync(stage.root))
    if (!['data', 'tmp', 'home'].includes(name)) execFileSync('chmod', ['-R', 'a-w', join(stage.root, name)])
  const [command, ...args] = stage.command
  const as = isRoot ? NOBODY : {}
  console.log(`CMD ${stage.command.join(' ')}`)
  running = spawn(command, args, { cwd: stage.cwd, env, stdio: ['ignore', 'pipe', 'inherit'], ...as })
  let log = ''
  running.stdout.on('data', (text) => (log += text))
  const ended = new Promise((done) => running.once('exit', (code, signal) => done({ code, signal })))
  await until(START_MS, () => healthy(stage, env, as))
  const claimCode = execFileSync(command, ['claim-code'], { cwd: stage.cwd, env, encoding: 'utf8', ...as }).trim()
  if (!log.includes(claimCode)) throw new Error(`the log does not have the claim code:\n${log}`)
  await sendEmail(`http://${address}:${port}`, claimCode)
  running.kill(stage.signal)
  const end = await Promise.race([ended, new Promise((done) => setTimeout(done, STOP_MS, { code: 'none' }).unref())])
  if (end.code !== 0) throw new Error(`${stage.signal} ended it with ${JSON.stringify(end)}`)
}

async function healthy({ cwd, health: [command, ...args] }, env, as) {
  if (running.exitCode !== null) throw new Error(`it has ended with ${running.exitCode}`)
  return new Promise((done) => spawn(command, args, { cwd, env, stdio: 'ignore', ...as }).once('exit', (code) => done(code === 0)))
}

async function sendEmail(url, claimCode) {
  const call = async (path, { body, ...headers } = {}) => {
    const answer = await fetch(`${url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return { headers: answer.headers, body: await answer.json() }
  }
  const account = { email: 'ada@example.com', password: randomBytes(12).toString('hex'), claimCode }
  const signedUp = await call('/auth/signup', { body: account })
  const cookie = signedUp.headers.getSetCookie()[0].split(';')[0]
  const { body: project } = await call('/users/@me/projects', { body: { name: 'Image' }, cookie })
  const authorization = `Bearer ${project.secret}`
  await call('/domains', { body: { domain: 'image.example' }, authorization })
  const { body } = await call('/v1/send', {
    body: { to: 'grace@example.com', from: 'hello@image.example', subject: 'Hi', body: '<p>Hi</p>' },
    authorization,
  })
  const id = body.data.emails[0].email
  await until(START_MS, async () => (await call(`/emails/${id}`, { authorization })).body.sentAt !== null)
}

async function until(ms, isDone) {
  for (const deadline = Date.now() + ms; Date.now() < deadline; await new Promise((done) => setTimeout(done, 250)))
    if (await isDone()) return
  throw new Error(`not within ${ms / 1000} s`)
}

const freePort = () =>
  new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => done(port))
    })
  })

try {
  if (started < 0) await check()
  else await start(JSON.parse(readFileSync(process.argv[started + 1], 'utf8')), { address: OUTER, port: PORT })
  if (started < 0) console.log('the image starts, sends an email and stops')
} finally {
  running?.kill('SIGKILL')
  if (started < 0 && !process.argv.includes('--keep')) {
    execFileSync('chmod', ['-R', 'u+w', work])
    rmSync(work, { recursive: true, force: true })
  }
}
