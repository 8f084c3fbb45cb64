import { createWakeSignal } from '../lib/concurrency/wake-signal.ts'
import { createWorkSlots, type WaitingWork, type WorkEnd } from '../lib/fair/work-slots.ts'
import type { Log } from '../lib/process/log.ts'
import { createRareWarning } from '../lib/process/rare-warning.ts'

/** `more`: it waits again at once. `locked`: another process works on it. `restMs`: its key rests. The others as in work-slots.ts. */
export type LoopOutcome = WorkEnd | 'more' | 'locked' | { restMs: number }

/** `isDue`: whether there may be work, without a signal. By default there may be. */
export type LoopDeps = { log: Log; isHeld: () => boolean; isDue?: (() => boolean) | undefined }

type Options<Work extends WaitingWork, Taken extends Work> = LoopDeps & {
  /** For the log. */
  name: string
  pollMs: number
  /** Pieces of work at a time, besides the one for an owner that has none. */
  slots: number
  maxOfProject?: number
  maxOfKey?: number
  /** Work that is due, without that of the keys in `except`; the first of each owner, see `inTurnSql`. */
  find: (except: string[]) => Promise<Work[]>
  /** Takes work that was chosen; what another process has taken meanwhile is left out. Without it, all of it is taken. */
  take?: (chosen: Work[]) => Promise<Taken[]>
  work: (work: Taken) => Promise<LoopOutcome>
}

/** Age at which the list of waiting work is read again, even if there is work left in it: a newcomer waits for this long. */
const MAX_AGE_MS = 200

/**
 * The loop over work of all projects, in the order and within the shares of work-slots.ts. Any number of processes may run it: rows decide
 * which one does a piece. A piece that fails is logged and rests; it holds up nothing but itself.
 */
export function startProjectLoop<Work extends WaitingWork, Taken extends Work = Work>(options: Options<Work, Taken>) {
  const { name, log, isHeld, pollMs, isDue = () => true, find, work, ...limits } = options
  const take = options.take ?? (async (chosen) => chosen as Taken[])
  const slots = createWorkSlots(limits)
  // A list has each key once, however much work waits behind it.
  const mayHideWork = (limits.maxOfKey ?? 1) > 1
  const signal = createWakeSignal()
  const warn = createRareWarning(log)
  const underWay = new Set<Promise<void>>()
  let waiting: Work[] = []
  let readAt = Number.NEGATIVE_INFINITY
  let stopped = false

  async function run() {
    let isSignalled = true
    while (!stopped) {
      const looks: boolean = isHeld() && slots.hasSlot() && (isSignalled || isDue())
      const started: number = looks ? await startNext().catch(cannotLook) : 0
      isSignalled = (started > 0 && mayHideWork) || (await signal.wait(pollMs))
    }
  }

  function cannotLook(err: unknown) {
    warn({ err, work: name }, 'could not look for work; retrying')
    return 0
  }

  /** Returns the number of pieces started. */
  async function startNext() {
    let chosen = !mayHideWork && performance.now() - readAt < MAX_AGE_MS ? chooseAll() : []
    if (!chosen.length) {
      waiting = await find(slots.keysAtLimit())
      readAt = performance.now()
      chosen = chooseAll()
    }
    if (!chosen.length) return 0
    const taken = await takeSome(chosen)
    for (const piece of taken) start(piece)
    return taken.length
  }

  function chooseAll() {
    const chosen: Work[] = []
    const choose = () => slots.choose(waiting, mayHideWork ? chosen.map(({ owner }) => owner) : [])
    for (let next = choose(); next; next = choose()) {
      waiting.splice(waiting.indexOf(next), 1)
      slots.start(next)
      chosen.push(next)
    }
    return chosen
  }

  /** Slots of what could not be taken are free again. */
  async function takeSome(chosen: Work[]) {
    let taken: Taken[] = []
    try {
      taken = await take(chosen)
      return taken
    } finally {
      const keys = new Set(taken.map(({ key }) => key))
      for (const each of chosen) if (!keys.has(each.key)) slots.cancel(each)
    }
  }

  function start(piece: Taken) {
    const ended = work(piece)
      .catch((err): LoopOutcome => {
        warn({ err, work: name, projectId: piece.projectId, key: piece.key }, 'work for a project failed; it is tried again later')
        return 'failed'
      })
      .then((outcome) => {
        underWay.delete(ended)
        end(piece, outcome)
        signal.wake()
      })
    underWay.add(ended)
  }

  function end(piece: Taken, outcome: LoopOutcome) {
    if (outcome === 'locked' || typeof outcome === 'object') {
      const restMs = typeof outcome === 'object' ? outcome.restMs : pollMs
      slots.cancel(piece)
      slots.rest(piece.key, restMs)
      if (restMs < pollMs) setTimeout(signal.wake, restMs).unref()
      return
    }
    slots.end(piece, outcome === 'more' ? 'done' : outcome)
    if (outcome === 'more' && !waiting.some(({ key }) => key === piece.key)) waiting.push(piece)
  }

  const running = run()
  return {
    /** Looks for work now. */
    wake: () => signal.wake(),
    /** Starts no more, and waits for the work under way. */
    async stop() {
      stopped = true
      signal.wake()
      await running
      await Promise.all(underWay)
    },
  }
}
