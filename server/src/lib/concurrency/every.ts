import type { Log } from '../log.ts'

export type Recurring = { stop(): Promise<void> }

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
