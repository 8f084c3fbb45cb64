/** `setTimeout` fires at once for a longer delay. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

export type Deadline = ReturnType<typeof startDeadline>

/** The time limit of a call and the signal of its caller, as one signal. (`AbortSignal.any` needs Node 20.) */
export function startDeadline(timeoutMs: number, callerSignal?: AbortSignal) {
  const controller = new AbortController()
  const limitMs = Math.min(timeoutMs, LONGEST_DELAY_MS)
  const endsAt = Date.now() + limitMs
  let hasTimedOut = false
  const timer = setTimeout(() => {
    hasTimedOut = true
    controller.abort()
  }, limitMs)
  const cancel = () => controller.abort(callerSignal?.reason)
  if (callerSignal?.aborted) cancel()
  else callerSignal?.addEventListener('abort', cancel, { once: true })

  return {
    signal: controller.signal,
    hasTimedOut: () => hasTimedOut,
    leavesRoomFor: (ms: number) => Date.now() + ms < endsAt,
    /** `keepSignal`: the caller's signal still cancels the body of a download, which may take longer than the limit. */
    end({ keepSignal }: { keepSignal: boolean }) {
      clearTimeout(timer)
      if (!keepSignal) callerSignal?.removeEventListener('abort', cancel)
    },
  }
}

/** Ends early when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resume) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resume()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}
