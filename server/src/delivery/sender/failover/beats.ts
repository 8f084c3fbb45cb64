/** One for each second of the journal, and some more. */
const KEPT = 700

type Beat = { counter: number; sentAt: number }

/** The counter of this worker, and when each value was sent: what was committed before that is on every server that has the value. */
export function createBeats() {
  const acknowledged: Beat[] = []
  let counter = 0
  return {
    next: () => ++counter,
    acknowledge(beat: Beat) {
      acknowledged.push(beat)
      if (acknowledged.length > KEPT) acknowledged.shift()
    },
    last: () => acknowledged.at(-1)?.counter,
    /** The time up to which a server with this value has every commit. Minus infinity: it is not known. */
    sentAt: (stored: number | undefined) =>
      acknowledged.findLast(({ counter }) => counter <= (stored ?? 0))?.sentAt ?? Number.NEGATIVE_INFINITY,
  }
}
