import { setTimeout as sleep } from 'node:timers/promises'
import { connectSmtp } from '../../test/support/servers/smtp-client.ts'

type Client = Awaited<ReturnType<typeof connectSmtp>>
type Place = { port: number; key: string }

const AGAIN_MS = 100

/** Logged in; undefined when the server is away. */
async function logIn({ port, key }: Place): Promise<Client | undefined> {
  const client = await connectSmtp(port)
  const token = Buffer.from(`\0chaos\0${key}`).toString('base64')
  await client.say('EHLO chaos.example')
  if ((await client.say(`AUTH PLAIN ${token}`)).startsWith('235')) return client
  client.end()
  return undefined
}

/** The first negative reply, or the reply to the message. The bytes are written as they are: CRLF line ends, no line that begins with a dot. */
async function deliver({ say, socket, reply }: Client, to: string, message: Buffer) {
  for (const command of ['MAIL FROM:<chaos@chaos.example>', `RCPT TO:<${to}>`, 'DATA']) {
    const answer = await say(command)
    if (!/^[23]/.test(answer)) return answer
  }
  socket.write(message)
  socket.write('.\r\n')
  return reply()
}

/** One connection that submits messages, each until it is accepted, and connects again whenever it has to. */
export function createSubmitter(place: Place) {
  let client: Client | undefined
  return {
    /** The first reply that is final, and how often the message was sent. */
    async submit(to: string, message: Buffer): Promise<{ reply: string; tries: number }> {
      for (let tries = 1; ; tries++) {
        client ??= await logIn(place)
        const reply = client ? await deliver(client, to, message) : ''
        if (/^[25]/.test(reply)) return { reply, tries }
        client?.end()
        client = undefined
        await sleep(AGAIN_MS)
      }
    },
    /** One try. */
    async submitOnce(to: string, message: Buffer) {
      client ??= await logIn(place)
      const reply = client ? await deliver(client, to, message) : ''
      if (!reply) client = undefined
      return reply
    },
    end: () => client?.end(),
  }
}
