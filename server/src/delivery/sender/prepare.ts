import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../db/index.ts'
import { groupBy } from '../../lib/collections/group-by.ts'
import { crash } from '../../lib/crash-point.ts'
import { createFairSemaphore } from '../../lib/fair/semaphore.ts'
import type { Log } from '../../lib/process/log.ts'
import { MB, MINUTE } from '../../lib/text/units.ts'
import type { Recipient } from '../../templates/language/variables.ts'
import { renderEmails, StoppedError } from '../../templates/rendering/render.ts'
import type { Rendered } from '../../templates/rendering/rendered-email.ts'
import type { createTimeouts } from '../message/timeouts.ts'
import type { ClaimedEmail } from '../outbox/claim.ts'
import type { Content, Contents } from '../outbox/contents/content.ts'
import type { Settlement } from '../outbox/outcomes/settlement.ts'
import type { createSettle } from '../outbox/settle.ts'
import type { createEmailBuilder, ReadyEmail } from './build-email.ts'
import { type Admitted, passGate } from './gate.ts'
import type { OwnerOf } from './limits/capacity.ts'
import type { Health } from './limits/health.ts'
import { createRenderedSizes } from './limits/rendered-sizes.ts'
import { holdBack, settlementOfRefused } from './settlements.ts'

/** Called once per prepared group of emails, with those of them that are ready. The others are settled. */
type OnPrepared = (emails: ClaimedEmail[], ready: ReadyEmail[]) => void
/** `hasRoom`: backpressure while messages that have not left take too much memory. */
type Waiting = { hasRoom: (emails: ClaimedEmail[], isLarge: boolean) => boolean; isStopped: () => boolean }
type PrepareContext = Waiting & { probes: Set<ClaimedEmail>; checkedAt: number }
type PrepareOptions = Partial<Waiting> & {
  onPrepared: OnPrepared
  isStopped: () => boolean
  /** Sent although their sender domain is paused, to find out whether it works again. */
  asProbes?: boolean
}

type Deps = {
  db: Pool
  health: Health
  log: Log
  ownerOf: OwnerOf
  contents: Contents
  settle: ReturnType<typeof createSettle>
  builder: ReturnType<typeof createEmailBuilder>
  timeouts: ReturnType<typeof createTimeouts>
}

/**
 * Large contents that are read and built at once, and very large ones: a message of 40 MB is in memory several times. Owners take turns. The waits
 * end when the process stops; the emails are then given back.
 */
const LARGE_AT_ONCE = { slots: 4, maxWaiting: 5_000, maxWaitMs: 10 * MINUTE }
const VERY_LARGE = 4 * MB
/** Poll interval while there is no room. */
const FULL_MS = 20

