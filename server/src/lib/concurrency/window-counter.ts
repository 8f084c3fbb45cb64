import { createCache } from '../collections/cache.ts'

/** Counts per key in fixed windows, in this process only. Bounded: under a flood of keys the oldest are dropped first. */
export function createWindowCounter({ limit, windowMs, maxKeys = 50_000 }: { limit: number; windowMs: number; maxKeys?: number }) {
  const windows = createCache<string, { endsAt: number; count: number }>({ maxEntries: maxKeys })

  const current = (key: string) => {
    const window = windows.get(key)
    return window && window.endsAt > performance.now() ? window : undefined
  }

  return {
    /** Counts one more and returns whether the key is now over its limit. */
    count(key: string) {
      const window = current(key) ?? { endsAt: performance.now() + windowMs, count: 0 }
      window.count++
      windows.set(key, window)
      return window.count > limit
    },
    isOver: (key: string) => (current(key)?.count ?? 0) >= limit,
    retryAfter: (key: string) => Math.max(1, Math.ceil(((current(key)?.endsAt ?? 0) - performance.now()) / 1000)),
  }
}
