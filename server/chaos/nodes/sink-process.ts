import { fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type connect, transact } from '../../src/db/index.ts'
import { settleByEvidence } from '../../src/delivery/outbox/outcomes/evidence.ts'
import { every } from '../../src/lib/concurrency/every.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { destroyTestFolder, newTestFolder } from '../../test/support/postgres.ts'
import { freePort } from '../../test/support/process.ts'
import type { ReceivedMessage } from '../../test/support/servers/smtp-server.ts'
import { builtProcess } from './build-processes.ts'

const EVIDENCE_MS = 100
/** Delay of reports: mostly after the SMTP reply, sometimes before a worker knows that a reply is missing. */
const LATENCY_MS = 700

/** The SMTP server as a process of its own, with a log of every message it accepted. */
export async function startSinkProcess() {
  const folder = newTestFolder()
  const logFile = join(folder, 'sink.log')
  writeFileSync(logFile, '')
  const port = await freePort()
  const child = fork(await builtProcess('sink'), [String(port), logFile], { execArgv: [] })
  await once(child, 'message')
  return {
    url: `smtp://127.0.0.1:${port}?tls=off`,
    read: tail(logFile),
    tail: tail(logFile),
    reset: () => void child.kill('SIGUSR2'),
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      destroyTestFolder(folder)
    },
  }
}

/** Reads the lines added since the last call. The last one may be incomplete and is left for the next call. */
function tail(file: string) {
  let position = 0
  return (): ReceivedMessage[] => {
    const fd = openSync(file, 'r')
    const bytes = Buffer.alloc(fstatSync(fd).size - position)
    readSync(fd, bytes, 0, bytes.length, position)
    closeSync(fd)
    const whole = bytes.subarray(0, bytes.lastIndexOf(10) + 1)
    position += whole.length
    return whole
      .toString()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  }
}

/** Reports every message once, and again only if that failed. */
export function feedEvidence(db: ReturnType<typeof connect>, projectId: string, read: () => ReceivedMessage[]) {
  let waiting: ReceivedMessage[] = []
  return every(
    EVIDENCE_MS,
    'report messages that arrived',
    async () => {
      waiting.push(...read())
      const news = waiting.filter(({ at }) => Date.now() - at > LATENCY_MS)
      if (!news.length) return
      await transact(db, (tx) =>
        settleByEvidence(
          tx,
          news.map(({ id }) => ({ projectId, id })),
        ),
      )
      waiting = waiting.slice(news.length)
    },
    createLog('silent'),
  )
}
