import { createCounts } from '../../../lib/fair/counts.ts'
import { fits } from '../../../lib/fair/share.ts'
import { PRIORITIES } from '../../outbox/streams/stream-of.ts'
import type { OwnerOf } from '../limits/capacity.ts'
import type { createSlots } from '../limits/slots.ts'
import type { createLingering, StreamEmail } from './lingering.ts'

/** Slots beyond the others, for owners that have no email on the wire and none that lingers. Bulk leaves one of them to transactional emails. */
const EXTRA_SLOTS = 2

type Deps = { slots: ReturnType<typeof createSlots>; lingering: ReturnType<typeof createLingering> }

/** The emails on the wire, and which may follow them: invariants 3 and 4 of the ledger. */
export function createWire<Email extends StreamEmail>(ownerOf: OwnerOf, { slots, lingering }: Deps) {
  const onWire = new Set<Email>()
  const projects = createCounts()
  const bulkProjects = createCounts()

  function add(email: Email) {
    if (onWire.has(email)) return
    onWire.add(email)
    count(email, 1)
  }

  /** False if it was not on the wire. */
  function remove(email: Email) {
    if (!onWire.delete(email)) return false
    count(email, -1)
    return true
  }

  function count({ projectId, priority }: Email, by: 1 | -1) {
    projects.change(projectId, by)
    if (priority === PRIORITIES.bulk) bulkProjects.change(projectId, by)
  }

  function hasSlot(priority: number, extra = 0) {
    const { all, bulk } = slots.count()
    if (priority !== PRIORITIES.bulk) return fits(projects, all + extra)
    const extraOfBulk = Math.min(extra, EXTRA_SLOTS - 1)
    return fits(projects, all + extraOfBulk) && fits(bulkProjects, bulk + extraOfBulk)
  }

  /** Whether an email may take a slot. `own`: the emails of its owner on the wire. */
  function maySend(email: Email, own: number) {
    if (lingering.isSilent(email)) return hasSlot(email.priority) && lingering.mayTryNow(email, onWire)
    const owner = ownerOf(email.projectId)
    const isNewcomer = own === 0 && lingering.countOf(owner) === 0
    return hasSlot(email.priority, isNewcomer ? EXTRA_SLOTS : 0) && own < lingering.slotsOf(owner, email.priority)
  }

  /** True for an email whose owner has no slots, because too many of its emails linger. */
  const hasNoSlots = ({ projectId, priority }: Email) => lingering.slotsOf(ownerOf(projectId), priority) === 0

  return {
    emails: onWire as ReadonlySet<Email>,
    /** The number of emails on the wire, by project. */
    projects: projects.counts,
    has: (email: Email) => onWire.has(email),
    maySend,
    hasNoSlots,
    /** False when not even an email of a new owner could leave. */
    mayHaveSlot: (priority: number) => hasSlot(priority, EXTRA_SLOTS),
    takeSlot: add,
    /** `hasReply`: the receiver replied, so that the stream of the email is not silent. */
    freeSlot(email: Email, hasReply = false) {
      const isOver = !remove(email) && !lingering.has(email)
      if (!isOver) lingering.remove(email, { onWire, hasReply })
    },
    linger(email: Email) {
      const lingers = lingering.add(email)
      if (lingers) remove(email)
      return lingers
    },
  }
}
