import { type LoopDeps, startProjectLoop } from '../ledger/project-loop.ts'
import type { WaitingWork } from '../lib/fair/work-slots.ts'
import type { SafeFetch, SafeOutcome } from '../lib/network/safe-fetch.ts'
import { webhookAttempts } from '../lib/process/metrics.ts'
import { SECOND } from '../lib/text/units.ts'

/** Pieces of work of one worker at a time: altogether (besides one of an owner that has none), and of a project. */
const MAX_IN_FLIGHT = 64
const MAX_OF_PROJECT = 16
/** Requests to one host, or endpoint, at a time. */
export const MAX_OF_HOST = 8
const POLL_MS = 250
export const CALL_TIMEOUT_MS = 10 * SECOND
/** A request that fails after this time has waited for a reply, a connection, or DNS. */
const HANGS_MS = CALL_TIMEOUT_MS / 2
/** After this time another worker takes over: longer than the work on a piece, and its bookkeeping. */
export const LEASE_SECONDS = 30

export const hasHung = (outcome: SafeOutcome) => outcome.is === 'failed' && outcome.ms >= HANGS_MS

/** The same, with its answers in the metrics. */
export const countCalls =
  (fetch: SafeFetch): SafeFetch =>
  async (...request) => {
    const outcome = await fetch(...request)
    webhookAttempts.inc({ answer: outcome.is === 'status' ? `${Math.floor(outcome.status / 100)}xx` : 'none' })
    return outcome
  }

type Calls<Due extends WaitingWork, Leased extends Due> = LoopDeps & {
  name: string
  pollMs?: number | undefined
  maxOfKey?: number
  find: (except: string[]) => Promise<Due[]>
  /** Leases what was chosen for LEASE_SECONDS: a worker that dies gives it up. */
  take: (chosen: Due[]) => Promise<Leased[]>
  /** Makes requests, outside of transactions, and settles them. After `timed_out` the key gets one slot at a time until it answers. */
  work: (leased: Leased) => Promise<'done' | 'more' | 'timed_out'>
}

/**
 * Makes requests to hosts of customers, in turns by owner: the one loop for WEBHOOK steps and for webhook endpoints. A lease keeps other
 * workers away and expires if this one dies, so a request is made at least once.
 */
export const startCalls = <Due extends WaitingWork, Leased extends Due>({ pollMs = POLL_MS, ...calls }: Calls<Due, Leased>) =>
  startProjectLoop<Due, Leased>({ ...calls, pollMs, slots: MAX_IN_FLIGHT, maxOfProject: MAX_OF_PROJECT })
