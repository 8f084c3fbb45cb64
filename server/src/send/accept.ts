import { sql } from 'kysely'
import type { DataPatch } from '../contacts/data.ts'
import type { Source } from '../contacts/subscription.ts'
import { mergeWanted, upsertAtOnce, upsertContacts, want } from '../contacts/upsert.ts'
import { many, type Pool, type Tx, transact, transactAtOnce } from '../db/index.ts'
import { mayBeOneRequest } from '../db/sql-state.ts'
import { LANES } from '../delivery/outbox/claim.ts'
import {
  type NewAttachment,
  type NewContent,
  queueEmails,
  queueingTo,
  saveAttachments,
  saveContents,
  savingContents,
} from '../delivery/outbox/enqueue.ts'
import { QUEUED } from '../delivery/outbox/queue-notifications.ts'
import { findVerified, requireVerified } from '../domains/verified.ts'
import { claimKeys, explainRepeats, nameOf as keyName, lockTimeoutFor, releaseKeys, requireKeys } from '../http/idempotency.ts'
import { type CallerProject, checkCallers, requireCallers } from '../http/key-check.ts'
import { type BatchOutcome, createBatcher } from '../lib/batch.ts'
import { crash } from '../lib/crash-point.ts'
import { AppError } from '../lib/errors.ts'
import { fingerprint } from '../lib/fingerprint.ts'
import { newId } from '../lib/id.ts'

export type Sending = {
  project: CallerProject
  recipients: { name: string | null; email: string }[]
  content: Omit<NewContent, 'projectId' | 'id'>
  attachments: Omit<NewAttachment, 'projectId' | 'contentId'>[]
  subscribed?: boolean | undefined
  patch: DataPatch
  source: Source
  key?: string | undefined
  size: number
  /** Of the data alone, which every recipient gets. */
  dataSize: number
}
export type Sent = { emails: { contact: { id: string; email: string }; email: string }[]; at: Date }

const MB = 1024 * 1024
const REQUEST = 'POST /v1/send'

/** Billing caps: says, in order, why a request may not be accepted (402), or undefined. Asked in the transaction that would accept. */
type CheckCaps = (tx: Tx, wanted: { projectId: string; emails: number }[]) => Promise<(AppError | undefined)[]>
const noCaps: CheckCaps = async (_tx, wanted) => wanted.map(() => undefined)

type Options = { idempotencyTtlHours: number; checkCaps?: CheckCaps }

/** As tracking: many concurrent requests become one transaction. */
export const createAcceptor = (db: Pool, { idempotencyTtlHours, checkCaps = noCaps }: Options) =>
  createBatcher<Sending, Sent>({
    run: async (batch) => {
      const outcomes = await acceptBatch(db, batch, { idempotencyTtlHours, checkCaps })
      crash('committed')
      return outcomes
    },
    mayBeOneItem: mayBeOneRequest,
    weigh: ({ size, dataSize, recipients }) => size + recipients.length * (1_000 + 2 * dataSize),
    maxItems: 200,
    maxWeight: 4 * MB,
    maxWaitMs: 2,
    lanes: 2,
    maxPending: 5_000,
    maxPendingWeight: 256 * MB,
  })

type Keyed = { project: CallerProject; key?: string | undefined }

/**
 * Refuses for a reason that depends on state: as a repeat if the key was used, else with that reason. Its claim waits for a twin as
 * accepting does, and is rolled back.
 */
export async function refuseUnlessRepeat(db: Pool, { project, key }: Keyed, ttlHours: number, reason: unknown): Promise<never> {
  if (key === undefined) throw reason
  return transact(db, async (tx): Promise<never> => {
    const { refusals } = await checkCallers(tx, [project], lockTimeoutFor(1))
    if (refusals[0]) throw refusals[0]
    const claim = { projectId: project.id, key, request: REQUEST, result: {} }
    const [claimed] = await claimKeys(tx, [claim], { ttlHours, alone: true })
    throw claimed ? reason : (await explainRepeats(tx, [claim]))[0]
  })
}

type Call = Sending & { contentId: string; emailIds: string[]; refusal: AppError | undefined; claimed: boolean; repeats: boolean }

/**
 * In one go when nothing stands against it, as nearly always. What that refuses has not happened, and is done again step by step, to
 * tell who is refused and why. A key alone waits for its twin there.
 */
async function acceptBatch(db: Pool, batch: Sending[], options: Required<Options>) {
  const keys = batch.filter(({ key }) => key !== undefined).map(({ project, key }) => keyName({ projectId: project.id, key: key! }))
  const mayGoAtOnce =
    options.checkCaps === noCaps && batch.every(isPlain) && new Set(keys).size === keys.length && !(keys.length && batch.length === 1)
  if (mayGoAtOnce) {
    try {
      return await acceptAtOnce(db, batch)
    } catch (err) {
      if (!mayBeOneRequest(err)) throw err
    }
  }
  return transact(db, (tx) => accept(tx, batch, options))
}

