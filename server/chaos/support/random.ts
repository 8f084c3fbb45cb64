/** Deterministic by seed, so that a run can be repeated. */
export type Random = ReturnType<typeof createRandom>

export function createRandom(seed: number) {
  let state = seed >>> 0
  /** mulberry32 */
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)

  return {
    below,
    between: (least: number, most: number) => least + next() * (most - least),
    chance: (share: number) => next() < share,
    pick: <T>(list: readonly T[]) => list[below(list.length)]!,
    shuffle<T>(list: readonly T[]) {
      const shuffled = [...list]
      for (let last = shuffled.length - 1; last > 0; last--) {
        const other = below(last + 1)
        ;[shuffled[last], shuffled[other]] = [shuffled[other]!, shuffled[last]!]
      }
      return shuffled
    },
  }
}

/** SEED replays the plan of an earlier run. */
export const readSeed = () => Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32))
