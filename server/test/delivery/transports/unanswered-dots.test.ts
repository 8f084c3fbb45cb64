import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/lib/id.ts'
import { addresses, useSmtpSending } from '../../support/delivery/smtp-sending.ts'
import { until } from '../../support/eventually.ts'
import { times } from '../../support/times.ts'

const SLOTS = 16
const WITH_SLOTS = { SMTP_CONNECTIONS: '11' }
/** No email gives up its slot during a test. */
const NEVER_LINGER = { lingerMs: 600_000 }
/** An email without a reply gives up its slot at once, or after four times as long when earlier ones of its stream got none either. */
const LINGER_AT_ONCE = { lingerMs: 50 }
/** Emails that linger for a single owner whose emails get no reply. */
const MOST_UNANSWERED = 20

const { sink, newProject, startLocalWorker, send, inState, copiesOf, statesOf } = useSmtpSending()

const other = async (of?: Owner) => {
  const domain = `${newId()}.example`
  const { owner, sk } = await newProject(domain, of)
  return { owner, send: (to: string | string[]) => send(to, { from: `hi@${domain}`, key: sk }) }
}
type Owner = Parameters<typeof newProject>[1]
const unanswered = () => sink.messages.filter(({ recipients }) => recipients[0]!.startsWith('hang-dot')).length

describe('final dots of one owner without a reply', () => {
  test('leave a slot for the emails of another owner', async () => {
    const neighbour = await other()
    const before = unanswered()
    await send(addresses('hang-dot', 60))
    await startLocalWorker(WITH_SLOTS, NEVER_LINGER)
    await until('all slots are taken', () => unanswered() - before === SLOTS)
    for (const to of addresses('ok', 5)) await inState(await neighbour.send(to), 'sent')
    expect(unanswered() - before).toBe(SLOTS)
  })

  test('leave no slot for another project of the same owner', async () => {
    const first = await other()
    const second = await other(first.owner)
    const before = unanswered()
    await startLocalWorker(WITH_SLOTS, NEVER_LINGER)
    await first.send(addresses('hang-dot', 40))
    await until('all slots are taken', () => unanswered() - before === SLOTS)
    const [waiting] = await second.send('ok@example.com')
    const neighbour = await other()
    await inState(await neighbour.send(addresses('ok', 3)), 'sent')
    expect(copiesOf(waiting!)).toEqual([])
  })

  test('are few, however long they last and however many emails wait, and the emails of other owners arrive', async () => {
    const neighbours = [await other(), await other()]
    const before = unanswered()
    const ids = await send(addresses('hang-dot', 200))
    await startLocalWorker(WITH_SLOTS, LINGER_AT_ONCE)
    await until('all slots were given up, and one email after the other follows', () => unanswered() - before > SLOTS + 2)
    for (const neighbour of neighbours) await inState((await Promise.all(times(10, () => neighbour.send('ok@example.com')))).flat(), 'sent')
    await until('as many wait for a reply as may', () => unanswered() - before === MOST_UNANSWERED)
    await inState(await neighbours[0]!.send(addresses('ok', 20)), 'sent')
    expect(unanswered() - before).toBe(MOST_UNANSWERED)
    expect(ids.filter((id) => copiesOf(id).length > 1)).toEqual([])
    const inHand = async () => (await statesOf(ids)).filter((state) => state === 'sending').length
    await until('those without a turn are queued again', async () => (await inHand()) === MOST_UNANSWERED)
  })

  test('slow their own stream down until one of its emails gets a reply', async () => {
    const ids = await send(addresses('hang-dot', SLOTS + 2))
    await startLocalWorker(WITH_SLOTS, LINGER_AT_ONCE)
    await until('all of them wait for a reply', () => ids.every((id) => copiesOf(id).length))
    await inState(await send(addresses('ok', 40)), 'sent')
    expect(new Set(await statesOf(ids))).toEqual(new Set(['sending']))
    sink.reset()
    await inState(ids, 'unknown')
    expect(ids.filter((id) => copiesOf(id).length !== 1)).toEqual([])
  })
})
