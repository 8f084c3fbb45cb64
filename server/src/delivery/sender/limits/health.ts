import { transact } from '../../../db/index.ts'
import { createOwners } from '../../../projects/owner.ts'
import type { ClaimedEmail } from '../../outbox/claim.ts'
import { PRIORITIES } from '../../outbox/streams/stream-of.ts'
import type { Disposition } from '../../transport/classify.ts'
import { createBreaker } from './breaker.ts'
import { createPauseStore, PAUSE_TIMING } from './pauses.ts'
import { createSlowdown } from './slowdown.ts'
import { type Paused, PROVIDER, takeReasonsToPauseProvider } from './stored-pauses.ts'

export type Health = ReturnType<typeof createHealth>
type Recipient = Pick<ClaimedEmail, 'projectId' | 'toAddress' | 'priority'>
type Attempt = { email: Recipient; domain: string; disposition: Disposition }
type Probe = Omit<Attempt, 'disposition'> & { disposition?: Disposition | undefined }

/** Why an email is deferred although nothing is wrong with it. Does not count as a failure. */
export type HeldBack = { code: 'domain_paused' | 'throttled'; error: string; waitSeconds: number }

/** Jitter: emails of a paused domain wait up to this share longer than the pause, so that they are not all due at once. */
const JITTER = 0.25
const SHORTEST_WAIT_SECONDS = 5

const recipientDomain = ({ toAddress }: Recipient) => toAddress.slice(toAddress.lastIndexOf('@') + 1)

/**
 * Health of sending as a whole, derived from the outcome of every attempt: the provider, the sender domains of projects, recipient domains.
 * Checked before an email is built and again before it is sent.
 */
