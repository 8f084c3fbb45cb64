import type { SafeOutcome, SafeRequest } from '../../src/lib/network/safe-fetch.ts'

export const ANSWERED: SafeOutcome = { is: 'status', status: 200, retryAfter: undefined, ms: 5 }
export const TIMED_OUT: SafeOutcome = { is: 'failed', reason: 'No reply in time.', ms: 10_000 }

type HeldRequest = { url: string; end: (outcome: SafeOutcome) => void }

/** A network on which a request to a host named `hangs…` waits until the test ends it; others are answered at once. */
export function holdRequests() {
  const underWay = new Set<HeldRequest>()
  const answered: string[] = []
  const safeFetch = ({ url }: SafeRequest) =>
    new Promise<SafeOutcome>((resolve) => {
      if (!url.startsWith('https://hangs')) {
        answered.push(url)
        return resolve(ANSWERED)
      }
      const request: HeldRequest = {
        url,
        end: (outcome) => {
          underWay.delete(request)
          resolve(outcome)
        },
      }
      underWay.add(request)
    })
  return {
    underWay,
    answered,
    safeFetch,
    /** Stops what makes the requests, which waits for those under way. */
    async stop(workers: { stop(): Promise<unknown> }[]) {
      const ended = Promise.all(workers.map((worker) => worker.stop()))
      for (const request of underWay) request.end(ANSWERED)
      await ended
    },
  }
}
