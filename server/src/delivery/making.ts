import { createBatcher, type Outcome } from '../lib/batch.ts'
import type { Log } from '../lib/log.ts'
import type { Secrets } from '../lib/secrets.ts'
import { createThreads, spareCores } from '../lib/threads.ts'
import type { Order } from './make.ts'
import { LANES } from './outbox.ts'

/** What a thread is told once. */
export type Known = { master: string; publicUrl: string; logLevel: string }

/** So many are made together: enough to be worth the way, few enough for others to get their turn. */
const TOGETHER = 8
/** Mails may have files of megabytes. */
const TOGETHER_BYTES = 4 * 1024 * 1024
/** So many groups a thread has in hand: the one it works at, and the next. */
const IN_HAND = 2
const MAX_PENDING = 10_000
/** With the wait for a thread. The largest takes two seconds; what takes this long is given up, and its thread with it. */
const TIME_MS = 30_000
/** What a mail leaves behind is dead when the next begins. */
const YOUNG_MB = 6

type Port = { secrets: Secrets; publicUrl: string; log: Log }

/**
 * Makes mails in threads. Composing and signing take more of the processor than all the rest of sending; on the main thread everyone
 * who waits for an answer would wait for them as well.
 */
export function createMaking({ secrets, publicUrl, log }: Port) {
  const most = spareCores(2, 4)
  const knows: Known = { master: secrets.master, publicUrl, logLevel: log.level }
  const threads = createThreads({
    file: 'make-thread',
    from: import.meta.url,
    least: 1,
    most,
    youngMb: YOUNG_MB,
    inHand: IN_HAND,
    knows,
  })

  async function makeTogether(orders: Order[]): Promise<Outcome<Uint8Array>[]> {
    const killer = new AbortController()
    const patience = setTimeout(() => killer.abort(), TIME_MS)
    return threads.run(orders, { name: 'make', signal: killer.signal }).finally(() => clearTimeout(patience))
  }

  // Each lane on its own, so that what cannot wait does not stand behind all that a campaign has.
  const batcher = () =>
    createBatcher<Order, Uint8Array>({
      run: makeTogether,
      // Then the thread has ended, or was ended, or could not even be told: one of them did that.
      isTheirFault: () => true,
      weigh: weightOf,
      maxItems: TOGETHER,
      maxWeight: TOGETHER_BYTES,
      maxWaitMs: 0,
      lanes: most * IN_HAND,
      maxPending: MAX_PENDING,
      maxPendingWeight: Number.POSITIVE_INFINITY,
    })
  const batchers: Record<number, ReturnType<typeof batcher>> = { [LANES.transactional]: batcher(), [LANES.bulk]: batcher() }

  return {
    async make(lane: number, order: Order) {
      const { buffer, byteOffset, length } = await batchers[lane]!.submit(order)
      return Buffer.from(buffer, byteOffset, length)
    },
    close: () => threads.destroy(),
  }
}

const weightOf = ({ html, content }: Order) => content.attachments.reduce((sum, { content: file }) => sum + file.length, 2 * html.length)
