import { vi } from 'vitest'

/** Repeats a check until it no longer throws and returns its value; fails with its last error. The default timeout is far longer than any worker needs. */
export const eventually = <T>(check: () => T | Promise<T>, { timeout = 40_000, interval = 20 } = {}): Promise<T> =>
  vi.waitFor(check, { timeout, interval })
