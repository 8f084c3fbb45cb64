import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ForksPoolWorker, type PoolOptions, type PoolRunnerInitializer, type WorkerRequest } from 'vitest/node'

const SAMPLE_MS = 1_000
const LAST_OUTPUT_MS = 300
/** V8 prints a few kilobytes when it runs out of memory, and Node prints both stacks when it aborts. */
const STDERR_KEPT = 6_000
const MAX_TESTS_NAMED = 10

type Death = { code: number | null; signal: string | null; file: string; tests: string[]; memory: string; stderr: string }

/** Vitest reports of a process that died under its tests only that it did. This says how, during which test, and with how much memory. */
export const explainedForks: PoolRunnerInitializer = {
  name: 'explained-forks',
  createPoolWorker: (options) => new ExplainedFork(options),
}

class ExplainedFork extends ForksPoolWorker {
  override readonly name = explainedForks.name
  readonly #project: PoolOptions['project']
  #file = ''
  #isStopping = false
  #memory = 'unknown'
  #stderr = ''

  constructor(options: PoolOptions) {
    super(options)
    this.#project = options.project
  }

  override async start() {
    await super.start()
    // Private to vitest, which offers neither the pid nor the output of its processes.
    const child = (this as unknown as { fork: ChildProcess }).fork
    child.stderr!.on('data', (text) => (this.#stderr = (this.#stderr + text).slice(-STDERR_KEPT)))
    const sampling = setInterval(() => (this.#memory = memoryOf(child.pid!) ?? this.#memory), SAMPLE_MS)
    child.once('exit', async (code, signal) => {
      clearInterval(sampling)
      if (this.#isStopping) return
      // The last output may still be in the pipe, which a process that a test started may keep open.
      await Promise.race([once(child, 'close'), sleep(LAST_OUTPUT_MS)])
      this.#report(code, signal)
    })
  }

  override send(message: WorkerRequest) {
    if (message.type === 'run') {
      this.#file = message.context.files[0]?.filepath ?? ''
      this.#stderr = ''
    }
    if (message.type === 'stop') this.#isStopping = true
    super.send(message)
  }

  override async stop() {
    this.#isStopping = true
    await super.stop()
  }

  #report(code: number | null, signal: string | null) {
    const { state, config } = this.#project.vitest
    const tests = state.getFiles([this.#file]).flatMap((file) => unfinishedIn(file.tasks, ''))
    const file = relative(config.root, this.#file)
    const error = new Error(describeDeath({ code, signal, file, tests, memory: this.#memory, stderr: this.#stderr }))
    error.stack = error.message
    // Listed at the end of the run, where the other errors are.
    state.catchError(error, 'Death of a test process')
  }
}

type Task = { type: string; name: string; result?: { state: string } | undefined; tasks?: Task[] }

const unfinishedIn = (tasks: Task[], suite: string): string[] =>
  tasks.flatMap((task) => {
    if (task.tasks) return unfinishedIn(task.tasks, `${suite}${task.name} > `)
    return !task.result || task.result.state === 'run' ? [`${suite}${task.name}`] : []
  })

function describeDeath({ code, signal, file, tests, memory, stderr }: Death) {
  return [
    `A test process ended by itself: ${signal ? `signal ${signal}` : `exit code ${code}`}`,
    `file: ${file || 'none'}`,
    `tests that had not ended: ${tests.length} (${tests.slice(0, MAX_TESTS_NAMED).join('; ')})`,
    `memory of the process: ${memory}`,
    `memory of the machine: ${read('/proc/meminfo', /^(MemTotal|MemAvailable).*$/gm)}`,
    `kills by the kernel for memory: ${read('/sys/fs/cgroup/memory.events', /^oom_kill.*$/gm)}`,
    `end of its standard error:\n${stderr || '(nothing)'}`,
  ].join('\n')
}

const memoryOf = (pid: number) => read(`/proc/${pid}/status`, /^(VmRSS|VmHWM|VmSwap|Threads).*$/gm) || undefined

/** The lines of a file that match; none on systems without that file. */
function read(path: string, lines: RegExp) {
  try {
    return [...readFileSync(path, 'utf8').matchAll(lines)].map(([line]) => line.replace(/\s+/g, ' ')).join(', ')
  } catch {
    return ''
  }
}
