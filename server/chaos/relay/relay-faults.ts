import { setTimeout as sleep } from 'node:timers/promises'
import type { Faults } from '../nodes/inject-faults.ts'
import type { Cluster } from '../nodes/nodes.ts'
import type { Relay, Rule, Stage } from '../nodes/relay-server.ts'
import type { Random } from '../support/random.ts'
import { until } from '../support/until.ts'

/** Which envelopes a fault concerns. */
type Scope = 'everything' | 'a sender domain' | 'a destination' | 'some recipients'
type Plan = { stage: Stage; scope?: Scope; slow?: boolean; burst?: boolean } & Pick<Rule, 'close' | 'takes'> & { reply?: string }

const DISABLED = '550 Your account has been disabled, please contact support'
const BLOCKED = '554 5.7.1 Service unavailable; Client host [192.0.2.7] blocked'

const REFUSALS: Record<string, Plan> = {
  'closes every connection': { stage: 'connect', close: true },
  'greets with 421': { stage: 'greeting', reply: '421 4.3.2 Service shutting down' },
  'greets with 554': { stage: 'greeting', burst: true, reply: BLOCKED },
  'refuses EHLO for now': { stage: 'ehlo', reply: '451 4.3.0 Try again later' },
  'refuses EHLO': { stage: 'ehlo', reply: '550 5.7.1 Your host is unknown' },
  'refuses STARTTLS for now': { stage: 'starttls', reply: '454 4.7.0 TLS not available due to temporary reason' },
  'refuses STARTTLS': { stage: 'starttls', reply: '554 5.7.3 Unable to initialize security subsystem' },
  'refuses AUTH for now': { stage: 'auth', reply: '454 4.7.0 Temporary authentication failure' },
  'refuses AUTH': { stage: 'auth', burst: true, reply: '535 5.7.8 Authentication credentials invalid' },
  'refuses AUTH of a disabled account': { stage: 'auth', reply: DISABLED },
  'closes at AUTH': { stage: 'auth', close: true },
  'refuses MAIL FROM of a disabled account': { stage: 'mail', burst: true, reply: DISABLED },
  'refuses MAIL FROM of a disabled domain': { stage: 'mail', scope: 'a sender domain', reply: DISABLED },
  'refuses MAIL FROM for now': { stage: 'mail', reply: '451 4.3.0 Internal error' },
  'refuses MAIL FROM with 421': { stage: 'mail', reply: '421 4.7.0 Try again later, closing connection' },
  'refuses MAIL FROM of a domain it does not know': {
    stage: 'mail',
    scope: 'a sender domain',
    reply: '553 5.7.1 Sender address rejected: not owned by user',
  },
  'refuses MAIL FROM of a message that is too large': { stage: 'mail', scope: 'some recipients', reply: '552 5.3.4 Message too large' },
  'refuses the syntax of MAIL FROM': { stage: 'mail', scope: 'some recipients', reply: '501 5.1.7 Bad sender address syntax' },
  'closes at MAIL FROM': { stage: 'mail', close: true },
  'throttles a destination': { stage: 'rcpt', scope: 'a destination', reply: '450 4.7.1 Too many messages to this mailbox' },
  'refuses RCPT TO for now': { stage: 'rcpt', reply: '451 4.3.0 Local error in processing' },
  'refuses RCPT TO with 421': { stage: 'rcpt', reply: '421 4.3.0 Closing connection' },
  'does not know some recipients': { stage: 'rcpt', scope: 'some recipients', reply: '550 5.1.1 No such user here' },
  'refuses to relay': { stage: 'rcpt', burst: true, reply: '554 5.7.1 Relay access denied' },
  'refuses to relay to a destination': { stage: 'rcpt', scope: 'a destination', reply: '554 5.7.1 Relay access denied' },
  'misses the authentication of a domain': {
    stage: 'rcpt',
    scope: 'a sender domain',
    reply: '550 5.7.26 This mail is unauthenticated',
  },
  'refuses RCPT TO of a disabled account': { stage: 'rcpt', burst: true, reply: DISABLED },
  'refuses RCPT TO of a disabled domain': { stage: 'rcpt', scope: 'a sender domain', burst: true, reply: DISABLED },
  'refuses RCPT TO of a disabled account as if the mailbox were unknown': {
    stage: 'rcpt',
    scope: 'a sender domain',
    burst: true,
    reply: '550 5.1.1 Your account has been disabled',
  },
  'does not know the sender domain at RCPT TO': {
    stage: 'rcpt',
    scope: 'a sender domain',
    burst: true,
    reply: '550 Domain not found in our customer database',
  },
  'blocks the client at RCPT TO': { stage: 'rcpt', scope: 'a sender domain', burst: true, reply: BLOCKED },
  'refuses HELO at RCPT TO': { stage: 'rcpt', scope: 'a sender domain', reply: '550 5.7.1 Helo command rejected: Host not found' },
  'has no quota left at RCPT TO': { stage: 'rcpt', scope: 'a sender domain', reply: '550 Monthly quota used up' },
  'knows no recipient of a sender domain': {
    stage: 'rcpt',
    scope: 'a sender domain',
    burst: true,
    reply: '550 5.1.1 Recipient address rejected: User unknown',
  },
  'closes at RCPT TO': { stage: 'rcpt', close: true },
  'refuses DATA for now': { stage: 'data', reply: '451 4.3.0 Internal error' },
  'refuses DATA': { stage: 'data', scope: 'some recipients', reply: '554 5.5.1 No valid recipients' },
  'closes at DATA': { stage: 'data', close: true },
  'refuses messages for now': { stage: 'dot', reply: '451 4.7.0 Temporarily rejected' },
  'refuses messages with 421': { stage: 'dot', reply: '421 4.3.0 Closing connection' },
  'refuses messages of a domain as spam': {
    stage: 'dot',
    scope: 'a sender domain',
    burst: true,
    reply: '554 5.7.1 Message rejected as spam',
  },
  'refuses messages of a disabled account': { stage: 'dot', burst: true, reply: DISABLED },
  'refuses messages of an inactive account': {
    stage: 'dot',
    scope: 'a sender domain',
    burst: true,
    reply: '554 Message rejected: account 4711 is inactive',
  },
  'misses the authentication of messages': {
    stage: 'dot',
    scope: 'a sender domain',
    reply: '550 5.7.26 This mail is unauthenticated',
  },
  'finds some messages too large': { stage: 'dot', scope: 'some recipients', reply: '552 5.3.4 Message too large' },
  'does not know some recipients at the dot': { stage: 'dot', scope: 'some recipients', reply: '550 5.1.1 Recipient unknown' },
  'takes messages and does not say so': { stage: 'dot', scope: 'some recipients', close: true, takes: true },
  'closes at the dot': { stage: 'dot', scope: 'some recipients', close: true },
  'greets slowly': { stage: 'greeting', slow: true },
  'answers MAIL FROM slowly': { stage: 'mail', slow: true },
  'answers RCPT TO slowly': { stage: 'rcpt', slow: true },
  'answers messages slowly': { stage: 'dot', slow: true },
}

