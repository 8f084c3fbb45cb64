import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { createFairSemaphore } from '../../lib/fair/semaphore.ts'
import { KB } from '../../lib/text/units.ts'
import { readJson } from '../core/json.ts'

/** Bytes from which parsing may take milliseconds: 1 MB of small objects takes 40. */
const LARGE = 128 * KB
/** Bodies of one owner: more than the budget of body bytes lets in. */
const MAX_WAITING = 1_000
const MAX_WAIT_MS = 10_000

export const isLargeBody = (bytes: Buffer) => bytes.length >= LARGE

/**
 * Parses large bodies one at a time, in turns by owner, and pauses after each for as long as it took. Eight bodies of one project that
 * arrive together would otherwise block the event loop for 300 ms.
 */
export function createLargeBodyParser() {
  const withSlot = createFairSemaphore({ slots: 1, maxWaiting: MAX_WAITING, maxWaitMs: MAX_WAIT_MS })

  return (bytes: Buffer, owner: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const parse = async () => {
        await nextTurn()
        const start = performance.now()
        try {
          resolve(readJson(bytes))
        } catch (err) {
          reject(err)
        }
        // The pause keeps the slot, but not the request.
        await sleep(performance.now() - start)
      }
      withSlot(owner, parse).catch(reject)
    })
}
