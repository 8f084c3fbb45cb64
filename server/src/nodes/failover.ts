// Conclusion of a node when it meets another database server than before. Pure.

/** `auto`: by what workers know. `hold`: a person decides after each failover. `continue`: a failover never holds sending. */
export type FailoverMode = 'auto' | 'hold' | 'continue'

/** The identifier of a cluster, which its standbys share, and its timeline, which every promotion raises: `7709…/00000002`. */
export type ServerIdentity = string

export const serverClusterOf = (identity: ServerIdentity) => identity.slice(0, identity.indexOf('/'))
/** Eight hexadecimal digits, so that texts compare like numbers. */
export const serverTimelineOf = (identity: ServerIdentity) => identity.slice(identity.indexOf('/') + 1)

type Evidence = {
  mode: FailoverMode
  /** The server that this worker knew, or the installation when a worker starts. Null: none. */
  known: ServerIdentity | null
  found: ServerIdentity
  /** The last value of its counter whose commit this worker knows. Undefined: it starts and has committed none. */
  acknowledged: number | undefined
  /** The value that the found server has. Undefined: it has no row of this worker. */
  stored: number | undefined
  /** Other workers with a row on the found server that have not compared their counters yet. */
  silent: number
  /** Another worker has found its counter on that server. */
  isProven: boolean
  /** A worker stopped in order lately, or there was none ever. */
  hasLeftLately: boolean
}

/**
 * `same`: nothing has changed. `complete`: the server has every commit that could matter. `repeat`: it has this worker's counter; what was settled after
 * that may be missing. `ask`: only other workers know. `lossy`: it lacks acknowledged commits. `other`: another cluster, such as a restored dump.
 */
export type ServerVerdict = 'same' | 'complete' | 'repeat' | 'ask' | 'lossy' | 'other'

export function judgeServer({ mode, known, found, acknowledged, stored, silent, isProven, hasLeftLately }: Evidence): ServerVerdict {
  if (known === null || known === found) return 'same'
  if (serverClusterOf(known) !== serverClusterOf(found)) return 'other'
  if (mode === 'hold') return 'lossy'
  if (acknowledged === undefined) {
    if (mode === 'continue') return 'complete'
    if (silent > 0) return 'ask'
    // A worker that stops in order deletes its row, as its last commit: without rows there is nothing that could be missing. Unless the server was
    // restored to a former time at which no worker was running.
    return hasLeftLately ? 'complete' : 'lossy'
  }
  if (mode === 'continue') return 'repeat'
  if (serverTimelineOf(found) < serverTimelineOf(known)) return 'lossy'
  // Without a row, others may have declared this worker dead since.
  if (stored === undefined) return isProven ? 'repeat' : 'lossy'
  return stored < acknowledged ? 'lossy' : 'repeat'
}

/** A partial hold: undefined when none is needed. */
export type NeededHold = { untilResumed: boolean } | undefined

type Repeated = {
  mode: FailoverMode
  verdict: ServerVerdict
  /** The journal goes back to the last commit that the server is known to have. A worker that starts has none. */
  isComplete: boolean
  /** Emails of campaigns and workflows that left and that the server does not have: it would make and send them again. */
  unrecorded: number
}

export function holdAfterRepeat({ mode, verdict, isComplete, unrecorded }: Repeated): NeededHold {
  if (mode === 'continue') return undefined
  const mayRepeat = !isComplete || unrecorded > 0
  if (verdict === 'lossy') return { untilResumed: mode === 'hold' || mayRepeat }
  return verdict === 'repeat' && mayRepeat ? { untilResumed: true } : undefined
}

type Silence = Pick<Evidence, 'mode' | 'isProven'> & { isHeld: boolean }

/** For a worker that was running at the failover and is gone without having compared its counter. */
export const holdAfterSilence = ({ mode, isProven, isHeld }: Silence): NeededHold =>
  mode === 'continue' || (isProven && !isHeld) ? undefined : { untilResumed: true }