/** A throttling relay slows sending down to one email per second, and the pace takes a while to recover. */
const MET_MS = 90_000
const STOPPED_MS = 30_000
/** How long a fault lasts after it was first met. */
const LASTS_MS = { least: 100, most: 1_500 }
/** Long enough for a burst to be sent as a whole, were it not stopped. */
const BURST_LASTS_MS = 1_200
const SLOW_MS = { least: 200, most: 1_500 }
/** Less than the time a stopping worker waits for replies, and more than it once waited. */
const SLOW_AT_STOP_MS = 6_000
const WAITING_AT_STOP = 5
const SOME = 0.3
/** Stages before the first email of a session: only a new connection reaches them. */
const OPENING = new Set<Stage>(['connect', 'greeting', 'ehlo', 'starttls', 'auth'])

type Known = {
  relay: Relay
  domains: string[]
  destinations: string[]
  /** Makes the next call one to many recipients. */
  burst: (domain: string) => void
  cluster: Cluster
  random: Random
}

/** Every bad answer at every command. Each reply carries the number of its fault, so that a reason can be traced to it. */
export function relayFaults({ relay, domains, destinations, burst, cluster, random }: Known) {
  const endings = new Set<Promise<unknown>>()
  let last = 0
  const later = (end: () => unknown, least = LASTS_MS.least) => {
    const ending = sleep(random.between(least, LASTS_MS.most)).then(end)
    // `over` reports a failure; until then it must not count as unhandled.
    ending.catch(() => {})
    endings.add(ending)
  }

  async function inject({ stage, scope = 'everything', slow, burst: bursts, reply, ...how }: Plan) {
    const domain = random.pick(domains)
    const rule: Rule = {
      stage,
      ...how,
      ...(reply ? { reply: `${reply} [fault ${++last}]` } : {}),
      ...(slow ? { afterMs: random.between(SLOW_MS.least, SLOW_MS.most) } : {}),
      appliesTo: chooseEnvelopes(scope, domain),
    }
    const handle = relay.addRule(rule)
    if (OPENING.has(stage)) relay.retireConnections()
    await until(`the relay's "${reply ?? stage}" was met`, MET_MS, handle.met).catch((err) => {
      handle.remove()
      throw err
    })
    if (bursts) burst(domain)
    later(handle.remove, bursts ? BURST_LASTS_MS : undefined)
  }

  function chooseEnvelopes(scope: Scope, domain: string): Rule['appliesTo'] {
    const destination = random.pick(destinations)
    const seed = random.below(1_000)
    if (scope === 'a sender domain') return ({ sender }) => sender.endsWith(`@${domain}`)
    if (scope === 'a destination') return ({ recipient }) => recipient.endsWith(`@${destination}`)
    // Always the same ones: a repetition gets the same answer while the fault lasts.
    if (scope === 'some recipients') return ({ sender }) => shareOf(sender, seed) < SOME
    return undefined
  }

  async function stopWorkers() {
    const handle = relay.addRule({ stage: 'dot', afterMs: SLOW_AT_STOP_MS })
    await until('messages wait for their answers', MET_MS, () => handle.met() >= WAITING_AT_STOP).finally(handle.remove)
    const pids = cluster.workers.map((worker) => worker.pid())
    for (const worker of cluster.workers) worker.signal('SIGTERM')
    await until('the workers have stopped', STOPPED_MS, () => cluster.workers.every((worker, index) => worker.pid() !== pids[index]))
  }

  const faults: Faults = Object.fromEntries(
    Object.entries(REFUSALS).map(([kind, plan]) => [`the relay ${kind}`, { weight: 1, unnoticed: true, inject: () => inject(plan) }]),
  )
  faults['the relay refuses connections'] = {
    weight: 1,
    unnoticed: true,
    inject: async () => later(relay.refuseConnections()),
  }
  faults['SIGTERM of all workers while answers are slow'] = { weight: 1, unnoticed: true, inject: stopWorkers }
  /** Resolves when no fault is left, and rejects if one could not be ended. */
  return { faults, over: () => Promise.all(endings) }
}

/** A fixed number from 0 to 1 for each text. */
function shareOf(text: string, seed: number) {
  let hash = seed
  for (const char of text) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) >>> 0
  return (Math.imul(hash, 0x9e3779b1) >>> 0) / 2 ** 32
}
