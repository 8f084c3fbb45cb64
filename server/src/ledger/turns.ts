import { createCache } from '../lib/collections/cache.ts'
import { createCounts } from '../lib/concurrency/counts.ts'
import { SECOND } from '../lib/text/units.ts'

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
/** Rest after the first failure; it doubles with each further one. */
const FIRST_REST_MS = SECOND
const LONGEST_REST_MS = 32 * SECOND

/**
 * Decides which work gets the next slot. Owners take turns, inside an owner its projects. While another owner waits, an owner has at most
 * half of the slots. One slot more than `slots` is for an owner that has none: a newcomer starts at once, even if all other work hangs.
 */
export function createTurns({ slots, maxOfProject = Number.POSITIVE_INFINITY, maxOfKey = 1, now = () => performance.now() }: Options) {
  const half = Math.max(1, Math.floor(slots / 2))
  const ofOwner = createCounts()
  const ofProject = createCounts()
  const ofKey = createCounts()
  const restsUntil = new Map<string, number>()
  const failures = createCache<string, number>({ maxEntries: MAX_REMEMBERED })
  const slowKeys = createCache<string, true>({ maxEntries: MAX_REMEMBERED })
  const turnOfOwner = createCache<string, number>({ maxEntries: MAX_REMEMBERED })
  const turnOfProject = createCache<string, number>({ maxEntries: MAX_REMEMBERED })
  let turn = 0
  let busy = 0

  const hasRoom = () => busy <= slots

  function mayHaveMore(owner: string, othersWait: boolean) {
    const own = ofOwner.of(owner)
    if (busy >= slots) return hasRoom() && own === 0
    return own < half || !othersWait
  }

  const isResting = (key: string) => (restsUntil.get(key) ?? Number.NEGATIVE_INFINITY) > now()
  const isAtLimit = (key: string) => ofKey.of(key) >= (slowKeys.has(key) ? 1 : maxOfKey)
  const couldStart = ({ projectId, key }: WaitingWork) => !isResting(key) && !isAtLimit(key) && ofProject.of(projectId) < maxOfProject

  /** The longer ago the last turn was, the earlier the next; an owner or project without one comes first. */
  const comesBefore = (a: WaitingWork, b: WaitingWork) =>
    ((turnOfOwner.get(a.owner) ?? 0) - (turnOfOwner.get(b.owner) ?? 0) ||
      (turnOfProject.get(a.projectId) ?? 0) - (turnOfProject.get(b.projectId) ?? 0)) < 0

  function countSlot({ owner, projectId, key }: WaitingWork, by: 1 | -1) {
    busy += by
    ofOwner.change(owner, by)
    ofProject.change(projectId, by)
    ofKey.change(key, by)
  }

  return {
    hasRoom,

    /** Only an owner that has no slot gets another one. */
    isFull: () => busy >= slots,

    /** Owners that have slots and may not have another one now. */
    ownersAtShare: ({ othersWait }: { othersWait: boolean }) =>
      [...ofOwner.counts.keys()].filter((owner) => !mayHaveMore(owner, othersWait)),

    /** Keys that cannot be chosen now, whatever else waits. */
    keysAtLimit() {
      for (const key of restsUntil.keys()) if (!isResting(key)) restsUntil.delete(key)
      return [...new Set([...[...ofKey.counts.keys()].filter(isAtLimit), ...restsUntil.keys()])]
    },

    /** The work that gets the next slot; of equal ones the first. `alsoWaiting`: owners that may have more work than is listed. */
    choose<Work extends WaitingWork>(waiting: Work[], alsoWaiting: string[] = []): Work | undefined {
      if (!hasRoom()) return undefined
      const able = waiting.filter(couldStart)
      const owners = new Set([...alsoWaiting, ...able.map(({ owner }) => owner)])
      let next: Work | undefined
      for (const work of able) if ((!next || comesBefore(work, next)) && mayHaveMore(work.owner, owners.size > 1)) next = work
      return next
    },

    start(work: WaitingWork) {
      turn++
      turnOfOwner.set(work.owner, turn)
      turnOfProject.set(work.projectId, turn)
      countSlot(work, 1)
    },

    end(work: WaitingWork, end: WorkEnd) {
      countSlot(work, -1)
      if (end === 'timed_out') slowKeys.set(work.key, true)
      if (end === 'done') slowKeys.delete(work.key)
      if (end !== 'failed') return failures.delete(work.key)
      const before = failures.get(work.key) ?? 0
      failures.set(work.key, before + 1)
      restsUntil.set(work.key, now() + Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** before))
    },

    /** Frees the slot of work that was not done after all: it proves nothing about its key. */
    cancel: (work: WaitingWork) => countSlot(work, -1),

    /** Leaves a key alone for a moment, because another process works on it. */
    rest: (key: string, ms: number) => void restsUntil.set(key, now() + ms),
  }
}
