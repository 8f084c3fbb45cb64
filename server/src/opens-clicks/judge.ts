import { BURST, type Classification, REPEAT_MS, SUSPECT_MS, TOO_SOON_MS } from './rules.ts'

/** What is remembered of a hit for a while. `at` in milliseconds; where it came from only as hashes. */
export type Seen = { kind: 'open' | 'click' | 'trap'; link: number; at: number; network: string; client: string; machine: boolean }
export type Hit = Omit<Seen, 'machine'> & { target: string; opinion: Classification }
export type Judged = Hit & { isRepeat: boolean }

/** The last word on hits of one mail, in the order of their times, given those shortly before and when the mail left. */
export function judgeHit(hits: Hit[], { recent, leftAt }: { recent: Seen[]; leftAt: number }): Judged[] {
  const clicks = [...recent, ...hits].filter(({ kind }) => kind === 'click')
  const suspects = [
    ...[...recent, ...hits].filter(({ kind }) => kind === 'trap').map((hit) => ({ ...hit, reason: 'followed the hidden link' })),
    ...clicks.filter((click) => isBurst(click, clicks)).map((hit) => ({ ...hit, reason: 'followed several links at once' })),
  ]
  const counted = [...recent]
  return hits.map((hit) => {
    const judged = { ...hit, opinion: opinionOf(hit, suspects, leftAt) }
    const seen = seenOf(judged)
    const isRepeat = counted.some((earlier) => repeats(seen, earlier))
    if (!isRepeat) counted.push(seen)
    return { ...judged, isRepeat }
  })
}

export const seenOf = ({ kind, link, at, network, client, opinion }: Hit): Seen => ({
  kind,
  link,
  at,
  network,
  client,
  machine: opinion.by === 'machine',
})

type Click = Pick<Seen, 'kind' | 'link' | 'at' | 'network'>
type Suspect = Click & { reason: string }

function opinionOf(hit: Hit, suspects: Suspect[], leftAt: number): Classification {
  if (hit.opinion.by === 'machine') return hit.opinion
  if (hit.at - leftAt < TOO_SOON_MS) return { by: 'machine', reason: 'too soon after sending' }
  const suspect = suspects.find(({ network, at }) => network === hit.network && Math.abs(at - hit.at) <= SUSPECT_MS)
  if (suspect) return { by: 'machine', reason: suspect.reason }
  return hit.opinion
}

function isBurst(click: Click, clicks: Click[]) {
  const near = clicks.filter(({ at }) => Math.abs(at - click.at) <= BURST.withinMs)
  const ofNetwork = near.filter(({ network }) => network === click.network)
  return linksIn(ofNetwork) >= BURST.ofOneNetwork || linksIn(near) >= BURST.ofAny
}

const linksIn = (clicks: Click[]) => new Set(clicks.map(({ link }) => link)).size

/** What was taken for a machine does not keep a person from counting. */
const repeats = (hit: Seen, earlier: Seen) =>
  hit.kind === earlier.kind &&
  hit.link === earlier.link &&
  hit.client === earlier.client &&
  hit.machine === earlier.machine &&
  hit.at - earlier.at < REPEAT_MS[hit.kind]
