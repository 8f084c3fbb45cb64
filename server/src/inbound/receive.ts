import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import { type Pool, transact } from '../db/index.ts'
import type { Log } from '../lib/log.ts'
import { takeMessage } from './handle-message.ts'
import { createInboxQuota } from './inbox-quota.ts'
import type { Limits } from './limits.ts'
import { createParser, UnreadableError } from './parse.ts'
import { findRecipient, type Installation } from './recipient.ts'

/** An answer other than 250. */
export class Refusal extends Error {
  readonly responseCode: number

  constructor(responseCode: number, message: string) {
    super(message)
    this.responseCode = responseCode
  }
}

const BUSY = 'Try again in a moment'
/** In the middle of a message. */
const HUNG_UP = new Set(['ECONNECTION', 'ERR_STREAM_PREMATURE_CLOSE'])

/** What is done with the recipients and the messages of all connections. Whatever fails is a Refusal. */
export function createReceiver({ db, log, site, limits }: { db: Pool; log: Log; site: Installation; limits: Limits }) {
  const parser = createParser()
  const quota = createInboxQuota(limits)
  /** The project of each recipient that was accepted; reports about emails have none. */
  const projects = new WeakMap<SMTPServerAddress, string>()
  const refusals = new WeakMap<SMTPServerSession, number>()
  const working = new Set<Promise<void>>()
  let held = 0

  async function checkRecipient(given: SMTPServerAddress, session: SMTPServerSession) {
    const recipient = await findRecipient(db, site, given.address)
    if (recipient?.is === 'project') {
      if (recipient.isDisabled || quota.isUsedUp(recipient.projectId, session.remoteAddress)) throw new Refusal(451, BUSY)
      projects.set(given, recipient.projectId)
    }
    if (recipient) return
    const count = (refusals.get(session) ?? 0) + 1
    refusals.set(session, count)
    throw new Refusal(count > limits.refusals ? 421 : 550, 'No such address here')
  }

  /** When a message begins, not when it is announced: RCPT commands cost nothing and could use up a project's inbox. */
  function countRecipients({ envelope, remoteAddress }: SMTPServerSession): Refusal | undefined {
    const projectIds = envelope.rcptTo.flatMap((address) => projects.get(address) ?? [])
    if (projectIds.some((projectId) => quota.isUsedUp(projectId, remoteAddress))) return new Refusal(451, BUSY)
    for (const projectId of projectIds) quota.count(projectId, remoteAddress)
    return undefined
  }

  async function receive(stream: SMTPServerDataStream, session: SMTPServerSession) {
    const chunks: Buffer[] = []
    let size = 0
    let refusal = countRecipients(session)
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
    checkRecipient: (given: SMTPServerAddress, session: SMTPServerSession) => outcomeOf(checkRecipient(given, session)),
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
