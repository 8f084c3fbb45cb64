import type { Log } from '../process/log.ts'

export type Recurring = { stop(): Promise<void> }

/** Runs `work` when it is called, at most once per `ms`; calls in between get the last result. */
export function atMostEvery<T>(ms: number, work: () => Promise<T>) {
  let last: { at: number; result: Promise<T> } | undefined
  return () => {
    if (!last || performance.now() - last.at > ms) last = { at: performance.now(), result: work() }
    return last.result
  }
}

/** Runs `work` repeatedly with a pause of `ms` between runs, never two at once. A failure is logged; the next run follows as usual. */
export function every(ms: number, name: string, work: () => Promise<unknown>, log: Log): Recurring {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  let stopped = false

  const run = () => {
    running = work()
      .then(() => {})
      .catch((err) => log.warn({ err, work: name }, 'background work failed; retrying'))
      .finally(() => {
        if (!stopped) timer = setTimeout(run, ms)
      })
  }
  run()

  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
