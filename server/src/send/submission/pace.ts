import { setTimeout as sleep } from 'node:timers/promises'
import { KB, MB, SECOND } from '../../lib/text/units.ts'

/** Bytes per second of one owner. Reading them takes a tenth of a processor; without a limit, a few connections would take all of it. */
const RATE = 16 * MB
/** Bytes of a message that are not counted: small messages never wait. */
const FREE = 256 * KB
/** Owners that are remembered; more only while all of them send large messages. */
const MAX_OWNERS = 1_000

/** Spreads the bytes of large messages over time, per owner. The client waits meanwhile, as it does for a slow network. */
export function createIntakePace(now: () => number = () => performance.now()) {
  /** When the bytes that an owner has sent so far are paid for. */
  const paidAt = new Map<string, number>()

  function wait(owner: string, bytes: number) {
    if (paidAt.size > MAX_OWNERS) for (const [each, at] of paidAt) if (at < now()) paidAt.delete(each)
    const start = Math.max(now(), paidAt.get(owner) ?? 0)
    paidAt.set(owner, start + (bytes / RATE) * SECOND)
    return start - now()
  }

  return async (owner: string, { total, bytes }: { total: number; bytes: number }) => {
    if (total <= FREE) return
    const ms = wait(owner, bytes)
    if (ms >= 1) await sleep(ms)
  }
}
