import { bounce, type EmailIds, eventOf } from '../test/support/ses-event.ts'
import { signed } from '../test/support/sns-server.ts'
import type { Random } from './random.ts'

type Chapter = [kind: string, more?: object]
/** What becomes of a mail, in the order in which it does. Those to one `address` are of one person. */
type Story = { address?: string; chapters: Chapter[] }

const hard: Chapter = ['Bounce', bounce('Permanent')]
const soft: Chapter = ['Bounce', bounce('Transient', 'smtp; 452 4.2.2 mailbox full')]
const delay = (delayType: string): Chapter => ['DeliveryDelay', { deliveryDelay: { delayType } }]

const STORIES: Story[] = [
  { chapters: [['Send'], ['Delivery']] },
  { chapters: [['Send'], ['Delivery'], ['Complaint', { complaint: {} }]] },
  { chapters: [['Send'], hard] },
  { chapters: [['Send'], delay('MailboxFull'), ['Delivery']] },
  { chapters: [['Send'], soft, ['Delivery']] },
  { chapters: [['Send'], ['Reject', { reject: { reason: 'Bad content' } }]] },
  { chapters: [['Send'], ['Delivery'], ['Open'], ['Click']] },
  { chapters: [['Send'], delay('MailboxFull'), delay('SpamDetected'), hard] },
  { chapters: [['Send'], ['Rendering Failure', { failure: { errorMessage: 'no such variable' } }]] },
  // Taken by the receiver, and sent back later.
  { chapters: [['Send'], ['Delivery'], hard] },
  // Away, and says so.
  { chapters: [['Send'], ['Delivery'], soft] },
  // Five in a row are too many, four are not.
  ...Array.from({ length: 5 }, () => ({ address: 'full', chapters: [['Send'], soft] satisfies Chapter[] })),
  ...Array.from({ length: 4 }, () => ({ address: 'busy', chapters: [['Send'], soft] satisfies Chapter[] })),
]
const LONGEST = Math.max(...STORIES.map(({ chapters }) => chapters.length))

const storyOf = (index: number) => STORIES[index % STORIES.length]!

/** To whom the mails of a project go, whose story each will have by its place in the list. */
export const addressesOf = (count: number) =>
  Array.from({ length: count }, (_, index) => {
    const { address } = storyOf(index)
    return address ? `${address}${Math.floor(index / STORIES.length)}@example.com` : `m${index}@example.com`
  })

export type Notification = ReturnType<typeof signed>

const MINUTE_MS = 60_000
const BEGAN_AT = Date.now() - 12 * 60 * MINUTE_MS

/** When it happened is what it says, not when it is heard. */
function tell(mail: EmailIds, index: number, chapter: number) {
  const [kind, more] = storyOf(index).chapters[chapter]!
  const timestamp = new Date(BEGAN_AT + chapter * MINUTE_MS).toISOString()
  const part = PARTS[kind]
  const said = part ? { [part]: { ...(more as Record<string, object> | undefined)?.[part], timestamp } } : more
  return signed({ Message: eventOf(mail, kind, said) })
}

/** What the part of an event is called that says when it happened. */
const PARTS: Record<string, string> = { Delivery: 'delivery', Bounce: 'bounce', Complaint: 'complaint', DeliveryDelay: 'deliveryDelay' }

/** What is told first of every mail, then what is told second, and so on. */
export const inOrder = (mails: EmailIds[]) =>
  Array.from({ length: LONGEST }, (_, chapter) =>
    mails.flatMap((mail, index) => (chapter < storyOf(index).chapters.length ? [tell(mail, index, chapter)] : [])),
  )

/** Something that was told before, under an id of its own. */
export function echoOf(mails: EmailIds[], random: Random) {
  const index = random.below(mails.length)
  return tell(mails[index]!, index, random.below(storyOf(index).chapters.length))
}

/** Of some, Amazon tells the same again under another id. */
const ECHO_SHARE = 0.2
/** Mostly once or a few times, and of some as often as was ever seen. */
const REPEATS = { few: 3, many: 46, manyShare: 0.05 }

/** The same, but each part told up to 46 times, in any order. */
export function inDisorder(mails: EmailIds[], random: Random) {
  const echoes = mails.flatMap((mail, index) =>
    random.chance(ECHO_SHARE) ? storyOf(index).chapters.map((_, chapter) => tell(mail, index, chapter)) : [],
  )
  const repeated = [...inOrder(mails).flat(), ...echoes].flatMap((told) =>
    Array<Notification>(1 + random.below(random.chance(REPEATS.manyShare) ? REPEATS.many : REPEATS.few)).fill(told),
  )
  return random.shuffle(repeated)
}