/** Nobody to be asked whether they want it, nothing to be told about a choice, no files. */
const isPlain = ({ content, subscribed, attachments }: Sending) =>
  content.type === 'TRANSACTIONAL' && subscribed === undefined && !attachments.length

async function acceptAtOnce(db: Pool, batch: Sending[]): Promise<BatchOutcome<Sent>[]> {
  const calls = shareContents(batch.map(toCall))
  const senders = calls.map(({ project, content }) => ({ projectId: project.id, address: content.fromAddress }))
  const claims = claimsOf(calls.filter(({ key }) => key !== undefined))
  const { query, finder } = upsertAtOnce(mergeWanted(calls.flatMap(wantContacts)), {
    also: (contacts) => queueingTo(contacts, calls.flatMap(mailsOf)),
  })
  const callers = requireCallers(
    calls.map(({ project }) => project),
    lockTimeoutFor(batch.length),
  )
  crash('keys-taken')
  // Keys before contacts, as everybody takes them.
  const answers = transactAtOnce(db, [
    callers,
    requireKeys(claims),
    query,
    requireVerified([...new Map(senders.map((sender) => [`${sender.projectId} ${sender.address.split('@')[1]}`, sender])).values()]),
    savingContents(contentsOf(calls)),
    NOTIFY_QUEUED,
  ])
  crash('written')
  const [[checked], , rows] = await answers
  const find = finder(rows)
  return calls.map((call) => ({ value: answer(call, (projectId, email) => ({ id: find(projectId, email) }), checked!.now) }))
}

const NOTIFY_QUEUED = sql`select pg_notify(${QUEUED}, ${String(LANES.transactional)})`

const toCall = (sending: Sending): Call => ({
  ...sending,
  contentId: newId(),
  emailIds: sending.recipients.map(() => newId()),
  refusal: undefined,
  claimed: false,
  repeats: false,
})

/** Who says the same at the same time shares it: a template that is sent a thousand times a second need not be stored as often. */
function shareContents(calls: Call[]) {
  const firsts = new Map<string, Call>()
  for (const call of calls) {
    if (call.attachments.length) continue
    const { body, ...rest } = call.content
    const said = JSON.stringify([call.project.id, rest, fingerprint(body)])
    const first = firsts.get(said)
    if (!first) firsts.set(said, call)
    else if (first.content.body === body) call.contentId = first.contentId
  }
  return calls
}

const contentsOf = (calls: Call[]) => [
  ...new Map(calls.map(({ project, contentId, content }) => [contentId, { ...content, projectId: project.id, id: contentId }])).values(),
]

const mailsOf = (call: Call) =>
  call.recipients.map(({ name, email }, index) => ({
    projectId: call.project.id,
    id: call.emailIds[index]!,
    contentId: call.contentId,
    toAddress: email,
    toName: name,
    vars: varsOf(call.patch),
    sourceType: 'TRANSACTIONAL' as const,
    fromDomain: call.content.fromAddress.split('@')[1]!,
  }))

/** All of them, in the order in which tables are always written: keys, contacts, mails. */
async function accept(tx: Tx, batch: Sending[], { idempotencyTtlHours, checkCaps }: Required<Options>): Promise<BatchOutcome<Sent>[]> {
  const { refusals, now } = await checkCallers(
    tx,
    batch.map(({ project }) => project),
    lockTimeoutFor(batch.length),
  )
  const calls = shareContents(batch.map((sending, index) => ({ ...toCall(sending), refusal: refusals[index] })))
  // Keys before state: the first request may have changed what a repeat would be refused for.
  await claimCallKeys(tx, calls, idempotencyTtlHours)
  const open = calls.filter(({ repeats }) => !repeats)
  await refuseSenders(tx, open)
  const mayReach = await refuseUnsubscribed(tx, open)
  await refuseOverCaps(tx, open, checkCaps)
  await releaseRefused(tx, open)
  crash('keys-taken')

  const admitted = open.filter(({ refusal }) => !refusal)
  const find = await upsertContacts(tx, mergeWanted(admitted.flatMap(wantContacts)))
  await saveContents(tx, contentsOf(admitted))
  await saveAttachments(
    tx,
    admitted.flatMap(({ project, contentId, attachments }) =>
      attachments.map((attachment) => ({ ...attachment, projectId: project.id, contentId })),
    ),
  )
  await queueEmails(
    tx,
    admitted.flatMap((call) =>
      mailsOf(call).map((mail) => ({
        ...mail,
        contactId: find(mail.projectId, mail.toAddress).id,
        skipped: mayReach(call, mail.toAddress) ? null : 'unsubscribed',
      })),
    ),
  )
  if (admitted.length) await NOTIFY_QUEUED.execute(tx)
  await refuseRepeats(tx, calls)
  crash('written')
  return calls.map((call) => (call.refusal ? { error: call.refusal } : { value: answer(call, find, now) }))
}

