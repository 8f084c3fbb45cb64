import { setTimeout as sleep } from 'node:timers/promises'

/** Far longer than any worker needs: a busy machine may take seconds for what takes a moment otherwise. */
const TIMEOUT_MS = 40_000
/** Pauses between two checks grow from the first to the second: a short wait ends soon, and a long one costs little. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [5, 100]
const GROWTH = 2

/** Repeats a check until it no longer throws and returns its value; fails with its last error. */
export async function eventually<T>(check: () => T | Promise<T>, { timeout = TIMEOUT_MS, interval = LONGEST_PAUSE_MS } = {}): Promise<T> {
  const end = performance.now() + timeout
  for (let pause = FIRST_PAUSE_MS; ; pause *= GROWTH) {
    try {
      return await check()
    } catch (err) {
      if (performance.now() > end) throw err
    }
    await sleep(Math.min(pause, interval))
  }
}

/** Asks until the answer is truthy, and fails with `what`. */
export const until = <T>(what: string, ask: () => T | Promise<T>, timeout = TIMEOUT_MS): Promise<NonNullable<T>> =>
  eventually(
    async () => {
      const answer = await ask()
      if (!answer) throw new Error(`not in time: ${what}`)
      return answer
    },
    { timeout, interval: 40 },
  )
