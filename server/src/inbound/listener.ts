import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import { type Pool, transact } from '../db/index.ts'
import { ConfigError, type InboundConfig } from '../lib/config.ts'
import type { Log } from '../lib/log.ts'
import { networkOf } from '../lib/network.ts'
import type { Secrets } from '../lib/secrets.ts'
import { createTally } from '../lib/tally.ts'
import { createParser, UnreadableError } from './parse.ts'
import { findRecipient } from './recipient.ts'
import { takeMessage } from './take.ts'

type Options = {
  db: Pool
  secrets: Secrets
  log: Log
  inbound: InboundConfig
  bounceDomain: string | undefined
  /** By which we introduce ourselves. */
  name: string
  limits?: Partial<Limits>
}

type Limits = typeof LIMITS

const MB = 1024 * 1024
const SECOND = 1_000
const LIMITS = {
  messageBytes: 25 * MB,
  /** Of all messages that are on their way in. */
  heldBytes: 128 * MB,
  recipients: 100,
  /** Wrong ones in one connection: who knows none of our addresses tries them out. */
  refusals: 20,
  connections: 200,
  /** A relay that brings the bounces of a campaign has twenty. */
  connectionsOfOne: 30,
  idleMs: 60 * SECOND,
  /** Who sends a byte now and then is never idle. */
  connectionMs: 600 * SECOND,
  /** For one project; reports about mails do not count. */
  messagesPerMinute: 600,
  /** When this process stops, what has begun to arrive has so long. */
  closingMs: 3 * SECOND,
}

/** An answer other than 250. */
class Refusal extends Error {
  readonly responseCode: number

  constructor(responseCode: number, message: string) {
    super(message)
    this.responseCode = responseCode
  }
}

const BUSY = 'Try again in a moment'

/**
 * Takes mail by SMTP, for return paths and for verified domains; passes nothing on, and asks nobody to sign in. A message is answered
 * with 250 when all that follows from it is committed, and with 451 when that could not be done: then its sender tries again.
 */
