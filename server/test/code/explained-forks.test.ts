import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import type { PoolOptions, WorkerRequest } from 'vitest/node'
import { eventually } from '../support/eventually.ts'
import { explainedForks } from '../support/processes/explained-forks.ts'

const FILE = '/project/server/test/some.test.ts'

/** What a pool worker uses of vitest. */
function fakeProject() {
  const catchError = vi.fn<(error: Error, kind: string) => void>()
  const tasks = [
    { type: 'test', name: 'ended', result: { state: 'pass' } },
    { type: 'suite', name: 'a suite', tasks: [{ type: 'test', name: 'was running', result: { state: 'run' } }] },
  ]
  const vitest = {
    logger: { outputStream: process.stdout, errorStream: process.stderr },
    state: { catchError, getFiles: () => [{ tasks }] },
    config: { root: '/project' },
  }
  return { catchError, project: { vitest } as unknown as PoolOptions['project'] }
}

async function startFork() {
  const { catchError, project } = fakeProject()
  const distPath = dirname(fileURLToPath(import.meta.resolve('vitest/node')))
  const options = { project, distPath, method: 'run', execArgv: [], env: { PATH: process.env.PATH } } as unknown as PoolOptions
  const fork = explainedForks.createPoolWorker(options)
  await fork.start()
  fork.send({ __vitest_worker_request__: true, type: 'run', context: { files: [{ filepath: FILE }] } } as unknown as WorkerRequest)
  return { catchError, fork, pid: (fork as unknown as { fork: { pid: number } }).fork.pid }
}

test('a test process that dies is reported with its signal, its file and the tests that had not ended', async () => {
  const { catchError, pid } = await startFork()
  process.kill(pid, 'SIGSEGV')
  await eventually(() => expect(catchError).toHaveBeenCalledOnce())
  const [{ message }] = catchError.mock.calls[0]!
  expect(message).toContain('ended by itself: signal SIGSEGV')
  expect(message).toContain('file: server/test/some.test.ts')
  expect(message).toContain('tests that had not ended: 1 (a suite > was running)')
})

test('a test process that vitest stops is not reported', async () => {
  const { catchError, fork } = await startFork()
  await fork.stop()
  expect(catchError).not.toHaveBeenCalled()
})