/** The first half of the pipeline: gate, render, build. */
export function createPrepare({ db, health, log, ownerOf, contents, settle, builder, timeouts }: Deps) {
  const sizes = createRenderedSizes()
  const large = createFairSemaphore(LARGE_AT_ONCE)
  const veryLarge = createFairSemaphore({ ...LARGE_AT_ONCE, slots: 1 })

  /**
   * Everything before the wire. Emails that may not be sent or cannot be built are settled on the way. The gate is queried once for all of
   * them; then each content is rendered and built on its own, so that a slow template does not delay the others.
   */
  async function prepare(emails: ClaimedEmail[], { onPrepared, isStopped, asProbes = false, hasRoom = () => true }: PrepareOptions) {
    await untilRoom({ hasRoom, isStopped }, emails)
    const checkedAt = performance.now()
    const { admitted, refused } = await passGate(db, emails, contents.find)
    // In place, because the ledger knows an email by its object.
    for (const { email, address } of admitted) email.toAddress = address
    await health.meet(new Set(admitted.map(({ email }) => email.projectId)))
    const { pass, heldBack, probes } = asProbes
      ? { pass: admitted, heldBack: [], probes: new Set(emails) }
      : await checkHealth(health, admitted)
    const passing = new Set(emailsOf(pass))
    const parts = [...groupBy(pass, ({ content }) => content).values()].map((part) =>
      prepareContent(part, { probes, checkedAt, isStopped, hasRoom }, onPrepared),
    )
    const refusing = Promise.all([...refused.map(settlementOfRefused), ...heldBack].map(settle)).then(() =>
      onPrepared(
        emails.filter((email) => !passing.has(email)),
        [],
      ),
    )
    // All of them end before a failure is thrown: onPrepared must not run for an email that the caller has given back.
    const failure = (await Promise.allSettled([...parts, refusing])).find((each) => each.status === 'rejected')
    if (failure) throw failure.reason
  }

  /** Renders the emails of one content together, unless they are large. Throws when the process stops: the emails are then given back. */
  async function prepareContent([...waiting]: Admitted[], context: PrepareContext, onPrepared: OnPrepared) {
    const { content } = waiting[0]!
    if (content.unreadBytes) return prepareLarge(waiting, context, onPrepared)
    for (let isFirst = true; waiting.length; isFirst = false) {
      if (!isFirst) await untilRoom(context, emailsOf(waiting))
      const together = waiting.splice(0, sizes.countTogether(content))
      onPrepared(emailsOf(together), await prepareTogether(together, context))
    }
  }

  /** Reads the content for each group of emails again, unless it is kept: while emails wait, nothing of them is in memory. */
  async function prepareLarge(waiting: Admitted[], context: PrepareContext, onPrepared: OnPrepared) {
    const { content, email } = waiting[0]!
    const prepareGroup = async () => {
      // Another may have taken the room meanwhile.
      if (context.isStopped() || !context.hasRoom([email], true)) return
      const complete = await contents.complete(content)
      const together = waiting.splice(0, sizes.countTogether(complete)).map((each) => ({ ...each, content: complete }))
      onPrepared(emailsOf(together), await prepareTogether(together, context))
    }
    while (waiting.length) {
      await untilRoom(context, [email], true)
      await (content.unreadBytes > VERY_LARGE ? veryLarge : large)(ownerOf(email.projectId), prepareGroup, { priority: email.priority })
    }
  }

  async function prepareTogether(admitted: Admitted[], { probes, checkedAt, isStopped }: PrepareContext): Promise<ReadyEmail[]> {
    const [{ content, email }] = admitted as [Admitted]
    const recipients = admitted.map(builder.recipientOf)
    const options = { projectId: email.projectId, priority: email.priority, guard: timeouts.guardOf(content.id), isStopped }
    const results = await renderUnlessRaw(content, recipients, options).catch((err) => {
      if (err instanceof StoppedError) throw err
      log.error({ err, contentId: content.id, projectId: email.projectId }, 'could not render emails')
      return []
    })
    sizes.note(content, results)
    const built = await Promise.all(
      admitted.map((each, index) =>
        builder.build({ admitted: each, recipient: recipients[index]!, result: results[index] }, probes.has(each.email)),
      ),
    )
    const unsent = built.flatMap((each) => ('settlement' in each ? [each.settlement] : []))
    for (const each of admitted)
      if (probes.has(each.email) && unsent.some(({ id }) => id === each.email.id))
        health.probed({ email: each.email, domain: each.signer.domain }, { domain: true, provider: false })
    await Promise.all(unsent.map(settle))
    crash('rendered')
    return built.flatMap((each) => ('outgoing' in each ? [{ ...each, checkedAt }] : []))
  }

  return prepare
}

/** Throws when the process stops. */
async function untilRoom({ hasRoom, isStopped }: Waiting, emails: ClaimedEmail[], isLarge = false) {
  while (!isStopped() && !hasRoom(emails, isLarge)) await sleep(FULL_MS)
  if (isStopped()) throw new StoppedError()
}

/** A message that is sent as it is has nothing to render. */
const renderUnlessRaw = async (
  content: Content,
  recipients: Recipient[],
  options: Parameters<typeof renderEmails>[2],
): Promise<Rendered[]> =>
  content.raw
    ? recipients.map(() => ({ ok: true, subject: content.subject, previewText: '', html: '' }))
    : renderEmails(content, recipients, options)

/** Defers emails of a paused sender domain, or to a domain that throttles, before any work is done for them. */
async function checkHealth(health: Health, admitted: Admitted[]) {
  const pass: Admitted[] = []
  const heldBack: Settlement[] = []
  const probes = new Set<ClaimedEmail>()
  for (const each of admitted) {
    const verdict = await health.admit(each.email, each.signer.domain)
    if ('code' in verdict) heldBack.push(holdBack(each.email, verdict))
    else pass.push(each)
    if ('probe' in verdict && verdict.probe) probes.add(each.email)
  }
  return { pass, heldBack, probes }
}

const emailsOf = (all: { email: ClaimedEmail }[]) => all.map(({ email }) => email)
