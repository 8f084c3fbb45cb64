export type Rests = ReturnType<typeof createRests>

type Options = {
  /** Longest rest after one piece of work. */
  maxMs: number
  /** False while no other owner makes requests. */
  isNeeded?: (owner: string) => boolean
}

/**
 * Owners that rest after their work, so that others get their share of the processors. Rests of several pieces of work add up, also of
 * different semaphores.
 */
export function createRests({ maxMs, isNeeded = () => true }: Options) {
  const resting = new Map<string, { until: number; timer: NodeJS.Timeout }>()
  const listeners: (() => void)[] = []

  function end(owner: string) {
    resting.delete(owner)
    for (const listener of listeners) listener()
  }

  return {
    isResting: (owner: string) => resting.has(owner),
    begin(owner: string, ms: number) {
      if (ms <= 0 || !isNeeded(owner)) return
      const known = resting.get(owner)
      clearTimeout(known?.timer)
      const now = performance.now()
      const until = Math.max(known?.until ?? 0, now) + Math.min(ms, maxMs)
      resting.set(owner, { until, timer: setTimeout(() => end(owner), until - now).unref() })
    },
    /** Calls `listener` whenever the rest of an owner ends. */
    onEnd: (listener: () => void) => void listeners.push(listener),
  }
}
