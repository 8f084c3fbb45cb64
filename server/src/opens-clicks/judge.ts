import { BURST, type Classification, REPEAT_MS, SUSPECT_MS, TOO_SOON_MS } from './rules.ts'

/** An interaction as it is remembered for the next ones. `at` in milliseconds; network and client only as hashes. */
export type RecentInteraction = {
  kind: 'open' | 'click' | 'trap'
  link: number
  at: number
  network: string
  client: string
  machine: boolean
}
/** An open, a click, or a request for the hidden link. */
export type Interaction = Omit<RecentInteraction, 'machine'> & { target: string; classification: Classification }
export type JudgedInteraction = Interaction & { isRepeat: boolean }

/** The final classification of interactions with one email, in order of time, given recent ones and the time at which the email left. */
export function judgeInteractions(
  interactions: Interaction[],
  { recent, leftAt }: { recent: RecentInteraction[]; leftAt: number },
): JudgedInteraction[] {
  const all = [...recent, ...interactions]
  const clicks = all.filter(({ kind }) => kind === 'click')
  const suspects = [
    ...all.filter(({ kind }) => kind === 'trap').map((trap) => ({ ...trap, reason: 'followed the hidden link' })),
    ...clicks.filter((click) => isInBurst(click, clicks)).map((click) => ({ ...click, reason: 'followed several links at once' })),
  ]
  const counted = [...recent]
  return interactions.map((interaction) => {
    const judged = { ...interaction, classification: classify(interaction, suspects, leftAt) }
    const remembered = toRecent(judged)
    const isRepeat = counted.some((earlier) => repeats(remembered, earlier))
    if (!isRepeat) counted.push(remembered)
    return { ...judged, isRepeat }
  })
}

export const toRecent = ({ kind, link, at, network, client, classification }: Interaction): RecentInteraction => ({
  kind,
  link,
  at,
  network,
  client,
  machine: classification.by === 'machine',
})

type Click = Pick<RecentInteraction, 'kind' | 'link' | 'at' | 'network'>
type Suspect = Click & { reason: string }

function classify({ at, network, classification }: Interaction, suspects: Suspect[], leftAt: number): Classification {
  if (classification.by === 'machine') return classification
  if (at - leftAt < TOO_SOON_MS) return { by: 'machine', reason: 'too soon after sending' }
  const suspect = suspects.find((each) => each.network === network && Math.abs(each.at - at) <= SUSPECT_MS)
  return suspect ? { by: 'machine', reason: suspect.reason } : classification
}

function isInBurst(click: Click, clicks: Click[]) {
  const near = clicks.filter(({ at }) => Math.abs(at - click.at) <= BURST.withinMs)
  const fromNetwork = near.filter(({ network }) => network === click.network)
  return countLinks(fromNetwork) >= BURST.fromOneNetwork || countLinks(near) >= BURST.fromAny
}

const countLinks = (clicks: Click[]) => new Set(clicks.map(({ link }) => link)).size

/** A machine never makes a person's open or click a repetition, nor the reverse. */
const repeats = (later: RecentInteraction, earlier: RecentInteraction) =>
  later.kind === earlier.kind &&
  later.link === earlier.link &&
  later.client === earlier.client &&
  later.machine === earlier.machine &&
  later.at - earlier.at < REPEAT_MS[later.kind]