const answer = ({ project, recipients, emailIds }: Call, find: (projectId: string, email: string) => { id: string }, at: Date): Sent => ({
  emails: recipients.map(({ email }, index) => ({ contact: { id: find(project.id, email).id, email }, email: emailIds[index]! })),
  at,
})

/** All that the request said, stored or not: the next request to this contact may come before the mail leaves. */
const varsOf = ({ set, unset, transient }: DataPatch) => ({ ...Object.fromEntries(unset.map((key) => [key, null])), ...set, ...transient })

/** A new contact is not subscribed by being written to. A name is kept when there was none. */
const wantContacts = ({ project, recipients, subscribed, patch, source }: Call) =>
  recipients.map(({ name, email }) =>
    want({ projectId: project.id, email, subscribed, subscribedIfNew: false, patch, source, fill: name === null ? {} : { name } }),
  )

/** Asked here, and again when the mail leaves: a domain may go any time. */
async function refuseSenders(tx: Tx, calls: Call[]) {
  const senderOf = ({ project, content }: Call) => ({ projectId: project.id, address: content.fromAddress })
  const verifiedOf = await findVerified(tx, calls.map(senderOf))
  for (const call of calls) {
    if (call.refusal || verifiedOf(senderOf(call))) continue
    const domain = call.content.fromAddress.split('@')[1]!
    call.refusal = new AppError('DOMAIN_NOT_VERIFIED', {
      message: `The domain "${domain}" is not verified for this project.`,
      details: { domain },
    })
  }
}

/**
 * Marketing goes to subscribers only. Who is none is skipped, and told; a request that would reach nobody is refused as a whole,
 * before anything is written. Without a lock: whoever leaves from now on is asked about again when the mail does.
 */
async function refuseUnsubscribed(tx: Tx, calls: Call[]) {
  const asking = calls.filter(
    ({ refusal, content, subscribed }) => !refusal && content.type !== 'TRANSACTIONAL' && subscribed === undefined,
  )
  const subscribers = asking.length ? await findSubscribers(tx, asking) : new Set<string>()
  const mayReach = ({ project, content, subscribed }: Call, email: string) =>
    content.type === 'TRANSACTIONAL' || (subscribed ?? subscribers.has(`${project.id} ${email}`))
  for (const call of calls) {
    if (!call.refusal && !call.recipients.some(({ email }) => mayReach(call, email))) call.refusal = new AppError('CONTACT_UNSUBSCRIBED')
  }
  return mayReach
}

async function findSubscribers(tx: Tx, calls: Call[]) {
  const asked = calls.flatMap(({ project, recipients }) => recipients.map(({ email }) => ({ projectId: project.id, email })))
  const rows = await many(
    tx,
    sql<{ name: string }>`
      select c.project_id || ' ' || c.email as name from contacts c
      join jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) as a("projectId" uuid, email text)
        on c.project_id = a."projectId" and c.email = a.email
      where c.subscribed
    `,
  )
  return new Set(rows.map(({ name }) => name))
}

async function refuseOverCaps(tx: Tx, calls: Call[], checkCaps: CheckCaps) {
  const open = calls.filter(({ refusal }) => !refusal)
  const refusals = await checkCaps(
    tx,
    open.map(({ project, recipients }) => ({ projectId: project.id, emails: recipients.length })),
  )
  for (const [index, call] of open.entries()) call.refusal = refusals[index]
}

/** Claims the keys of the calls that have one, and marks those that got none. */
async function claimCallKeys(tx: Tx, calls: Call[], ttlHours: number) {
  const keyed = calls.filter(({ key, refusal }) => key !== undefined && !refusal)
  const claimed = await claimKeys(tx, claimsOf(keyed), { ttlHours, alone: calls.length === 1 })
  for (const [index, call] of keyed.entries()) Object.assign(call, { claimed: claimed[index], repeats: !claimed[index] })
}

/** A refused request leaves no key. One that was refused before it claimed a key must not remove that of an earlier request. */
async function releaseRefused(tx: Tx, calls: Call[]) {
  const refused = calls.filter(({ claimed, refusal }) => claimed && refusal)
  if (refused.length) await releaseKeys(tx, claimsOf(refused))
}

async function refuseRepeats(tx: Tx, calls: Call[]) {
  const repeats = calls.filter(({ repeats }) => repeats)
  const refusals = await explainRepeats(tx, claimsOf(repeats))
  for (const [index, call] of repeats.entries()) call.refusal = refusals[index]
}

const claimsOf = (calls: Call[]) =>
  calls.map(({ project, key, emailIds }) => ({ projectId: project.id, key: key!, request: REQUEST, result: { emails: emailIds } }))
