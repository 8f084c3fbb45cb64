import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import { type Pool, transact } from '../db/index.ts'
import type { Log } from '../lib/log.ts'
import { createTally } from '../lib/tally.ts'
import type { Limits } from './limits.ts'
import { createParser, UnreadableError } from './parse.ts'
import { findRecipient, type Site } from './recipient.ts'
import { takeMessage } from './take.ts'

/** An answer other than 250. */
export class Refusal extends Error {
  readonly responseCode: number

  constructor(responseCode: number, message: string) {
    super(message)
    this.responseCode = responseCode
  }
}

const BUSY = 'Try again in a moment'
const MINUTE_MS = 60_000
/** In the middle of a message. */
const HUNG_UP = new Set(['ECONNECTION', 'ERR_STREAM_PREMATURE_CLOSE'])

/** What is done with the recipients and the messages of all connections. Whatever fails is a Refusal. */
export function createReceiver({ db, log, site, limits }: { db: Pool; log: Log; site: Site; limits: Limits }) {
  const parser = createParser()
  const messages = createTally({ limit: limits.messagesPerMinute, windowMs: MINUTE_MS })
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
    log[taken.includes('ignored') ? 'info' : 'debug']({ taken, bytes: message.length, from: remoteAddress }, 'took a message')
  }

  /** What went wrong, as an answer. Only what can never be read is refused for good. */
  function refuse(err: unknown): Refusal {
    if (err instanceof Refusal) return err
    if (err instanceof UnreadableError) return new Refusal(554, 'The message could not be read')
    const hungUp = HUNG_UP.has((err as { code?: string }).code ?? '')
    log[hungUp ? 'debug' : 'warn']({ err }, 'could not take a message; its sender will try again')
    return new Refusal(451, BUSY)
  }

  /** Null when it went well. */
  const outcomeOf = (work: Promise<void>): Promise<Refusal | null> => work.then(() => null, refuse)

  return {
    checkRecipient: (address: string, session: SMTPServerSession) => outcomeOf(checkRecipient(address, session)),
    receive(stream: SMTPServerDataStream, session: SMTPServerSession) {
      const work = receive(stream, session).finally(() => working.delete(work))
      working.add(work)
      return outcomeOf(work)
    },
    /** When what was begun has ended. */
    async close() {
      await Promise.allSettled(working)
      await parser.close()
    },
  }
}