export async function startListener({ db, secrets, log, inbound, bounceDomain, name, limits: given }: Options) {
  const limits = { ...LIMITS, ...given }
  const site = { secrets, bounceDomain }
  const parser = createParser()
  const sockets = createSockets(limits)
  const messages = createTally({ limit: limits.messagesPerMinute, windowMs: 60 * SECOND })
  const refusals = new WeakMap<SMTPServerSession, number>()
  const working = new Set<Promise<void>>()
  let held = 0

  async function checkRecipient(address: string, session: SMTPServerSession) {
    const recipient = await findRecipient(db, site, address)
    if (recipient?.is === 'project' && messages.hit(recipient.projectId)) throw new Refusal(451, BUSY)
    if (recipient) return
    const count = (refusals.get(session) ?? 0) + 1
    refusals.set(session, count)
    throw new Refusal(count > limits.refusals ? 421 : 550, 'No such address here')
  }

  async function receive(stream: SMTPServerDataStream, session: SMTPServerSession) {
    const chunks: Buffer[] = []
    let size = 0
    let refusal: Refusal | undefined
    const letGo = () => {
      held -= size
      size = 0
      chunks.length = 0
    }
    try {
      // To its end, also when nothing of it is kept: the answer comes after it.
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        if (stream.byteLength > limits.messageBytes) refusal ??= new Refusal(552, 'The message is too large')
        if (held + chunk.length > limits.heldBytes) refusal ??= new Refusal(452, BUSY)
        if (refusal) letGo()
        else {
          chunks.push(chunk)
          size += chunk.length
          held += chunk.length
        }
      }
      if (refusal) throw refusal
      await take(Buffer.concat(chunks), session)
    } finally {
      letGo()
    }
  }

  async function take(message: Buffer, { envelope, remoteAddress }: SMTPServerSession) {
    const letter = await parser.parse(message)
    const sender = envelope.mailFrom ? envelope.mailFrom.address : ''
    const recipients = envelope.rcptTo.map(({ address }) => address)
    const taken = await transact(db, (tx) => takeMessage(tx, site, { sender, recipients, message, letter }))
    log.info({ taken, bytes: message.length, from: remoteAddress }, 'took a message')
  }

  /** What went wrong, as an answer. Only what can never be read is refused for good. */
  function refuse(err: unknown): Error {
    if (err instanceof Refusal) return err
    if (err instanceof UnreadableError) return new Refusal(554, 'The message could not be read')
    log.warn({ err }, 'could not take a message; its sender will try again')
    return new Refusal(451, BUSY)
  }

  const { SMTPServer } = await import('smtp-server')
  const tls = inbound.keyFile && inbound.certFile ? { key: readPem(inbound.keyFile), cert: readPem(inbound.certFile) } : undefined
  const server = new SMTPServer({
    ...tls,
    name,
    logger: false,
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    authOptional: true,
    // Without a certificate of ours the library would use its own, whose key everybody has.
    disabledCommands: ['AUTH', 'WIZ', 'SHELL', 'KILL', ...(tls ? [] : ['STARTTLS'])],
    size: limits.messageBytes,
    rejectOversized: true,
    maxRecipients: limits.recipients,
    maxClients: limits.connections,
    maxCommandLength: 4_096,
    socketTimeout: limits.idleMs,
    closeTimeout: limits.closingMs,
    onConnect: ({ remoteAddress }, done) => done(sockets.areTooMany(remoteAddress) ? new Refusal(421, 'Too many connections') : null),
    onRcptTo: ({ address }, session, done) =>
      void checkRecipient(address, session).then(
        () => done(null),
        (err) => done(refuse(err)),
      ),
    onData(stream, session, done) {
      const work = receive(stream, session)
        .then(
          () => done(null),
          (err) => done(refuse(err)),
        )
        .finally(() => working.delete(work))
      working.add(work)
    },
  })
  server.server.on('connection', sockets.add)
  server.on('error', (err) => log.debug({ err }, 'an incoming connection failed'))
  await listen(server, inbound)

  return {
    async stop() {
      await new Promise<void>((resolve) => server.close(resolve))
      sockets.destroy()
      await Promise.all(working)
      await parser.close()
    },
  }
}

/** Every open connection, and how many each network has. */
function createSockets({ connectionMs, connectionsOfOne }: Limits) {
  const open = new Set<Socket>()
  const counts = new Map<string, number>()
  const count = (network: string, change: number) => {
    const now = (counts.get(network) ?? 0) + change
    if (now) counts.set(network, now)
    else counts.delete(network)
  }
  return {
    add(socket: Socket) {
      const network = networkOf(socket.remoteAddress ?? '')
      const deadline = setTimeout(() => socket.destroy(), connectionMs).unref()
      open.add(socket)
      count(network, 1)
      socket.once('close', () => {
        clearTimeout(deadline)
        open.delete(socket)
        count(network, -1)
      })
    },
    areTooMany: (ip: string) => (counts.get(networkOf(ip)) ?? 0) > connectionsOfOne,
    destroy() {
      for (const socket of open) socket.destroy()
    },
  }
}

function readPem(file: string) {
  try {
    return readFileSync(file)
  } catch (err) {
    throw new ConfigError(`Cannot read the key or certificate for incoming mail: ${(err as Error).message}`)
  }
}

async function listen(server: InstanceType<typeof import('smtp-server').SMTPServer>, { port, host }: InboundConfig) {
  server.listen(port, host)
  await once(server.server, 'listening').catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'EADDRINUSE') throw new ConfigError(`Port ${port} is taken. Stop what uses it, or set INBOUND_SMTP_PORT.`)
    if (err.code === 'EACCES')
      throw new ConfigError(`Not allowed to listen on port ${port}. Use one above 1023, redirect port 25 to it, and set INBOUND_SMTP_PORT.`)
    throw err
  })
}
