import { connect, type Socket } from 'node:net'

type Delivery = { from?: string; to: string | string[]; message: string | Buffer }

/** Sends the SMTP commands that a test gives it, also invalid ones. */
export async function connectSmtp(port: number, host = '127.0.0.1', localAddress?: string) {
  const socket: Socket = connect({ port, host, ...(localAddress ? { localAddress } : {}) })
  let received = ''
  let closed = false
  const waiting: (() => void)[] = []
  const wake = () => {
    for (const each of waiting.splice(0)) each()
  }
  socket.on('data', (chunk) => {
    received += chunk.toString()
    wake()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    closed = true
    wake()
  })

  /** The next reply with all its lines; empty after the connection has closed. */
  async function reply(): Promise<string> {
    for (;;) {
      const [whole] = /^(?:\d{3}-.*\r\n)*\d{3}(?: .*)?\r\n/.exec(received) ?? []
      if (whole !== undefined) {
        received = received.slice(whole.length)
        return whole.trimEnd()
      }
      if (closed) return ''
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
  }

  const say = (line: string) => {
    socket.write(`${line}\r\n`)
    return reply()
  }

  /** The first negative reply, or the reply to the message. */
  async function deliver({ from = '', to, message }: Delivery) {
    const commands = [`MAIL FROM:<${from}>`, ...[to].flat().map((each) => `RCPT TO:<${each}>`), 'DATA']
    for (const command of commands) {
      const answer = await say(command)
      if (!/^[23]/.test(answer)) return answer
    }
    return sendBody(message)
  }

  function sendBody(message: string | Buffer) {
    const text = Buffer.from(message).toString('latin1').replace(/\r?\n/g, '\r\n').replace(/^\./gm, '..')
    socket.write(Buffer.from(`${text}\r\n.\r\n`, 'latin1'))
    return reply()
  }

  const greeting = await reply()
  return {
    socket,
    greeting,
    reply,
    say,
    sendBody,
    deliver,
    /** Resolves on a reset as well: a server that hangs up on a client that is writing may cause one. */
    async closed() {
      while (!closed) await new Promise<void>((resolve) => waiting.push(resolve))
    },
    end: () => socket.destroy(),
  }
}

/** Delivers one message in a connection of its own and returns the last reply. */
export async function deliver(port: number, delivery: Delivery) {
  const client = await connectSmtp(port)
  if (!client.greeting.startsWith('220')) return client.greeting
  await client.say('EHLO mx.receiver.example')
  const answer = await client.deliver(delivery)
  client.end()
  return answer
}
