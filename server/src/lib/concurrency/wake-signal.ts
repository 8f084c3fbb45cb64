/** Wakes the one waiter. A signal that arrives while nothing waits ends the next wait at once. */
export function createWakeSignal() {
  let signalled = false
  let resume = () => {}
  return {
    wake() {
      signalled = true
      resume()
    },
    /** Resolves at the next signal or after `ms`; false after `ms`. */
    async wait(ms: number) {
      if (!signalled) {
        await new Promise<void>((resolve) => {
          const timeout = setTimeout(resolve, ms)
          resume = () => {
            clearTimeout(timeout)
            resolve()
          }
        })
      }
      const woken = signalled
      signalled = false
      return woken
    },
  }
}
