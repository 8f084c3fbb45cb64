import { readFileSync } from 'node:fs'

/**
 * Returns a function that tells how many milliseconds the event loop has worked since. No single task can have blocked it for longer. CPU time
 * of its thread where the system tells it, so that a busy machine makes no difference.
 */
export function startLoopClock() {
  const before = performance.eventLoopUtilization()
  const started = mainThreadMs()
  return () => {
    const now = mainThreadMs()
    return started === undefined || now === undefined ? performance.eventLoopUtilization(before).active : now - started
  }
}

/** Linux only, and only if the kernel keeps these statistics. */
function mainThreadMs() {
  try {
    const ns = Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0])
    return ns > 0 ? ns / 1e6 : undefined
  } catch {
    return undefined
  }
}