export function createHealth({ db, log, timing = PAUSE_TIMING }: Parameters<typeof createPauseStore>[0]) {
  const pauses = createPauseStore({ db, log, timing })
  const report = createBreaker()
  const slowdown = createSlowdown()
  /** This worker has reserved the probe of the provider and not sent it yet. */
  let probeIsFree = false
  let probeFreeSince = 0

  /** Another worker may have ended the pause meanwhile: then no probe is needed. */
  const hasProbe = () => probeIsFree && pauses.isPaused(PROVIDER)

  const senderOf = ({ projectId }: Recipient, domain: string): Paused => ({ projectId, domain })

  function holdBackDomain(paused: Paused): HeldBack {
    const wait = Math.max(SHORTEST_WAIT_SECONDS, pauses.secondsLeft(paused))
    return { code: 'domain_paused', error: pauses.reasonOf(paused), waitSeconds: wait * (1 + Math.random() * JITTER) }
  }

  const owners = createOwners(db)

  /** Domains of two owners refused with the same reply: the provider is the cause, not the domains. */
  async function compareDomains() {
    if (!pauses.hasEqualPauses()) return
    const [found] = await transact(db, (tx) => takeReasonsToPauseProvider(tx))
    if (found) pauses.pause(PROVIDER, found.reason, { fingerprint: found.fingerprint })
  }

  return {
    async sync() {
      await pauses.sync()
      await compareDomains()
    },
    syncSoon: pauses.syncSoon,
    isVerifying: pauses.isVerifying,
    hasPauses: pauses.hasPauses,
    /** Reads the owners of projects, for `attempted`. */
    meet: owners.read,
    release: pauses.release,
    isProviderPaused: () => pauses.isPaused(PROVIDER) && !probeIsFree,
    isProbing: hasProbe,
    hasPausedDomain: pauses.hasPausedDomain,
    pauseProvider: (reason: string, { isUsedUp }: { isUsedUp: boolean }) =>
      pauses.pause(PROVIDER, reason, { cause: isUsedUp ? 'quota' : null }),

    /** Reserves the probe of the provider. True when one email may be sent to find out whether the provider works again. */
    async tryProvider() {
      if (probeIsFree || !pauses.isDue(PROVIDER)) return false
      probeIsFree = await pauses.takeProbe(PROVIDER)
      probeFreeSince = performance.now()
      return probeIsFree
    },
    /** Whether an email may be the probe of the provider now: after unknown outcomes transactional ones come first. */
    mayBeProbe: ({ priority }: Pick<Recipient, 'priority'>) =>
      priority === PRIORITIES.transactional ||
      pauses.causeOf(PROVIDER) !== 'unknown' ||
      performance.now() - probeFreeSince >= timing.transactionalFirstMs,
    /** True for the one email that is sent while the provider is paused. */
    takeProviderProbe() {
      const taken = hasProbe()
      probeIsFree = false
      return taken
    },

    /** Checked before an email is built. When the time of a paused domain is over, one email passes as its `probe`. */
    async admit(email: Recipient, domain: string): Promise<{ probe: boolean } | HeldBack> {
      const sender = senderOf(email, domain)
      if (pauses.isPaused(sender)) return (await pauses.takeProbe(sender)) ? { probe: true } : holdBackDomain(sender)
      const { projectId, priority } = email
      const wait = slowdown.waitFor({ projectId, domain: recipientDomain(email), bulk: priority === PRIORITIES.bulk })
      return wait
        ? { code: 'throttled', error: 'The recipient domain asked for fewer emails at a time.', waitSeconds: wait }
        : { probe: false }
    },
    /** Checked again before an email is sent: its domain may have been paused during the build. */
    holdBack(email: Recipient, domain: string): HeldBack | undefined {
      const sender = senderOf(email, domain)
      return pauses.isPaused(sender) ? holdBackDomain(sender) : undefined
    },
    waitOfDomain: (email: Recipient, domain: string) => holdBackDomain(senderOf(email, domain)).waitSeconds,

    attempted({ email, domain, disposition }: Attempt) {
      const { projectId } = email
      const owner = owners.of(projectId)
      const decision = report({ projectId, owner, domain, disposition })
      const sender = senderOf(email, domain)
      if (disposition.throttled && disposition.about === 'recipient')
        slowdown.throttled({ projectId, owner, domain: recipientDomain(email) })
      if (disposition.about === 'sender-domain') pauses.pause(sender, disposition.reason ?? '')
      if (decision?.pause === 'provider') pauses.pause(PROVIDER, decision.reason, { cause: causeOf(disposition) })
      if (decision?.pause === 'sender-domain') pauses.pause(sender, decision.reason, { fingerprint: decision.fingerprint })
    },
    /** Ends a probe, after `attempted`. Without a disposition the email was not sent for a reason of its own. */
    probed({ email, domain, disposition }: Probe, probe: { provider: boolean; domain: boolean }) {
      if (probe.domain) settleProbe(senderOf(email, domain), disposition && domainFinding(disposition), disposition)
      if (probe.provider) settleProbe(PROVIDER, disposition && providerFinding(disposition), disposition)
    },
  }

  function settleProbe(paused: Paused, finding: 'works' | 'refused' | undefined, disposition: Disposition | undefined) {
    // A pause that has ended in the meantime is not begun again: `attempted` has dealt with the refusal like with any other.
    if (finding === 'refused' && !pauses.isPaused(paused)) return
    if (finding === 'refused')
      pauses.pause(paused, disposition?.reason ?? '', { fingerprint: pauses.fingerprintOf(paused), cause: causeOf(disposition) })
    else pauses.probed(paused, finding ?? 'undecided')
  }

  function providerFinding(disposition: Disposition) {
    if (disposition.action === 'sent') return 'works'
    // A provider that asks for a slower pace answers again.
    if (disposition.throttled && pauses.causeOf(PROVIDER) === 'unknown') return 'works'
    if (disposition.about === 'provider') return disposition.throttled ? undefined : 'refused'
    if (disposition.about === 'sender-domain') return pauses.fingerprintOf(PROVIDER) ? 'works' : 'refused'
    const isSame = disposition.fingerprint !== undefined && disposition.fingerprint === pauses.fingerprintOf(PROVIDER)
    if (isSame) return 'refused'
    return disposition.about ? 'works' : undefined
  }
}

const causeOf = (disposition: Disposition | undefined) =>
  disposition?.quotaUsedUp ? 'quota' : disposition?.action === 'unknown' ? 'unknown' : null

const domainFinding = (disposition: Disposition) =>
  disposition.action === 'sent' ? 'works' : disposition.about === 'sender-domain' || disposition.repeatable ? 'refused' : undefined
