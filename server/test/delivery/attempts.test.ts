import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ClaimedEmail } from '../../src/delivery/outbox/claim.ts'
import { PUT_BACK } from '../../src/delivery/sender/settlements.ts'
import { type Campaign, useOutbox } from '../support/delivery/outbox.ts'

const { sterna, newWorker, newCampaign, statesOf, claimOf } = useOutbox()

/**
 * A worker that stalls for longer than its lease loses its emails to the queue, claims them again and still has the earlier attempts in hand:
 * their connections were open, or opening, all the time.
 */
describe('of two attempts of an email in one worker', () => {
  let worker: Awaited<ReturnType<typeof newWorker>>
  let campaign: Campaign
  let [earlier, later] = [] as unknown as [ClaimedEmail, ClaimedEmail]

  beforeEach(async () => {
    worker = await newWorker()
    campaign = await newCampaign({ emails: 1 })
    earlier = (await claimOf(worker, campaign))[0]!
    await giveBack()
    later = (await claimOf(worker, campaign))[0]!
    expect([later.id, earlier.attempts, later.attempts]).toEqual([earlier.id, 1, 2])
  })

  afterEach(() => sql`update emails set state = 'cancelled' where state in ('queued', 'deferred')`.execute(sterna.db))

  const giveBack = () => sql`update emails set state = 'queued', worker = null where id = ${earlier.id}`.execute(sterna.db)
  const mark = async (email: ClaimedEmail) => {
    const { projectId, id, attempts, toAddress, streamId } = email
    return (await worker.mark({ projectId, id, attempts, toAddress, streamId, needsConsent: false })) !== undefined
  }
  const settle = ({ projectId, id, attempts }: ClaimedEmail, state: 'sent' | 'put back') =>
    worker.settle({ projectId, id, attempts, error: null, ...(state === 'sent' ? { state } : PUT_BACK) })

  test.each([
    ['the earlier', () => [earlier, later], [false, true]],
    ['the later', () => [later, earlier], [true, false]],
  ] as const)('only the later one leaves, when both ask at once and %s asks first', async (_, attempts, mayLeave) => {
    expect(await Promise.all(attempts().map(mark))).toEqual(mayLeave)
  })

  test('none leaves twice, also when it asks again', async () => {
    expect(await Promise.all([later, later].map(mark))).toEqual([true, false])
    expect(await mark(later)).toBe(false)
  })

  test.each([
    ['first', ['sent', 'put back']],
    ['last', ['put back', 'sent']],
  ] as const)('the one that was accepted counts, when both are settled at once and it comes %s', async (_, states) => {
    await sql`update emails set handed_over_at = now() where id = ${earlier.id}`.execute(sterna.db)
    await Promise.all(states.map((state) => settle(state === 'sent' ? earlier : later, state)))
    expect(await statesOf(campaign)).toEqual(['sent'])
  })
})
