/** Longer than a process needs from one test file to the next. */
const IDLE_MS = 3_000

/**
 * Something that takes long to start, for the test files that one process runs one after the other: the first file that enters starts it,
 * and it stops when no file has entered for a while. The last one ends with the process.
 */
export function keepRunning<Running>(start: () => Promise<Running>, stop: (running: Running) => Promise<unknown>) {
  let running: Promise<Running> | undefined
  let stopping: NodeJS.Timeout | undefined
  return {
    enter(): Promise<Running> {
      clearTimeout(stopping)
      running ??= start().catch((err) => {
        running = undefined
        throw err
      })
      return running
    },
    leave() {
      const left = running
      stopping = setTimeout(() => {
        running = undefined
        // Not awaited by any test: a failure to stop must not fail the tests of another file.
        left?.then(stop).catch(() => {})
      }, IDLE_MS)
    },
  }
}
