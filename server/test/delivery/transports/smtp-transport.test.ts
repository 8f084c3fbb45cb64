import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createSmtpTransport } from '../../../src/delivery/transport/smtp.ts'
import type { OutgoingMessage, Permit } from '../../../src/delivery/transport/transport.ts'
import { newId } from '../../../src/lib/id.ts'
import { until } from '../../support/eventually.ts'
import { startSmtpServer } from '../../support/servers/smtp-server.ts'

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

  test.each([
    ['MAIL', '550 5.7.1 Sender rejected', 'sender'],
    ['MAIL', '421 4.7.0 Closing', 'sender'],
    ['RCPT', '450 4.2.1 Mailbox\u00a0busy', 'recipient'],
    ['DATA', '451 4.3.0 Not now', 'message'],
    ['dot', '554-5.7.1 Refused,\r\n554 5.7.1 as spam', 'message'],
  ] as const)('names the command that was refused: %s with %s', async (command, reply, at) => {
    for (const extensions of [[], ['PIPELINING']]) {
      const { sink, smtp } = await open({ extensions })
      sink.script[command] = () => reply
      const outcome = await smtp.send(messageTo('a@example.com'), yes)
      expect(outcome).toEqual({ is: 'refused', at, code: Number(reply.slice(0, 3)), response: reply.replace('\r\n', '\n') })
      delete sink.script[command]
      await until('the session is reset or gone', () => sink.commands.includes('RSET') || sink.openConnections() === 0)
      expect(await smtp.send(messageTo('b@example.com'), yes)).toMatchObject({ is: 'accepted' })
      expect(sink.messages.map(({ recipients }) => recipients)).toEqual([['b@example.com']])
    }
  })

  test('sends the envelope in one write where the server allows it, and the message only after all of it was taken', async () => {
    const { sink, smtp } = await open()
    const taken: string[][] = []
    sink.script.DATA = () => void taken.push([...sink.commands])
    await smtp.send(messageTo('a@example.com'), yes)
    expect(taken[0]!.slice(1)).toEqual(['MAIL FROM:<news@shop.example>', 'RCPT TO:<a@example.com>', 'DATA'])
    // A server that takes DATA although it refused the recipient would take whatever follows for a message.
    sink.script.RCPT = () => '550 5.1.1 No such user'
    sink.script.DATA = () => '354 Go on'
    expect(await smtp.send(messageTo('b@example.com'), yes)).toMatchObject({ is: 'refused', at: 'recipient' })
    await until('the connection is gone', () => sink.openConnections() === 0)
    expect(sink.messages.map(({ recipients }) => recipients)).toEqual([['a@example.com']])
  })

  test('announces size and addresses beyond ASCII to servers that know them, and offers no message that is too large', async () => {
    const { sink, smtp } = await open({ extensions: ['PIPELINING', 'SMTPUTF8', 'SIZE 1000'] })
    const message = messageTo('jürg@example.com')
    await smtp.send(message, yes)
    const line = sink.commands.find((command) => command.startsWith('MAIL'))!
    expect(line).toMatch(/^MAIL FROM:<news@shop\.example> SMTPUTF8 SIZE=\d+$/)
    const large = await smtp.send(messageTo('a@example.com', 'x'.repeat(2_000)), yes)
    expect(large).toMatchObject({ is: 'refused', at: 'sender', code: 552 })
    expect(sink.commands.filter((command) => command.startsWith('MAIL'))).toHaveLength(1)
  })

  test('sends over STARTTLS with a login', async () => {
    const received: { body: string; secure: boolean; user: unknown }[] = []
    const relay = new SMTPServer({
      onAuth: ({ username, password }, _, done) =>
        done(password === 'secret' ? null : new Error('wrong'), password === 'secret' ? { user: username } : undefined),
      onData(stream, session, done) {
        void text(stream).then((body) => {
          received.push({ body, secure: session.secure, user: session.user })
          done()
        })
      },
    })
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
    // The certificate of the test server is its own.
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    const { port } = relay.server.address() as AddressInfo
    const smtp = createSmtpTransport({ url: `smtp://user:secret@127.0.0.1:${port}?tls=required`, name: 'sender.example' })
    try {
      const large = 'x'.repeat(70).concat('\r\n').repeat(20_000)
      for (const body of ['Hello\r\n', large, 'Bye\r\n'])
        expect(await smtp.send(messageTo('a@example.com', body), yes)).toMatchObject({ is: 'accepted' })
      expect(received.map(({ body }) => body.split('\r\n\r\n')[1])).toEqual(['Hello\r\n', large, 'Bye\r\n'])
      expect(received.every(({ secure, user }) => secure && user === 'user')).toBe(true)
    } finally {
      vi.unstubAllEnvs()
      await smtp.close()
      await new Promise<void>((resolve) => relay.close(resolve))
    }
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
