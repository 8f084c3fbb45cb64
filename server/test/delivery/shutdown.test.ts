import { describe, expect, test } from 'vitest'
import { SENDER_TIMING } from '../../src/delivery/sender/timing.ts'
import { addresses, useSmtpSending } from '../support/delivery/smtp-sending.ts'
import { until } from '../support/eventually.ts'
import { startLocalNode } from '../support/local-node.ts'

const { environment, sink, workers, startWorker, startLocalWorker, send, statesOf, inState, copiesOf } = useSmtpSending()

describe('a worker that is asked to stop', () => {
  test('settles the emails it has handed over, and gives the rest back', async () => {
    // For some recipients the relay does not answer RCPT TO: their emails are not handed over when the worker stops, however fast it sends.
    sink.script.RCPT = (address) => (address.startsWith('ok') ? new Promise(() => {}) : undefined)
    const first = await startWorker()
    const ids = await send([...addresses('d200', 20), ...addresses('ok', 60)])
    await until('some are sent', async () => (await statesOf(ids)).includes('sent'))
    workers.pop()
    expect(await first.stop('SIGTERM')).toBe(0)
    delete sink.script.RCPT
    expect(new Set(await statesOf(ids))).toEqual(new Set(['sent', 'queued']))
    await startLocalWorker()
    await inState(ids, 'sent')
    expect(ids.map((id) => copiesOf(id).length)).toEqual(ids.map(() => 1))
  })

  test('waits for a slow reply to an email it has handed over, so that it need not be sent twice', async () => {
    const worker = await startLocalNode({ ...environment(), ROLE: 'worker' })
    // Longer than it waits for anything else.
    const ids = await send('d3000@example.com')
    await until('it is handed over', () => copiesOf(ids[0]!).length)
    await worker.stop()
    expect(await statesOf(ids)).toEqual(['sent'])
  })

  test('does not wait for a reply for ever', async () => {
    const worker = await startLocalNode({ ...environment(), ROLE: 'worker' }, { lastRepliesMs: 500 })
    const ids = await send('hang-dot@example.com')
    await until('it is handed over', () => copiesOf(ids[0]!).length)
    await worker.stop()
    expect(await statesOf(ids)).toEqual(['unknown'])
    expect(SENDER_TIMING.lastRepliesMs).toBe(15_000)
  })

  test('gives back at once the emails it has not handed over, however slow the relay is', async () => {
    const worker = await startWorker()
    sink.script.RCPT = () => new Promise(() => {})
    const ids = await send(addresses('ok', 3))
    await until('the relay is asked', () => sink.commands.some((line) => line.startsWith('RCPT') && line.includes('ok+0')))
    workers.pop()
    expect(await worker.stop('SIGTERM')).toBe(0)
    delete sink.script.RCPT
    expect(new Set(await statesOf(ids))).toEqual(new Set(['queued']))
    expect(worker.output()).not.toContain('did not stop in time')
  })
})
