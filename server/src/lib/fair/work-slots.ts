import { createCache } from '../collections/cache.ts'
import { backoffMs } from '../concurrency/backoff.ts'
import { SECOND } from '../text/units.ts'
import { createCounts } from './counts.ts'
import { chooseNext, mayTake } from './share.ts'

/** Work that waits for a slot. `key` names what may fail, hang and be worked on by itself: a campaign, a host of a project, a project. */
export type WaitingWork = { owner: string; projectId: string; key: string }

/** How a piece of work ended. After `failed` its key rests, ever longer. After `timed_out` it gets one slot at a time until it answers. */
export type WorkEnd = 'done' | 'failed' | 'timed_out'

type Options = {
  slots: number
  maxOfProject?: number | undefined
  maxOfKey?: number | undefined
  /** Milliseconds of a clock that never goes back. */
  now?: () => number
}

/** Keys, projects and owners whose past is remembered: a few megabytes. */
const MAX_REMEMBERED = 20_000
const REST_MS = { first: SECOND, longest: 32 * SECOND }

/**
 * The slots of a loop over the work of all projects. Owners take turns, inside an owner its projects. One slot more than `slots` is for an owner
 * that has none: a newcomer starts at once, even if all other work hangs.
 */
export function createWorkSlots({ slots, maxOfProject = Number.POSITIVE_INFINITY, maxOfKey = 1, now = () => performance.now() }: Options) {
  const pool = { size: slots, extra: 1 }
  const ofOwner = createCounts()
  const ofProject = createCounts()
  const ofKey = createCounts()
  const restsUntil = new Map<string, number>()
  const failures = createCache<string, number>({ maxEntries: MAX_REMEMBERED })
  const slowKeys = createCache<string, true>({ maxEntries: MAX_REMEMBERED })
  /** The number of the last start of an owner or project. */
  const lastStart = createCache<string, number>({ maxEntries: 2 * MAX_REMEMBERED })
  let starts = 0

  const hasSlot = () => ofOwner.sum() <= slots

  const isResting = (key: string) => (restsUntil.get(key) ?? Number.NEGATIVE_INFINITY) > now()
  const isAtLimit = (key: string) => ofKey.of(key) >= (slowKeys.has(key) ? 1 : maxOfKey)
  const couldStart = ({ projectId, key }: WaitingWork) => !isResting(key) && !isAtLimit(key) && ofProject.of(projectId) < maxOfProject

  /** The longer ago the last start was, the earlier the next; an owner or project without one comes first. */
  const rankOf = ({ owner, projectId }: WaitingWork) => [lastStart.get(`owner ${owner}`) ?? 0, lastStart.get(`project ${projectId}`) ?? 0]

  function count({ owner, projectId, key }: WaitingWork, by: 1 | -1) {
    ofOwner.change(owner, by)
    ofProject.change(projectId, by)
    ofKey.change(key, by)
  }

  return {
    hasSlot,

    /** Keys that cannot be chosen now, whatever else waits. */
    keysAtLimit() {
      for (const key of restsUntil.keys()) if (!isResting(key)) restsUntil.delete(key)
      return [...new Set([...[...ofKey.counts.keys()].filter(isAtLimit), ...restsUntil.keys()])]
    },

    /** The work that gets the next slot; of equal ones the first. `alsoWaiting`: owners that may have more work than is listed. */
    choose<Work extends WaitingWork>(waiting: Work[], alsoWaiting: string[] = []): Work | undefined {
      if (!hasSlot()) return undefined
      const able = waiting.filter(couldStart)
      const othersWait = new Set([...alsoWaiting, ...able.map(({ owner }) => owner)]).size > 1
      return chooseNext(able, rankOf, ({ owner }) => mayTake(ofOwner, owner, pool, { othersWait }))
    },

    start(work: WaitingWork) {
      starts++
      lastStart.set(`owner ${work.owner}`, starts)
      lastStart.set(`project ${work.projectId}`, starts)
      count(work, 1)
    },

    end(work: WaitingWork, end: WorkEnd) {
      count(work, -1)
      if (end === 'timed_out') slowKeys.set(work.key, true)
      if (end === 'done') slowKeys.delete(work.key)
      if (end !== 'failed') return failures.delete(work.key)
      const before = failures.get(work.key) ?? 0
      failures.set(work.key, before + 1)
      restsUntil.set(work.key, now() + backoffMs(before, REST_MS))
    },

    /** Frees the slot of work that was not done after all: it proves nothing about its key. */
    cancel: (work: WaitingWork) => count(work, -1),

    /** Leaves a key alone for a moment, because another process works on it. */
    rest: (key: string, ms: number) => void restsUntil.set(key, now() + ms),
  }
}
