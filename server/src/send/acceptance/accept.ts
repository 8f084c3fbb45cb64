import { mergeUpserts, toUpsert, upsertAtOnce, upsertContacts } from '../../contacts/changes/upsert.ts'
import type { DataPatch } from '../../contacts/record/data.ts'
import type { Source } from '../../contacts/record/subscription.ts'
import { type Pool, scalar, type Tx, transact } from '../../db/index.ts'
import { prepared } from '../../db/prepared.ts'
import type { NewContent } from '../../delivery/outbox/contents/new-content.ts'
import {
  enqueueCte,
  enqueueEmails,
  insertAttachments,
  insertContents,
  insertContentsSql,
  isLargeRaw,
  type NewAttachment,
} from '../../delivery/outbox/enqueue.ts'
import { notifyQueuedSql } from '../../delivery/outbox/streams/queue-notifications.ts'
import { PRIORITIES } from '../../delivery/outbox/streams/stream-of.ts'
import { needsConsent } from '../../delivery/rules/may-send.ts'
import { requireVerified } from '../../domains/verified.ts'
import { type CallerProject, checkCallers } from '../../http/auth/key-check.ts'
import { claimKeys, explainRepeats, lockTimeoutFor } from '../../http/idempotency.ts'
import { type BatchCall, type Commit, createOptimisticBatch } from '../../http/optimistic-batch.ts'
import { newId } from '../../lib/id.ts'
import { fingerprint } from '../../lib/text/fingerprint.ts'
import { MB } from '../../lib/text/units.ts'
import { lockCapsSql, requireRoomSql } from '../../projects/caps.ts'
import { refuseOverCaps, refuseUnsubscribed, refuseUnverified } from './refuse.ts'

export type SendRequest = {
  project: CallerProject
  recipients: { name: string | null; email: string }[]
  content: Omit<NewContent, 'projectId' | 'id'>
  attachments: Omit<NewAttachment, 'projectId' | 'contentId'>[]
  subscribed?: boolean | undefined
  patch: DataPatch
  source: Source
  /** When to send it, if not at once. */
  sendAt: Date | null
  requestId?: string | undefined
  /** The Message-ID that the message already has. */
  messageId?: string | undefined
  key?: string | undefined
  bodyHash: string | null
  size: number
  /** Bytes of `data`, which is stored for every recipient. */
  dataSize: number
}
export type AcceptedSend = { emails: { contact: { id: string; email: string }; email: string }[]; contentId: string; at: Date }

/** `contentId` may be shared by several requests of a batch. */
type SendIds = { contentId: string; emailIds: string[] }
export type SendCall = BatchCall<SendRequest, SendIds>

const ENDPOINT = 'POST /v1/send'

const newIds = ({ recipients }: SendRequest): SendIds => ({ contentId: newId(), emailIds: recipients.map(() => newId()) })

type Options = { idempotencyTtlHours: number; endpoint?: string }

export const createAcceptor = (db: Pool, { idempotencyTtlHours, endpoint = ENDPOINT }: Options) =>
  createOptimisticBatch<SendRequest, SendIds, AcceptedSend>({
    db,
    ttlHours: idempotencyTtlHours,
    endpoint,
    newIds,
    keyResult: ({ emailIds, contentId }) => ({ emails: emailIds, ...(endpoint === ENDPOINT ? {} : { batch: contentId }) }),
    keyLivesFrom: ({ sendAt }) => sendAt,
    plain: isPlain,
    atOnce: acceptAtOnce,
    stepByStep: accept,
    limits: {
      weigh: ({ size, dataSize, recipients }) => size + recipients.length * (1_000 + 2 * dataSize),
      maxItems: 200,
      maxWeight: 4 * MB,
      maxWaitMs: 2,
      lanes: 2,
      maxPending: 5_000,
      maxPendingWeight: 256 * MB,
    },
  })

/** No subscription to read or to change, no files, not scheduled. */
const isPlain = ({ content, subscribed, attachments, sendAt }: SendRequest) =>
  !needsConsent(content.type) && subscribed === undefined && !attachments.length && !isLargeRaw(content) && !sendAt

async function acceptAtOnce(calls: SendCall[], commit: Commit) {
  shareContents(calls)
  const froms = calls.map(({ request: { project, content } }) => ({ projectId: project.id, address: content.fromAddress }))
  const { query, finder } = upsertAtOnce(mergeUpserts(calls.flatMap(contactsOf)), {
    moreCtes: (contacts) => enqueueCte(contacts, calls.flatMap(emailsOf)),
  })
  const verified = requireVerified([...new Map(froms.map((from) => [`${from.projectId} ${from.address.split('@')[1]}`, from])).values()])
  const projectIds = calls.map(({ request }) => request.project.id)
  const caps = lockCapsSql(projectIds, 'transactional')
  const { now, rows } = await commit([
    // One statement: most batches have no cap to lock.
    prepared`select (${verified}), (${caps})`,
    query,
    insertContentsSql(contentsOf(calls)),
    requireRoomSql(projectIds),
    NOTIFY_QUEUED,
  ])
  const find = finder(rows[1])
  return (call: SendCall) => answer(call, (projectId, email) => ({ id: find(projectId, email) }), now)
}

