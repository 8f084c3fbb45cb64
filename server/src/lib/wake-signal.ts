/** Wakes who waits. A ring that nobody waits for is heard by the next who does. */
export function createBell() {
  let rung = false
  let hear = () => {}
  return {
    ring() {
      rung = true
      hear()
    },
    /** False when it did not ring for so long. */
    async wait(ms: number) {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const patience = setTimeout(resolve, ms)
          hear = () => {
            clearTimeout(patience)
            resolve()
          }
        })
      }
      const heard = rung
      rung = false
      return heard
    },
  }
}
