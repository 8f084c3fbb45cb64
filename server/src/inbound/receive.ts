import { setTimeout as sleep } from 'node:timers/promises'
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import { type Pool, transact } from '../db/index.ts'
import { findProjectOwner } from '../ledger/owner-sql.ts'
import { AppError } from '../lib/errors/errors.ts'
import { createByteBudget } from '../lib/fair/byte-budget.ts'
import { networkOf } from '../lib/network/network.ts'
import type { Log } from '../lib/process/log.ts'
import { cutOffs } from '../lib/process/metrics.ts'
import { createPaceByKey } from '../lib/smtp/pace.ts'
import { Refusal } from '../lib/smtp/smtp-refusal.ts'
import { KB, MB } from '../lib/text/units.ts'
import { readRoom } from '../projects/caps.ts'
import { handleMessage } from './handle-message.ts'
import { createInboxQuota } from './inbox-quota.ts'
import type { Limits } from './limits.ts'
import { createParser, UnreadableError } from './parse.ts'
import { findRecipient, type Installation } from './recipient.ts'

const BUSY = 'Try again in a moment'
/** The share of one network in the bytes that are received at once. */
const SHARE = 1 / 2
/** Bytes of the large messages of one network per second: reading them off the connection takes the main thread's time. Small ones never wait. */
const INTAKE = { perSecond: 16 * MB, step: MB, free: 256 * KB }
const OVER_CAP = 'This mailbox has reached its limit'
/** Error codes of a connection that closed in the middle of a message. */
const CLOSED = new Set(['ECONNECTION', 'ERR_STREAM_PREMATURE_CLOSE'])

type Deps = { db: Pool; log: Log; installation: Installation; limits: Limits }

/** Checks the recipients and receives the messages of all connections. Every failure becomes a Refusal. */
export function createReceiver({ db, log, installation, limits }: Deps) {
  const parser = createParser()
  const quota = createInboxQuota(limits)
  /** The project of each accepted recipient; a return path has none here, because reports do not count. */
  const projects = new WeakMap<SMTPServerAddress, string>()
  const refusals = new WeakMap<SMTPServerSession, number>()
  const inProgress = new Set<Promise<void>>()
  const budget = createByteBudget(limits.heldBytes, limits.budget)
  const paceOf = createPaceByKey(INTAKE)

  async function checkRecipient(given: SMTPServerAddress, session: SMTPServerSession) {
    const recipient = await findRecipient(db, installation, given.address)
    if (recipient?.is === 'project') {
      if (recipient.isDisabled || quota.isUsedUp(recipient.projectId, session.remoteAddress)) throw new Refusal(451, BUSY)
      if (!(await readRoom(db, recipient.projectId, 'inbound'))) throw new Refusal(452, OVER_CAP)
      projects.set(given, recipient.projectId)
    }
    if (recipient) return
    const count = (refusals.get(session) ?? 0) + 1
    refusals.set(session, count)
    throw new Refusal(count > limits.refusals ? 421 : 550, 'No such address here')
  }

  /** Counts when the message begins, not at RCPT TO: those commands cost a client nothing and could use up a project's quota. */
  function countRecipients({ envelope, remoteAddress }: SMTPServerSession): Refusal | undefined {
    const projectIds = envelope.rcptTo.flatMap((address) => projects.get(address) ?? [])
    if (projectIds.some((projectId) => quota.isUsedUp(projectId, remoteAddress))) return new Refusal(451, BUSY)
    for (const projectId of projectIds) quota.count(projectId, remoteAddress)
    return undefined
  }

  async function receive(stream: SMTPServerDataStream, session: SMTPServerSession) {
    const chunks: Buffer[] = []
    let [size, isReading] = [0, true]
    let refusal = countRecipients(session)
    const arrival = {
      bytes: () => size,
      isReading: () => isReading,
      cutOff() {
        cutOffs.inc({ what: 'message' })
        stream.destroy(new Refusal(421, '4.4.2 The message came too slowly while others waited to send theirs'))
      },
    }
    const network = networkOf(session.remoteAddress)
    const pace = paceOf()
    const held = budget.hold(network, [{ pool: budget.whole, share: SHARE }], arrival)
    try {
      // Read to the end even when refused: SMTP replies after the last byte.
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        isReading = false
        size += chunk.length
        if (stream.byteLength > limits.messageBytes) refusal ??= new Refusal(552, 'The message is too large')
        if (!refusal && (size > limits.heldBytes || !(await held.grow(size)))) refusal = new Refusal(452, BUSY)
        if (refusal) {
          chunks.length = 0
          held.release()
        } else chunks.push(chunk)
        const ms = pace(network, chunk.length)
        if (ms >= 1) await sleep(ms)
        isReading = true
      }
      isReading = false
      if (refusal) throw refusal
      await parseAndHandle(Buffer.concat(chunks), session)
    } finally {
      held.release()
    }
  }

  /** The key by which a message gets its turn to be read: the owner of its first project, else the client's network. */
  function turnOf({ rcptTo }: SMTPServerSession['envelope'], remoteAddress: string) {
    const projectId = rcptTo.map((address) => projects.get(address)).find((each) => each !== undefined)
    return projectId === undefined ? networkOf(remoteAddress) : findProjectOwner(db, projectId)
  }

  async function parseAndHandle(message: Buffer, { envelope, remoteAddress }: SMTPServerSession) {
    const parsed = await parser.parse(await turnOf(envelope, remoteAddress), message)
    const sender = envelope.mailFrom ? envelope.mailFrom.address : ''
    const recipients = envelope.rcptTo.map(({ address }) => address)
    const outcomes = await transact(db, (tx) => handleMessage(tx, installation, recipients, { sender, message, parsed }))
    log[outcomes.includes('ignored') ? 'info' : 'debug']({ outcomes, bytes: message.length, ip: remoteAddress }, 'received a message')
  }

  /** The SMTP reply for an error. Only a message that can never be parsed is refused permanently. */
  function refusalFor(err: unknown): Refusal {
    if (err instanceof Refusal) return err
    if (err instanceof AppError && err.code === 'BILLING_LIMIT_EXCEEDED') return new Refusal(452, OVER_CAP)
    if (err instanceof UnreadableError) return new Refusal(554, 'The message could not be read')
    const isClosed = CLOSED.has((err as { code?: string }).code ?? '')
    log[isClosed ? 'debug' : 'warn']({ err }, 'could not receive a message; its sender will try again')
    return new Refusal(451, BUSY)
  }

  /** Null on success. */
  const outcomeOf = (work: Promise<void>): Promise<Refusal | null> => work.then(() => null, refusalFor)

  return {
    checkRecipient: (given: SMTPServerAddress, session: SMTPServerSession) => outcomeOf(checkRecipient(given, session)),
    receive(stream: SMTPServerDataStream, session: SMTPServerSession) {
      const work = receive(stream, session).finally(() => inProgress.delete(work))
      inProgress.add(work)
      return outcomeOf(work)
    },
    /** Waits for messages in progress. */
    async close() {
      await Promise.allSettled(inProgress)
      await parser.close()
    },
  }
}
