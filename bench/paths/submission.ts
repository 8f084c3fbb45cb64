import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Measured, Scale } from '../load.ts'
import { cpuMicroseconds } from '../process.ts'
import type { Product } from './contacts.ts'
import { ownDomain } from './drain.ts'

const CONNECTIONS = 64
const DOMAIN = `submit${Date.now()}.example`
const BODY = '<p>The quick brown fox jumps over the lazy dog, and back again.</p>\r\n'.repeat(118)
const END = '\r\n'

/** One recipient per message, as many messages as fit; each connection waits for the reply before its next message. */
export async function measureSubmission(
  product: Product,
  port: number,
  { warmUpSeconds, runSeconds, runs }: Scale,
): Promise<[string, Measured][]> {
  await ownDomain(product, DOMAIN)
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => logIn(port, product.secretKey)))
  const rounds: Measured[] = []
  await submitFor(clients, warmUpSeconds)
  for (let run = 0; run < runs; run++) {
    const before = cpuMicroseconds(product.pid)
    const { latencies, seconds } = await submitFor(clients, runSeconds)
    const sorted = latencies.toSorted((a, b) => a - b)
    const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0)
    rounds.push({
      perSecond: latencies.length / seconds,
      cpuMicros: (cpuMicroseconds(product.pid) - before) / latencies.length,
      p50: at(0.5),
      p99: at(0.99),
    })
  }
  for (const { socket } of clients) socket.destroy()
  const median = rounds.sort((a, b) => a.perSecond - b.perSecond)[Math.floor(runs / 2)]!
  return [[`SMTP submission, one recipient, ${(BODY.length / 1024).toFixed(0)} KB`, median]]
}

type Client = Awaited<ReturnType<typeof logIn>>

async function submitFor(clients: Client[], seconds: number) {
  const startedAt = performance.now()
  const latencies: number[] = []
  const until = startedAt + seconds * 1_000
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() < until) {
        const askedAt = performance.now()
        await client.submit(`reader${Math.floor(Math.random() * 10_000)}@bench.example`)
        latencies.push(performance.now() - askedAt)
      }
    }),
  )
  return { latencies, seconds: (performance.now() - startedAt) / 1_000 }
}

const HEAD = `From: news@${DOMAIN}\r\nSubject: Hello\r\nContent-Type: text/html; charset=utf-8\r\n`

/** Commands in one write, as PIPELINING allows. */
async function logIn(port: number, key: string) {
  const socket: Socket = connect(port, '127.0.0.1')
  let received = ''
  const waiting: (() => void)[] = []
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    for (const wake of waiting.splice(0)) wake()
  })
  async function reply() {
    for (;;) {
      const [whole] = /^(?:\d{3}-.*\r\n)*\d{3}(?: .*)?\r\n/.exec(received) ?? []
      if (whole !== undefined) {
        received = received.slice(whole.length)
        return whole
      }
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
  }
  async function expectReply(code: string) {
    const text = await reply()
    if (!text.startsWith(code)) throw new Error(`expected ${code}, got ${text}`)
  }
  await once(socket, 'connect')
  socket.setNoDelay(true)
  await expectReply('220')
  socket.write(`EHLO bench.example${END}AUTH PLAIN ${Buffer.from(`\0bench\0${key}`).toString('base64')}${END}`)
  await expectReply('250')
  await expectReply('235')
  return {
    socket,
    async submit(to: string) {
      socket.write(`MAIL FROM:<bench@bench.example>${END}RCPT TO:<${to}>${END}DATA${END}`)
      for (const code of ['250', '250', '354']) await expectReply(code)
      socket.write(`${HEAD}To: ${to}${END}${END}${BODY}.${END}`)
      await expectReply('250')
    },
  }
}
