import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { createSmtpTransport } from '../server/src/delivery/transport/smtp.ts'

// The floor of sending: the same connections to the same sink, with a prebuilt message and no database.
const [port, count, signs, connections, bytes] = process.argv.slice(2).map(Number) as [number, number, number, number, number]
const smtp = createSmtpTransport({ url: `smtp://127.0.0.1:${port}?tls=off`, name: 'bench.example' })
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const signAsync = promisify((data: Buffer, done: (err: Error | null, signature: Buffer) => void) => sign('sha256', data, privateKey, done))
const head = 'From: a@bench.example\r\nTo: b@bench.example\r\nSubject: x\r\nX-Sterna-Id: x\r\nMessage-ID: <x@bench.example>\r\n\r\n'
const message = Buffer.from(`${head}${`${'x'.repeat(70)}\r\n`.repeat(Math.ceil(bytes / 72))}`)
const email = { projectId: null, id: 'x', from: 'a@bench.example', recipient: 'b@bench.example', subject: 'x', message }

let left = count
async function push() {
  while (left-- > 0) {
    if (signs) await signAsync(createHash('sha256').update(message).digest())
    const outcome = await smtp.send(email, async () => () => true)
    if (outcome.is !== 'accepted') throw new Error(`the sink replied ${JSON.stringify(outcome)}`)
  }
}
const before = performance.now()
await Promise.all(Array.from({ length: connections }, push))
process.send?.({ perSecond: count / ((performance.now() - before) / 1_000) })
process.exit(0)
