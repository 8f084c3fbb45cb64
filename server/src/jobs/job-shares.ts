import type { Job, Worker, WorkerEvents } from 'graphile-worker'
import { createCounts } from '../lib/fair/counts.ts'
import { excludedOwners } from '../lib/fair/share.ts'
import { SECOND } from '../lib/text/units.ts'

/** Jobs have the flag of the owner of their project; those of the installation have none, and are never forbidden. */
export const OWNER_FLAG = 'owner:'
/** Owners of one round; more than have jobs at a time. */
const MAX_SERVED = 1_000
/** Starts, and time, for which the only owner with jobs is not forbidden after its turn. */
const ALONE_STARTS = 50
const ALONE_MS = SECOND

/**
 * Shares the slots of the job queue between owners, as lib/fair/share.ts says. The queue takes the oldest job without a forbidden flag, so the owners
 * that may not start another job are forbidden: those at their share, and those that had their turn in this round. A look that finds nothing
 * is repeated with fewer of them: first a new round begins, then no owner waits but those at their share.
 *
 * A look in vain reads all jobs of the forbidden owners. So an owner that turns out to be alone is not forbidden after each of its jobs, but
 * after some: another owner's job waits for that long at most.
 */
export function createJobShares(slots: number, { aloneStarts = ALONE_STARTS, now = () => performance.now() } = {}) {
  const pool = { size: slots, extra: 1 }
  const running = createCounts()
  const served = new Set<string>()
  let othersWait = true
  /** The owner of the last round, if it had one owner and its jobs were the only ones. */
  let onlyServed: string | undefined
  let alone: { owner: string; starts: number; until: number } | undefined

  function noteStart(owner: string) {
    if (owner === onlyServed) alone = { owner, starts: aloneStarts + 1, until: now() + ALONE_MS }
    if (alone && (alone.owner !== owner || --alone.starts <= 0)) alone = undefined
    onlyServed = undefined
  }

  const ownersAtShare = (othersWait: boolean) => excludedOwners(running, pool, { othersWait })

  return {
    /** Only an owner that has no slot gets another one. */
    isFull: () => running.sum() >= slots,
    /** Flags of jobs that are not to be taken by the next look. */
    forbidden(): string[] {
      if (served.size > MAX_SERVED) served.clear()
      if (alone && alone.until <= now()) alone = undefined
      const owners = new Set([...ownersAtShare(othersWait), ...(alone ? [] : served)])
      owners.delete('')
      return [...owners].map((owner) => OWNER_FLAG + owner)
    },
    /** After a look that found no job. Returns whether another look may find one. */
    findNone(): boolean {
      const atShare = ownersAtShare(true)
      const free = [...served].filter((owner) => !atShare.includes(owner))
      onlyServed = !alone && served.size === 1 && !atShare.length ? free[0] : undefined
      for (const owner of free) served.delete(owner)
      // Beside an owner that is alone they were not forbidden.
      if (free.length && !alone && running.sum() <= slots) return true
      othersWait = !(othersWait && atShare.length > ownersAtShare(false).length)
      if (!othersWait) served.clear()
      return !othersWait
    },
    start(owner: string) {
      if (owner) {
        noteStart(owner)
        served.add(owner)
      }
      othersWait = true
      running.change(owner, 1)
    },
    end: (owner: string) => running.change(owner, -1),
  }
}

/** Empty for a job of the installation. */
const ownerOf = ({ flags }: Pick<Job, 'flags'>) =>
  Object.keys(flags ?? {})
    .find((flag) => flag.startsWith(OWNER_FLAG))
    ?.slice(OWNER_FLAG.length) ?? ''

/** Longest wait of a slot for the look of another one: a look that hangs must not stop the others. */
const MAX_LOOK_MS = 5_000
/**
 * Only one job of a queue name runs at a time. When it ends, the slot looks for the next job at once, but at that moment the queue may not have
 * unlocked the name yet, and it does not notify anybody when it does. Then only the next poll would find the next job, up to ten seconds later. So
 * the slot looks again after these times; the sweep (liveness.ts) finds the jobs that these looks miss.
 */
const UNLOCKED_AFTER_MS = [10, 50, 250]

/** Applies the shares to a queue that emits `events`. Its slots look for jobs one after the other, so that each look counts what runs. */
export function shareSlots(events: WorkerEvents, slots: number) {
  const shares = createJobShares(slots)
  const queue: (() => void)[] = []
  const released = new WeakSet<Worker>()
  /** Slots that found nothing while only an owner without a job could have got one. */
  const leftOut = new Set<Worker>()
  let isLooking = false

  async function waitForTurn() {
    if (!isLooking) {
      isLooking = true
      return
    }
    await new Promise<void>((resolve) => {
      const patience = setTimeout(() => goOn(), MAX_LOOK_MS)
      const goOn = () => {
        clearTimeout(patience)
        const place = queue.indexOf(goOn)
        if (place >= 0) queue.splice(place, 1)
        resolve()
      }
      queue.push(goOn)
    })
  }

  function endLook() {
    const next = queue[0]
    if (next) next()
    else isLooking = false
  }

  function lookAgain(worker: Worker) {
    if (!released.has(worker)) worker.nudge()
  }

  events.on('worker:release', ({ worker }) => {
    released.add(worker)
    leftOut.delete(worker)
  })
  events.on('job:complete', ({ worker, job }) => {
    if (job.job_queue_id !== null) for (const ms of UNLOCKED_AFTER_MS) setTimeout(lookAgain, ms, worker).unref()
  })
  events.on('worker:getJob:error', endLook)
  events.on('worker:getJob:empty', ({ worker }) => {
    if (shares.findNone()) lookAgain(worker)
    else if (shares.isFull() && !released.has(worker)) leftOut.add(worker)
    endLook()
  })
  events.on('job:start', ({ worker, job }) => {
    leftOut.delete(worker)
    shares.start(ownerOf(job))
    endLook()
  })

  return {
    /** Before each look. */
    async forbiddenFlags() {
      await waitForTurn()
      return shares.forbidden()
    },
    /** When the handler of a job has ended. The slot looks for another job by itself. */
    end(job: Pick<Job, 'flags'>) {
      shares.end(ownerOf(job))
      const [worker] = leftOut
      if (!worker) return
      leftOut.delete(worker)
      lookAgain(worker)
    },
  }
}
