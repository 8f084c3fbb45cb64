import { afterEach, describe, expect, test } from 'vitest'
import { createSmtpTransport } from '../../../src/delivery/transport/smtp.ts'
import type { OutgoingMessage, Permit } from '../../../src/delivery/transport/transport.ts'
import { newId } from '../../../src/lib/id.ts'
import { startSmtpServer } from '../../support/servers/smtp-server.ts'
import { until } from '../../support/until.ts'

type Sink = Awaited<ReturnType<typeof startSmtpServer>>

describe('the SMTP transport', () => {
  const sinks: Sink[] = []
  const open = async (options?: Parameters<typeof startSmtpServer>[0]) => {
    const sink = await startSmtpServer(options)
    sinks.push(sink)
    return { sink, smtp: createSmtpTransport({ url: sink.url, name: 'sender.example' }) }
  }
  afterEach(async () => {
    await Promise.all(sinks.splice(0).map((sink) => sink.stop()))
  })

  const messageTo = (recipient: string, body = 'Hello\r\n'): OutgoingMessage => {
    const id = newId()
    const message = Buffer.from(`X-Sterna-Id: ${id}\r\nMessage-ID: <${id}@shop.example>\r\n\r\n${body}`)
    return { projectId: newId(), id, from: 'news@shop.example', recipient, subject: '', message }
  }
  const allowed = () => true
  const yes = async () => allowed

  test('hands each message over with one recipient and its envelope, on a connection that is kept', async () => {
    const { sink, smtp } = await open()
    for (const name of ['a', 'b', 'c']) expect(await smtp.send(messageTo(`${name}@example.com`), yes)).toMatchObject({ is: 'accepted' })
    expect(sink.messages.map(({ sender, recipients }) => [sender, recipients])).toEqual(
      ['a', 'b', 'c'].map((name) => ['news@shop.example', [`${name}@example.com`]]),
    )
    expect(sink.connections()).toBe(1)
  })

  test.each([
    ['a line feed alone', 'a\nb\r\n', 'a\r\nb\r\n'],
    ['a carriage return alone', 'a\rb\r\n', 'a\r\nb\r\n'],
    ['a carriage return and a dot', 'a\r.\r\n', 'a\r\n..\r\n'],
    ['a dot at the start of a line', 'a\r\n.\r\nb\r\n', 'a\r\n..\r\nb\r\n'],
    ['no line break at its end', 'a\r\nb', 'a\r\nb\r\n'],
    ['a carriage return at its end', 'a\r', 'a\r\n'],
    ['nothing to escape', 'a\r\n\r\nb.c\r\n', 'a\r\n\r\nb.c\r\n'],
    ['more than one chunk', 'ü.\r\n'.repeat(40_000), 'ü.\r\n'.repeat(40_000)],
  ])('a message with %s arrives with CRLF and escaped dots only', async (_, body, arrived) => {
    const { sink, smtp } = await open()
    const message = messageTo('a@example.com', body)
    expect(await smtp.send(message, yes)).toMatchObject({ is: 'accepted' })
    const source = sink.bodies.get(message.id)!
    const read = Buffer.from(source.slice(source.indexOf('\r\n\r\n') + 4), 'latin1').toString()
    expect([read, source.slice(source.indexOf('\r\n\r\n') + 4)]).toContain(arrived)
    expect(await smtp.send(messageTo('b@example.com'), yes)).toMatchObject({ is: 'accepted' })
  })

  test('keeps no message while it waits for the reply to its final dot', async () => {
    const { sink, smtp } = await open()
    const message = messageTo('hang-dot@example.com', 'Hello\r\n'.repeat(40_000))
    const sending = smtp.send(message, yes)
    await until('the message has arrived', () => sink.bodies.get(message.id)?.length)
    expect(message.message).toHaveLength(0)
    sink.reset()
    expect(await sending).toMatchObject({ is: 'unknown' })
  })

  test('doubles leading dots and nothing else', async () => {
    const { sink, smtp } = await open()
    const message = messageTo('a@example.com', '.\r\n..\r\n.hidden\r\nin.the.middle\r\n')
    await smtp.send(message, yes)
    expect(sink.bodies.get(message.id)!.split('\r\n\r\n')[1]).toBe('..\r\n...\r\n..hidden\r\nin.the.middle\r\n')
  })

  test.each([
    ['t421', { is: 'refused', code: 421 }],
    ['t451', { is: 'refused', code: 451 }],
    ['p550', { is: 'refused', code: 550 }],
    ['t451dot', { is: 'refused', code: 451 }],
    ['p554dot', { is: 'refused', code: 554 }],
    ['early', { is: 'refused', code: 552 }],
    ['rst-data', { is: 'not-sent' }],
    ['rst-dot', { is: 'unknown' }],
    ['garbage', { is: 'unknown' }],
    ['big', { is: 'unknown' }],
    ['slow', { is: 'accepted' }],
    ['multi', { is: 'accepted' }],
    ['d50', { is: 'accepted' }],
  ])('returns the outcome of a message to %s, and the next message is not affected', async (how, outcome) => {
    for (const extensions of [[], ['PIPELINING']]) {
      const { sink, smtp } = await open({ extensions })
      await smtp.send(messageTo('a@example.com'), yes)
      const message = messageTo(`${how}@example.com`, 'x'.repeat(70).concat('\r\n').repeat(2_000))
      // What leaves after it was refused would be a message that no record shows.
      const slowly = () => new Promise<Permit>((resolve) => setTimeout(resolve, how === 'early' ? 300 : 0, allowed))
      expect(await smtp.send(message, slowly)).toMatchObject(outcome)
      expect(await smtp.send(messageTo('a@example.com'), yes)).toMatchObject({ is: 'accepted' })
      const taken = sink.messages.some(({ id }) => id === message.id)
      expect(taken).toBe(outcome.is === 'accepted' || outcome.is === 'unknown')
    }
  })

  test.each([
    ['may not leave', async () => undefined],
    ['may no longer leave when its last byte is written', async () => () => false],
    ['cannot be put on record', () => Promise.reject(new Error('no database'))],
  ] as [string, () => Promise<Permit | undefined>][])('does not send a message that %s', async (_, handOver) => {
    const { sink, smtp } = await open()
    expect(await smtp.send(messageTo('a@example.com'), handOver)).toEqual({ is: 'withheld' })
    expect(await smtp.send(messageTo('b@example.com'), yes)).toMatchObject({ is: 'accepted' })
    expect(sink.messages.map(({ recipients }) => recipients[0])).toEqual(['b@example.com'])
  })

  test('costs no message its attempt when the server closed an idle connection', async () => {
    const { sink, smtp } = await open({ idleMs: 200 })
    for (let round = 0; round < 10; round++) {
      expect(await smtp.send(messageTo('a@example.com'), yes)).toMatchObject({ is: 'accepted' })
      await new Promise((resolve) => setTimeout(resolve, 198 + (round % 5)))
    }
    expect(sink.messages).toHaveLength(10)
  })

  test('reports a refused login, and leaves no connection behind', async () => {
    const { sink } = await open({ refuseLogins: true })
    const smtp = createSmtpTransport({ url: sink.url.replace('//', '//user:wrong@'), name: 'sender.example' })
    expect(await smtp.send(messageTo('a@example.com'), yes)).toMatchObject({ is: 'refused', code: 535 })
    await until('the connection is gone', () => sink.openConnections() === 0)
  })

  test('sends no password in clear text over a network, unless the URL allows it', async () => {
    const { sink } = await open({ refuseLogins: true })
    // This machine, spelt in a way that is not taken for it.
    const url = sink.url.replace('//127.0.0.1', '//user:secret@[::ffff:127.0.0.1]')
    const saidBy = async (given: string) => {
      sink.commands.splice(0)
      const outcome = await createSmtpTransport({ url: given, name: 'sender.example' }).send(messageTo('a@example.com'), yes)
      return { outcome: outcome.is, login: sink.commands.some((line) => line.startsWith('AUTH')) }
    }
    // The server refuses STARTTLS.
    expect(await saidBy(url.replace('?tls=off', ''))).toEqual({ outcome: 'refused', login: false })
    expect(sink.messages).toEqual([])
    expect((await saidBy(url)).login).toBe(true)
    expect((await saidBy(sink.url.replace('//', '//user:secret@').replace('?tls=off', ''))).login).toBe(true)
  })

  test('reports a message as not sent when the server goes away during the greeting, or is not there', async () => {
    const { sink, smtp } = await open({ silent: true })
    const sent = smtp.send(messageTo('a@example.com'), yes)
    await until('it is connected', () => sink.connections())
    await sink.stop()
    sinks.pop()
    expect(await sent).toMatchObject({ is: 'not-sent' })
    expect(await smtp.send(messageTo('a@example.com'), yes)).toMatchObject({ is: 'not-sent' })
  })

  test('asks for the hand-over when the body has left, not while a slow network still transmits it', async () => {
    const { sink, smtp } = await open({ stopAtData: true })
    let asked = false
    const sent = smtp.send(messageTo('a@example.com', 'x'.repeat(70).concat('\r\n').repeat(200_000)), async () => {
      asked = true
      return allowed
    })
    await until('it has begun', () => sink.commands.includes('DATA'))
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(asked).toBe(false)
    sink.resumeReading()
    expect(await sent).toMatchObject({ is: 'accepted' })
  })
})
