import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { birthOf, findServer } from '../../src/db/embedded/processes.ts'
import { destroyTestFolder, newTestFolder } from '../support/postgres.ts'
import { freePort } from '../support/process.ts'
import { installFromClone } from '../support/processes/install-from-clone.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const PATIENCE = { timeout: 90_000, interval: 50 }
const folder = newTestFolder()
const dataDir = join(folder, 'data')
let npm: ChildProcess | undefined
let server: { pid: number; birth: string | undefined } | undefined

afterEach(() => {
  npm?.kill('SIGKILL')
  // Its pid may belong to another process by now.
  if (server?.birth && birthOf(server.pid) === server.birth) process.kill(server.pid, 'SIGKILL')
  server = undefined
})
afterAll(() => destroyTestFolder(folder))

/** As a newcomer does. */
const npmStart = (shell: string, settings: Record<string, string> = {}) => startBy(['npm', 'start'], ROOT, shell, settings)

/** In a process group of its own, as a terminal would have it. */
async function startBy([command, ...args]: string[], cwd: string, shell: string, settings: Record<string, string> = {}) {
  let output = ''
  const child = spawn(command!, args, {
    cwd,
    detached: true,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATA_DIR: dataDir,
      PORT: String(await freePort()),
      npm_config_script_shell: shell,
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  npm = child
  const exited = once(child, 'exit')
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const readPid = () => (output.includes('Sterna is ready') ? Number(/"pid":(\d+)/.exec(output)?.[1]) : 0)
  await expect
    .poll(readPid, PATIENCE)
    .toBeGreaterThan(0)
    .catch((err) => {
      throw new Error(`it did not start:\n${output}`, { cause: err })
    })
  const pid = readPid()
  server = { pid, birth: birthOf(pid) }
  const postgres = findServer(join(dataDir, 'postgres'))!
  expect(birthOf(postgres)).toBeDefined()
  return { npm: child, pid, exited, output: () => output, isRunning: () => [pid, postgres].filter((each) => birthOf(each)) }
}

/** The packed package in a folder of its own, whose package.json has a script for it. */
async function installPackage() {
  const { pack } = await import(new URL('../../../scripts/pack.mjs', import.meta.url).href)
  const work = join(folder, 'work')
  mkdirSync(work)
  await installFromClone(await pack(folder), work)
  writeFileSync(join(work, 'package.json'), JSON.stringify({ name: 'mail', private: true, scripts: { start: 'sterna start' } }))
  return work
}

const parentOf = async (pid: number) => Number((await promisify(execFile)('ps', ['-o', 'ppid=', '-p', String(pid)])).stdout.trim())

async function expectOrderlyEnd(started: Awaited<ReturnType<typeof startBy>>) {
  await expect.poll(started.isRunning, PATIENCE).toEqual([])
  expect(started.output().match(/"msg":"stopping"/g)).toHaveLength(1)
  expect(started.output()).not.toMatch(/did not stop|could not stop/)
  expect(existsSync(join(dataDir, 'postgres', 'data', 'postmaster.pid'))).toBe(false)
}

describe('the installed package', () => {
  let work: string
  beforeAll(async () => {
    work = await installPackage()
  }, 120_000)

  test.each<[string, string[], 'npm' | 'shell', NodeJS.Signals]>([
    ['SIGTERM of npx', ['npx', 'sterna', 'start'], 'npm', 'SIGTERM'],
    ['SIGKILL of npx', ['npx', 'sterna', 'start'], 'npm', 'SIGKILL'],
    ['SIGTERM of the shell that npx started', ['npx', 'sterna', 'start'], 'shell', 'SIGTERM'],
    ['SIGTERM of npm, which runs it as a script', ['npm', 'start'], 'npm', 'SIGTERM'],
  ])('%s ends the server and its PostgreSQL in order', async (_, command, who, signal) => {
    const started = await startBy(command, work, '/bin/sh')
    const shell = await parentOf(started.pid)
    // A shell that replaces itself by its last command leaves none in between.
    process.kill(who === 'npm' || shell === started.npm.pid ? started.npm.pid! : shell, signal)
    await expectOrderlyEnd(started)
  })

  test('outlives its parent when neither npm nor npx started it', async () => {
    const script = `${join(work, 'node_modules/.bin/sterna')} start & echo started; wait`
    const started = await startBy(['sh', '-c', script], work, '/bin/sh')
    started.npm.kill('SIGKILL')
    await started.exited
    // Longer than the server takes to notice that its parent has ended.
    await sleep(1_500)
    expect(started.isRunning()).toHaveLength(2)
    process.kill(started.pid, 'SIGTERM')
    await expectOrderlyEnd(started)
  })
})

test.each([
  ['SIGTERM', '/bin/sh'],
  ['SIGTERM', '/bin/bash'],
  ['SIGKILL', '/bin/sh'],
] as const)('%s of npm start, run by %s, ends the server and its PostgreSQL in order', async (signal, shell) => {
  if (!existsSync(shell)) return
  const started = await npmStart(shell)
  started.npm.kill(signal)
  await expect.poll(started.isRunning, PATIENCE).toEqual([])
  expect(started.output().match(/"msg":"stopping"/g)).toHaveLength(1)
  expect(existsSync(join(dataDir, 'postgres', 'data', 'postmaster.pid'))).toBe(false)
})

test('Ctrl-C, which reaches the server from the terminal and from npm, ends it in order, however late npm passes it on', async () => {
  const started = await npmStart('/bin/sh', { SHUTDOWN_DELAY_SECONDS: '3' })
  started.npm.kill('SIGSTOP')
  process.kill(-started.npm.pid!, 'SIGINT')
  await expect.poll(started.output, PATIENCE).toMatch(/"msg":"stopping"/)
  // Longer than the time in which two signals always count as one.
  await sleep(1_000)
  started.npm.kill('SIGCONT')
  await expect.poll(started.isRunning, PATIENCE).toEqual([])
  expect(started.output()).not.toMatch(/did not stop|could not stop/)
  expect(existsSync(join(dataDir, 'postgres', 'data', 'postmaster.pid'))).toBe(false)
  expect(await started.exited).toEqual([0, null])
})
