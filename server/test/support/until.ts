const INTERVAL_MS = 10

/** Polls until the answer is truthy, and fails with `what` after `withinMs`. */
export async function until<T>(what: string, ask: () => T | Promise<T>, withinMs = 40_000): Promise<NonNullable<T>> {
  for (const end = Date.now() + withinMs; ; await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS))) {
    const answer = await ask()
    if (answer) return answer
    if (Date.now() > end) throw new Error(`not in time: ${what}`)
  }
}
