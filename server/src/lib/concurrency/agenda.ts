import { setTimeout as sleep } from 'node:timers/promises'

/** Tells the loops of a process whether there may be something to do, so that those of an idle process ask the database nothing. */
export type Agenda<Task extends string> = { isDue: (task: Task) => boolean }

type Options<Task extends string> = {
  /** Whether each task may have something to do: one statement for all of them. */
  read: () => Promise<Record<Task, boolean>>
  /** Interval while nothing is due. */
  idleMs: number
  /** Interval while something is due, after a failure, and while signals of others do not arrive. */
  busyMs: number
  hearsSignals?: () => boolean
}

/** Reads an agenda again and again. Until it was read, and while it cannot be, everything counts as due. */
export function startAgenda<Task extends string>({
  read,
  idleMs,
  busyMs,
  hearsSignals = () => true,
}: Options<Task>): Agenda<Task> & { stop: () => Promise<void> } {
  const stopping = new AbortController()
  let due: Record<Task, boolean> | undefined

  async function run() {
    while (!stopping.signal.aborted) {
      due = await read().catch(() => undefined)
      const isBusy = !due || Object.values(due).includes(true) || !hearsSignals()
      await sleep(isBusy ? busyMs : idleMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }
  const running = run()
  return {
    isDue: (task) => due?.[task] ?? true,
    async stop() {
      stopping.abort()
      await running
    },
  }
}
