import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { createThreadPool, watchProgress } from './thread-pool.ts'
import { cpuMsOf, createProgress } from './thread-progress.ts'

const LIMIT_MS = 40
const threads: Worker[] = []
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.terminate()
})

/** A thread that notes itself in its progress as `noteThread` does, and then does what is given. */
async function startThread(work: string) {
  const progress = createProgress(0)
  const code = `
    const { workerData, parentPort } = require('node:worker_threads')
    workerData[2] = Number(require('node:fs').readlinkSync('/proc/thread-self').split('/').at(-1))
    parentPort.postMessage('started')
    ${work}`
  const thread = new Worker(code, { eval: true, workerData: progress })
  threads.push(thread)
  await new Promise((resolve) => thread.once('message', resolve))
  return progress
}

const untilOverrun = (progress: Int32Array) => {
  const startedAt = performance.now()
  return new Promise<number>((resolve) =>
    watchProgress(
      progress,
      () => LIMIT_MS,
      () => resolve(performance.now() - startedAt),
    ),
  )
}

test.skipIf(process.platform !== 'linux')('a thread that works overruns its limit after CPU time, not before', async () => {
  const progress = await startThread('for (;;);')
  const before = cpuMsOf(progress)!
  await untilOverrun(progress)
  expect(cpuMsOf(progress)! - before).toBeGreaterThan(LIMIT_MS / 2)
})

test.skipIf(process.platform !== 'linux')('a thread that waits has thirty times its limit', async () => {
  const progress = await startThread('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)')
  expect(await untilOverrun(progress)).toBeGreaterThan(30 * LIMIT_MS)
})

test('a thread that has not noted itself overruns its limit by time', async () => {
  expect(await untilOverrun(createProgress(0))).toBeGreaterThan(LIMIT_MS)
})

test('a thread imports its module: Node aborts the process if a thread is ended while it requires one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'thread-'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'loaded.js'), 'const { stack } = new Error()\nexport default () => stack')
  const pool = createThreadPool({ file: 'loaded', from: pathToFileURL(join(folder, 'main.js')).href, minThreads: 1, maxThreads: 1 })
  expect(await pool.run(undefined)).not.toMatch(/cjs/)
  await pool.destroy()
  await rm(folder, { recursive: true })
})
