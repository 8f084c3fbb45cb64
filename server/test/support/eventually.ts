import { vi } from 'vitest'

/** Far longer than any worker needs: a busy machine may take seconds for what takes a moment otherwise. */
const TIMEOUT_MS = 40_000

/** Repeats a check until it no longer throws and returns its value; fails with its last error. */
export const eventually = <T>(check: () => T | Promise<T>, { timeout = TIMEOUT_MS, interval = 20 } = {}): Promise<T> =>
  vi.waitFor(check, { timeout, interval })

/** Asks until the answer is truthy, and fails with `what`. */
export const until = <T>(what: string, ask: () => T | Promise<T>, timeout = TIMEOUT_MS): Promise<NonNullable<T>> =>
  eventually(
    async () => {
      const answer = await ask()
      if (!answer) throw new Error(`not in time: ${what}`)
      return answer
    },
    { timeout, interval: 10 },
  )