const NOTIFY_QUEUED = notifyQueuedSql(PRIORITIES.transactional)

/** Equal contents of a batch are stored once: a template may be sent a thousand times a second. */
function shareContents(calls: SendCall[]) {
  const firsts = new Map<string, SendCall>()
  for (const call of calls) {
    const { project, content, attachments } = call.request
    if (attachments.length || content.raw) continue
    const { body, ...rest } = content
    const contentKey = JSON.stringify([project.id, rest, fingerprint(body)])
    const first = firsts.get(contentKey)
    if (!first) firsts.set(contentKey, call)
    else if (first.request.content.body === body) call.ids.contentId = first.ids.contentId
  }
}

const contentsOf = (calls: SendCall[]) => [
  ...new Map(
    calls.map(({ request: { project, content }, ids: { contentId } }) => [contentId, { ...content, projectId: project.id, id: contentId }]),
  ).values(),
]

const emailsOf = ({ request: { project, recipients, content, patch, requestId, messageId }, ids }: SendCall) =>
  recipients.map(({ name, email }, index) => ({
    projectId: project.id,
    id: ids.emailIds[index]!,
    contentId: ids.contentId,
    toAddress: email,
    toName: name,
    vars: varsOf(patch),
    requestId: requestId ?? null,
    messageId,
    fromDomain: content.fromAddress.split('@')[1]!,
  }))

const attachmentsOf = ({ request: { project, attachments }, ids: { contentId } }: SendCall) =>
  attachments.map((attachment) => ({ ...attachment, projectId: project.id, contentId }))

/** Accepts one request in the transaction of its caller, which has checked the key or the session. It has no idempotency key. */
export async function acceptAlone(tx: Tx, request: SendRequest): Promise<AcceptedSend> {
  const call: SendCall = { request, ids: newIds(request), refusal: undefined }
  const answerTo = await accept(tx, [call], await scalar<Date>(tx)`select now()`)
  if (call.refusal) throw call.refusal
  return answerTo(call)
}

/** Always locked in this order: keys, caps, contacts, emails. */
async function accept(tx: Tx, calls: SendCall[], now: Date) {
  shareContents(calls)
  for (const { request } of calls) if (request.sendAt && request.sendAt <= now) request.sendAt = null
  await refuseUnverified(tx, calls)
  const verdictOn = await refuseUnsubscribed(tx, calls)
  await refuseOverCaps(tx, calls, verdictOn)

  const admitted = calls.filter(({ refusal }) => !refusal)
  const find = await upsertContacts(tx, mergeUpserts(admitted.flatMap(contactsOf)))
  await insertContents(tx, contentsOf(admitted))
  await insertAttachments(tx, admitted.flatMap(attachmentsOf))
  const emails = admitted.flatMap((call) =>
    emailsOf(call).map((email) => ({
      ...email,
      sourceType: 'TRANSACTIONAL' as const,
      contactId: find(email.projectId, email.toAddress).id,
      skipped: verdictOn(call, email.toAddress) ?? null,
      sendAt: call.request.sendAt,
    })),
  )
  await enqueueEmails(tx, emails)
  if (admitted.length) await NOTIFY_QUEUED.execute(tx)
  return (call: SendCall) => answer(call, find, now)
}

const answer = (
  { request: { project, recipients }, ids }: SendCall,
  find: (projectId: string, email: string) => { id: string },
  at: Date,
): AcceptedSend => ({
  emails: recipients.map(({ email }, index) => ({ contact: { id: find(project.id, email).id, email }, email: ids.emailIds[index]! })),
  contentId: ids.contentId,
  at,
})

/** All data of the request, stored or not: another request may change the contact before this email is sent. */
const varsOf = ({ set, unset, transient }: DataPatch) => ({ ...Object.fromEntries(unset.map((key) => [key, null])), ...set, ...transient })

/** An email does not subscribe a new contact. A name is stored only if the contact has none. */
const contactsOf = ({ request: { project, recipients, subscribed, patch, source } }: SendCall) =>
  recipients.map(({ name, email }) =>
    toUpsert({ projectId: project.id, email, subscribed, subscribedIfNew: false, patch, source, fill: name === null ? {} : { name } }),
  )

type Keyed = { project: CallerProject; key?: string | undefined; bodyHash: string | null }

/**
 * Refuses a request for a reason that depends on state: as a repeat if its key was used, else for that reason. The claim waits for a
 * concurrent request with the same key, as accepting does, and is rolled back.
 */
export async function refuseUnlessRepeat(db: Pool, { project, key, bodyHash }: Keyed, ttlHours: number, reason: unknown): Promise<never> {
  if (key === undefined) throw reason
  return transact(db, async (tx): Promise<never> => {
    const { refusals } = await checkCallers(tx, [project], lockTimeoutFor(1))
    if (refusals[0]) throw refusals[0]
    const claim = { projectId: project.id, key, request: ENDPOINT, result: {}, bodyHash }
    const [claimed] = await claimKeys(tx, [claim], { ttlHours, alone: true })
    throw claimed ? reason : (await explainRepeats(tx, [claim]))[0]
  })
}
