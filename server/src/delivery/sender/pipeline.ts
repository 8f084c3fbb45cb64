import { type Pool, transact } from '../../db/index.ts'
import { crash } from '../../lib/crash-point.ts'
import { providerReplies } from '../../lib/process/metrics.ts'
import { isTracing, recordEmailStep } from '../../lib/process/tracing.ts'
import { recordFeedback } from '../feedback/reports/record.ts'
import { createTimeouts } from '../message/timeouts.ts'
import type { ClaimedEmail } from '../outbox/claim.ts'
import { createContents } from '../outbox/contents/content.ts'
import { createMark } from '../outbox/mark.ts'
import type { Settlement } from '../outbox/outcomes/settlement.ts'
import type { RefusalTiming } from '../outbox/refusals/hold.ts'
import { createSettle } from '../outbox/settle.ts'
import { PRIORITIES } from '../outbox/streams/stream-of.ts'
import { classify, type Disposition } from '../transport/classify.ts'
import type { Transport } from '../transport/transport.ts'
import { type BuilderDeps, createEmailBuilder, type ReadyEmail } from './build-email.ts'
import type { Journal } from './failover/journal.ts'
import type { Health } from './limits/health.ts'
import type { RefusedDomains } from './limits/refused-domains.ts'
import { createPrepare } from './prepare.ts'
import { createSecondGate } from './second-gate.ts'
import { heldRefusalIn, holdBack, holdRefusal, idOf, PUT_BACK, settlementOf } from './settlements.ts'

type Hooks = {
  /** False while sending is held: then the email is queued again. */
  mayStart: () => boolean
  mayLeave: () => boolean
  /** True just before the mark is written: from here on the outcome may be unknown. False when the email did not leave after all. */
  handedOver: (isHandedOver: boolean) => void
  /** Called when the connection is free for another email, before the settlement is written. Undefined: the email was not tried. */
  offTheWire: (disposition?: Disposition) => void
}

/** An email that passed the gate longer ago is checked again: a contact that unsubscribes must not get an email a second later. */
const FRESH_MS = 500

type Deps = Omit<BuilderDeps, 'timeouts'> & {
  /** For marks and settlement. */
  ownDb: Pool
  health: Health
  worker: number
  journal: Journal
  transport: Transport
  refusalTiming: RefusalTiming
  refusedDomains: RefusedDomains
  /** When aborted, settlements are no longer retried while the database is away. */
  until: AbortSignal
}

export type Pipeline = ReturnType<typeof createPipeline>

/** The steps of sending an email: gate, render, build, mark, transmit, settle. */
export function createPipeline(deps: Deps) {
  const { db, ownDb, health, log, worker, journal, transport, refusalTiming, refusedDomains, until } = deps
  const timeouts = createTimeouts()
  const contents = createContents(db)
  const mark = createMark(ownDb, worker)
  const write = createSettle(ownDb, until, { timing: refusalTiming, isOnWire: refusedDomains.isOnWire })
  const passGateAgain = createSecondGate(db, contents.find)
  const builder = createEmailBuilder({ ...deps, timeouts })
  const prepare = createPrepare({ ...deps, contents, settle, builder, timeouts })

  async function settle(settlement: Settlement) {
    journal.ended(settlement)
    const isSettled = await write(settlement)
    journal.written(settlement)
    return isSettled
  }

  /** The settlement of an email that may no longer leave; undefined when it may. */
  async function checkAgain({ email, domain, probe, checkedAt, needsConsent }: ReadyEmail): Promise<Settlement | undefined> {
    const heldBack = probe ? undefined : health.holdBack(email, domain)
    if (heldBack) return holdBack(email, heldBack)
    // The mark of such an email asks for contact, suppression, stream and project itself, under locks.
    const isCheckedByMark = needsConsent && email.priority === PRIORITIES.bulk
    return !isCheckedByMark && performance.now() - checkedAt > FRESH_MS ? passGateAgain(email) : undefined
  }

  /** Sends and settles an email. Never throws for an error on the wire: those are outcomes. */
  async function transmit(ready: ReadyEmail, { mayStart, mayLeave, handedOver, offTheWire }: Hooks) {
    const { email, outgoing, domain, subject } = ready
    const ended = mayStart() ? await checkAgain(ready) : { ...idOf(email), ...PUT_BACK, error: null }
    if (ended) {
      offTheWire()
      return void (await settle(ended))
    }
    const startedAt = Date.now()
    const beganAt = performance.now()
    const outcome = await transport.send(outgoing, async () => {
      if (!mayLeave()) return undefined
      handedOver(true)
      const permit = await mark({
        ...idOf(email),
        needsConsent: ready.needsConsent,
        streamId: email.priority === PRIORITIES.bulk ? email.streamId : null,
        subject,
      }).catch(() => undefined)
      if (permit) journal.handedOver(email)
      else handedOver(false)
      crash('handed-over')
      return permit
    })
    const disposition = classify(outcome, outgoing.recipient)
    providerReplies.inc({ outcome: disposition.action, about: disposition.about ?? 'email' })
    if (isTracing()) traceAttempt(email, disposition, startedAt)
    health.attempted({ email, domain, disposition })
    const sender = { projectId: email.projectId, domain }
    const refusal = transport.refusesForGood ? undefined : heldRefusalIn(disposition, refusedDomains.wasAcceptedLately(sender))
    if (refusal) refusedDomains.refused(sender, email.wasHeld)
    else if (disposition.action === 'sent') refusedDomains.accepted(sender)
    offTheWire(disposition)
    crash('answered')
    const settlement = refusal ? holdRefusal(email, refusal) : settlementOf(email, disposition, () => health.waitOfDomain(email, domain))
    await settle({ ...settlement, domain, subject, beganAt, providerId: (outcome.is === 'accepted' && outcome.providerId) || null })
    // The sender domain may be paused now.
    if (refusal) health.syncSoon()
    crash('settled')
    const feedback = outcome.is === 'accepted' ? (outcome.feedback ?? []) : []
    for (const each of feedback) await transact(db, (tx) => recordFeedback(tx, idOf(email), each))
    if (log.isLevelEnabled('debug'))
      log.debug({ ...logged(email), outcome: disposition.action, reason: disposition.reason }, 'attempted an email')
  }

  return { prepare, transmit, settle, close: builder.close }
}

const logged = ({ id, projectId, attempts }: ClaimedEmail) => ({ emailId: id, projectId, attempt: attempts })

const traceAttempt = ({ id, projectId, attempts }: ClaimedEmail, { action, about, reason }: Disposition, startedAt: number) =>
  recordEmailStep(id, {
    name: 'email attempt',
    kind: 'client',
    startedAt,
    isError: action === 'fail' || action === 'unknown',
    attributes: {
      'sterna.project_id': projectId,
      'sterna.attempt': attempts,
      'sterna.outcome': action,
      'sterna.about': about,
      'sterna.reply': codesOf(reason),
    },
  })

/** Without the words of a reply, which may contain addresses. */
const codesOf = (reply: string | null) => /^\d{3}( \d\.\d{1,3}\.\d{1,3})?/.exec(reply ?? '')?.[0]
