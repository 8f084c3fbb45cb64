import type { Pool } from '../../db/index.ts'
import type { Log } from '../../lib/log.ts'
import { type ClaimedEmail, PRIORITIES } from '../outbox/claim.ts'
import { type Disposition, fingerprintOf } from '../transport/classify.ts'
import { createBreaker } from './breaker.ts'
import { createPauseStore, PAUSE_TIMING, type Paused, type PauseTiming, PROVIDER } from './pauses.ts'
import { createSlowdown } from './slowdown.ts'

export type Health = ReturnType<typeof createHealth>
type Recipient = Pick<ClaimedEmail, 'projectId' | 'toAddress' | 'priority'>
type Attempt = { email: Recipient; domain: string; disposition: Disposition }

/** Why an email has to wait although nothing is wrong with it. It does not count as a failure. */
export type HeldBack = { code: 'domain_paused' | 'throttled'; error: string; waitSeconds: number }

/** Emails of a paused domain wait a little longer than the pause, spread out, so that they do not all come back at once. */
const SPREAD = 0.25
const SHORTEST_WAIT_SECONDS = 5

const recipientDomain = ({ toAddress }: Recipient) => toAddress.slice(toAddress.lastIndexOf('@') + 1)

/**
 * What the other side's answers say about sending as a whole: the provider, a project's sender domain, a recipient domain. Asked before an
 * email is built and again before it is sent; told the result of every attempt.
 */
export function createHealth({ db, log, timing = PAUSE_TIMING }: { db: Pool; log: Log; timing?: PauseTiming }) {
  const pauses = createPauseStore({ db, log, timing })
  const report = createBreaker()
  const slowdown = createSlowdown()
  /** The provider's probe is reserved for this process, and no email has it yet. */
  let probeIsFree = false

  /** Another worker may have ended the pause meanwhile: then there is nothing to find out. */
  const hasProbe = () => probeIsFree && pauses.isPaused(PROVIDER)

  const senderOf = ({ projectId }: Recipient, domain: string): Paused => ({ projectId, domain })

  function holdBackDomain(paused: Paused): HeldBack {
    const wait = Math.max(SHORTEST_WAIT_SECONDS, pauses.secondsLeft(paused))
    return { code: 'domain_paused', error: pauses.reasonOf(paused), waitSeconds: wait * (1 + Math.random() * SPREAD) }
  }

  /** Two projects with a domain refused for the same words: it is not the domains. */
  function pauseDomain(paused: Paused, reason: string, fingerprint: string | undefined) {
    pauses.pause(paused, reason, fingerprint)
    if (fingerprint && pauses.projectsWith(fingerprint) >= 2) pauses.pause(PROVIDER, reason, fingerprint)
  }

  return {
    sync: pauses.sync,
    release: pauses.release,
    isProviderPaused: () => pauses.isPaused(PROVIDER) && !probeIsFree,
    isProbing: () => hasProbe(),
    hasPausedDomain: (projectId: string) => pauses.hasPausedDomain(projectId),
    pauseProvider: (reason: string) => pauses.pause(PROVIDER, reason),

    /** True when one email may now be sent to find out whether the provider works again. */
    async tryProvider() {
      if (probeIsFree || !pauses.isDue(PROVIDER)) return false
      probeIsFree = await pauses.takeProbe(PROVIDER)
      return probeIsFree
    },
    /** True for the one email that goes while the provider is paused. */
    takeProviderProbe() {
      const taken = hasProbe()
      probeIsFree = false
      return taken
    },

    /** Asked before the email is built. A paused domain lets one email pass when its time is over: `probe`. */
    async admit(email: Recipient, domain: string): Promise<{ probe: boolean } | HeldBack> {
      const sender = senderOf(email, domain)
      if (pauses.isPaused(sender)) return (await pauses.takeProbe(sender)) ? { probe: true } : holdBackDomain(sender)
      const { projectId, priority } = email
      const wait = slowdown.waitFor({ projectId, domain: recipientDomain(email), bulk: priority === PRIORITIES.bulk })
      return wait
        ? { code: 'throttled', error: 'The recipient domain asked for fewer emails at a time.', waitSeconds: wait }
        : { probe: false }
    },
    /** Asked again before it is sent: the domain may have been paused while it was built. */
    holdBack(email: Recipient, domain: string): HeldBack | undefined {
      const sender = senderOf(email, domain)
      return pauses.isPaused(sender) ? holdBackDomain(sender) : undefined
    },
    waitOfDomain: (email: Recipient, domain: string) => holdBackDomain(senderOf(email, domain)).waitSeconds,

    attempted({ email, domain, disposition }: Attempt) {
      const finding = report({ projectId: email.projectId, domain, disposition })
      const sender = senderOf(email, domain)
      if (disposition.throttled && disposition.about === 'recipient')
        slowdown.throttled({ projectId: email.projectId, domain: recipientDomain(email) })
      if (disposition.about === 'sender-domain') pauses.pause(sender, disposition.reason ?? '')
      if (finding?.pause === 'provider') pauses.pause(PROVIDER, finding.reason)
      if (finding?.pause === 'sender-domain') pauseDomain(sender, finding.reason, finding.fingerprint)
    },
    /** For an email that went as a probe, after `attempted`. Without a disposition it was not sent for a reason of its own. */
    probed(
      { email, domain, disposition }: Omit<Attempt, 'disposition'> & { disposition?: Disposition | undefined },
      what: { provider: boolean; domain: boolean },
    ) {
      const sender = senderOf(email, domain)
      if (what.domain) settleProbe(sender, disposition && saysOfDomain(disposition), disposition)
      if (what.provider) settleProbe(PROVIDER, disposition && saysOfProvider(disposition), disposition)
    },
  }

  function settleProbe(paused: Paused, says: 'works' | 'refused' | undefined, disposition: Disposition | undefined) {
    if (says === 'refused') pauses.pause(paused, disposition?.reason ?? '', pauses.fingerprintOf(paused))
    else pauses.probed(paused, says ?? 'undecided')
  }

  function saysOfProvider(disposition: Disposition) {
    if (disposition.action === 'sent') return 'works'
    if (disposition.about === 'provider') return disposition.throttled ? undefined : 'refused'
    if (disposition.about === 'sender-domain') return pauses.fingerprintOf(PROVIDER) ? 'works' : 'refused'
    const isSame = disposition.repeatable && fingerprintOf(disposition.reason ?? '') === pauses.fingerprintOf(PROVIDER)
    if (isSame) return 'refused'
    return disposition.about ? 'works' : undefined
  }
}

const saysOfDomain = (disposition: Disposition) =>
  disposition.action === 'sent' ? 'works' : disposition.about === 'sender-domain' || disposition.repeatable ? 'refused' : undefined
