import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 10

/** Polls until the answer is truthy, and fails with `what` after `withinMs`. */
export async function until<T>(what: string, withinMs: number, ask: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (const end = Date.now() + withinMs; ; await sleep(POLL_MS)) {
    const answer = await ask()
    if (answer) return answer
    if (Date.now() > end) throw new Error(`${what}: not within ${withinMs / 1_000} s`)
  }
}
