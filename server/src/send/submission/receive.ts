import { setTimeout as sleep } from 'node:timers/promises'
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import { NO_DATA } from '../../contacts/record/data.ts'
import { contentFrom } from '../../delivery/outbox/contents/content.ts'
import { StaleKey } from '../../http/auth/key-check.ts'
import { requireSenderDomain } from '../../http/auth/scopes.ts'
import type { SecretKeys } from '../../http/auth/secret-keys.ts'
import { RepeatedKey } from '../../http/idempotency.ts'
import type { HoldBody } from '../../http/limits/body-budget.ts'
import type { Arrival, ByteHold } from '../../lib/fair/byte-budget.ts'
import { newId } from '../../lib/id.ts'
import { cutOffs } from '../../lib/process/metrics.ts'
import { recordAccepted } from '../../lib/process/tracing.ts'
import { createPaceByKey } from '../../lib/smtp/pace.ts'
import { Refusal } from '../../lib/smtp/smtp-refusal.ts'
import { senderNameProblem } from '../../lib/text/address.ts'
import { storable } from '../../lib/text/storable.ts'
import { KB, MB } from '../../lib/text/units.ts'
import { createByteCheck } from '../../mime/raw/byte-check.ts'
import type { createAcceptor, SendRequest } from '../acceptance/accept.ts'
import type { createClients, SubmissionClient } from './clients.ts'
import type { SubmissionLimits } from './limits.ts'
import type { createMessageReader } from './message-reader.ts'
import type { SubmittedMessage } from './read-submitted.ts'
import { queuedReply } from './replies.ts'

/** Stored with an idempotency key, in place of a method and path. */
export const SUBMISSION_ENDPOINT = 'SMTP submission'

/**
 * Bytes of the large messages of one owner per second. Reading them takes a tenth of a processor; without a limit, a few connections would take
 * all of it. Small messages never wait.
 */
const INTAKE = { perSecond: 16 * MB, step: MB, free: 256 * KB }

const TOO_LARGE = new Refusal(552, '5.3.4 The message is larger than 40 MB')
const NAME_REFUSALS = {
  address: new Refusal(550, '5.7.1 The name in From must not show another email address'),
  direction: new Refusal(550, '5.7.1 The name in From must not change the direction of text'),
}
const TOO_MUCH = new Refusal(452, '4.3.1 Too many large messages at once. Try again shortly')
const TOO_SLOW = new Refusal(421, '4.4.2 The message came too slowly while others waited to send theirs')

type Deps = {
  clients: ReturnType<typeof createClients>
  keys: SecretKeys
  holdBody: HoldBody
  reader: ReturnType<typeof createMessageReader>
  acceptor: ReturnType<typeof createAcceptor>
  limits: SubmissionLimits
}

/** Receives a message and queues its emails. Returns the reply; throws for a refusal. */
export function createSubmissionReceiver({ clients, keys, holdBody, reader, acceptor, limits }: Deps) {
  const pace = createPaceByKey(INTAKE)

  return async (stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string> => {
    const client = clients.clientOf(session)
    const recipients = clients.recipientsOf(session)
    if (!client) throw new Refusal(530, '5.7.0 Log in first')
    client.hasTurn = false
    const { owner } = client.project
    const progress = { bytes: 0, isReading: true }
    const held = holdBody(owner, arrivalOf(stream, progress))
    try {
      const received = await readAll(stream, held, progress, { limits, owner, count: pace() })
      return await accept(client, recipients, await reader.read(owner, { ...received, recipients }))
    } finally {
      held.release()
    }
  }

  async function accept(client: SubmissionClient, recipients: string[], submission: SubmittedMessage) {
    const { from } = submission
    // As on /v1/send: most mail programs show only the name.
    for (const shown of [from.name, from.comment]) {
      const problem = senderNameProblem(shown, from.address)
      if (problem) throw NAME_REFUSALS[problem]
    }
    const request = requestFor(submission, recipients)
    try {
      const { emails, contentId } = await submit(client, request)
      const ids = emails.map(({ email }) => email)
      recordAccepted(ids, { request: undefined, attributes: { 'sterna.project_id': client.project.id }, startedAt: Date.now() })
      return queuedReply(ids, contentId)
    } catch (err) {
      const first = err instanceof RepeatedKey && err.isRepeatOf(SUBMISSION_ENDPOINT) ? (err.original.result as KeyResult) : undefined
      if (!first) throw err
      return queuedReply(first.emails, first.batch)
    }
  }

  /** A key that was changed since the client logged in is looked up again. */
  async function submit(client: SubmissionClient, request: Omit<SendRequest, 'project'>) {
    const attempt = () => {
      requireSenderDomain(client.project, request.content.fromAddress)
      return acceptor.submit({ ...request, project: client.project })
    }
    try {
      return await attempt()
    } catch (err) {
      if (!(err instanceof StaleKey || (err as { code?: string }).code === 'INSUFFICIENT_SCOPE')) throw err
      client.project = await keys.find(client.key, client.ip, 'send')
      return attempt()
    }
  }
}

type KeyResult = { emails: string[]; batch: string }

type Progress = { bytes: number; isReading: boolean }

const arrivalOf = (stream: SMTPServerDataStream, progress: Progress): Arrival => ({
  bytes: () => progress.bytes,
  isReading: () => progress.isReading,
  cutOff() {
    cutOffs.inc({ what: 'message' })
    stream.destroy(TOO_SLOW)
  },
})

type Reading = { limits: SubmissionLimits; owner: string; count: ReturnType<ReturnType<typeof createPaceByKey>> }

/** Reads to the end even when refused: SMTP replies after the last byte. */
async function readAll(
  stream: SMTPServerDataStream,
  held: ByteHold,
  progress: Progress,
  { limits: { messageBytes }, owner, count }: Reading,
) {
  const check = createByteCheck()
  const chunks: Buffer[] = []
  let refusal: Refusal | undefined
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    progress.isReading = false
    progress.bytes += chunk.length
    if (progress.bytes > messageBytes) refusal ??= TOO_LARGE
    if (!refusal && !(await held.grow(progress.bytes))) refusal = TOO_MUCH
    if (refusal) {
      // At once: of two messages that do not fit together, one does.
      chunks.length = 0
      held.release()
    } else {
      check.read(chunk)
      chunks.push(chunk)
    }
    const ms = count(owner, chunk.length)
    if (ms >= 1) await sleep(ms)
    progress.isReading = true
  }
  progress.isReading = false
  const problem = check.problem()
  if (refusal) throw refusal
  if (problem) throw new Refusal(550, `5.6.0 ${problem}`)
  return { chunks, is8bit: check.is8bit() }
}

function requestFor(
  { raw, form, from, subject, replyTo, messageId, idempotencyKey, wantsTracking, fingerprint }: SubmittedMessage,
  recipients: string[],
): Omit<SendRequest, 'project'> {
  const requestId = newId()
  const fromName = storable(from.name).slice(0, MAX_NAME)
  const content = contentFrom(undefined, { subject, fromAddress: from.address, fromName, replyTo })
  return {
    recipients: recipients.map((email) => ({ name: null, email })),
    content: { ...content, raw: { bytes: raw, form, isTracked: wantsTracking } },
    attachments: [],
    patch: NO_DATA,
    source: { by: 'secret-key', details: { requestId } },
    sendAt: null,
    requestId,
    messageId: messageId ?? undefined,
    key: idempotencyKey,
    bodyHash: fingerprint,
    size: raw.length,
    dataSize: 0,
  }
}

const MAX_NAME = 255
