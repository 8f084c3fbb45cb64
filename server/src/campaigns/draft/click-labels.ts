import { escapeHtml } from '../../lib/text/html.ts'
import { type LinkLabel, labelLinks, trackedTargets } from '../../mime/html/label-links.ts'
import { createVariesCheck } from './content-links.ts'
import type { CampaignLinkJson } from './links.ts'

type Clicks = {
  links: CampaignLinkJson[]
  /** People that clicked any link. */
  clickedCount: number
  /** The content as it is written, with its variables. */
  body: string
  /** Links with one of these prefixes are not tracked. */
  untracked: string[]
  /** Path of the people that clicked a link. */
  peoplePath: (link: string) => string
}

/** The rendered email with a label at each tracked link: how many people clicked it, and their share. Also returns the number of links. */
export function drawClicks(html: string, { links, clickedCount, body, untracked, peoplePath }: Clicks) {
  const figures = new Map(links.map((each) => [each.link, each]))
  const places = countEach(trackedTargets(html, untracked))
  const varies = createVariesCheck(body)
  const labels = new Map(
    [...places].map(([link, count]) => {
      const figure = varies(link) ? undefined : figures.get(link)
      return [link, figure ? clickedLabel(figure, { clickedCount, places: count, path: peoplePath(link) }) : VARYING]
    }),
  )
  return { html: labelLinks(html, { untracked, labelFor: (target) => labels.get(target)! }), links: places.size }
}

function countEach(texts: string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return counts
}

/** White on these has a contrast of at least 5.8, and the white edge sets a label apart from a dark email. */
const COLOURS = { clicked: '#0b6e82', unclicked: '#50656f' }

/**
 * Out of the flow, so that the email keeps its layout: a little above the start of the link. Important, since styles of the email may have rules for
 * all elements. Hidden with its link. Stays inline: a block would begin at the edge of its paragraph.
 */
const STYLE = [
  ...['all:initial', 'visibility:inherit', 'position:absolute', 'transform:translate(-3px,-80%)'],
  ...['padding:0 5px', 'border-radius:8px', 'box-shadow:0 0 0 1px #fff', 'color:#fff', 'white-space:nowrap', 'direction:ltr'],
  ...['font:600 11px/16px system-ui,sans-serif', 'font-variant-numeric:tabular-nums', 'cursor:inherit'],
]

/** A label with a figure is above those without, where links are side by side. */
function labelHtml(text: string, kind: keyof typeof COLOURS) {
  const style = [...STYLE, `background:${COLOURS[kind]}`, `z-index:${kind === 'clicked' ? 2_147_483_647 : 2_147_483_646}`]
  return `<sterna-label style="${style.map((each) => `${each}!important`).join(';')}">${escapeHtml(text)}</sterna-label>`
}

/** Leads nowhere: there is no single list of people behind it. */
const VARYING: LinkLabel = {
  html: labelHtml('varies', 'unclicked'),
  attributes: { title: 'This link differs from person to person. The list of links has each of them that was clicked.' },
}

const count = (number: number) => new Intl.NumberFormat('en').format(number)
const countOf = (number: number, one: string, many: string) => `${count(number)} ${number === 1 ? one : many}`

/** In words as short as possible: labels of links side by side must not cover each other. */
const shortPercent = (share: number) => (share < 0.01 ? '<1%' : `${Math.round(share * 100)}%`)

type Place = { clickedCount: number; places: number; path: string }

function clickedLabel({ people, clicks }: CampaignLinkJson, { clickedCount, places, path }: Place): LinkLabel {
  // Counters may be behind the clicks by seconds.
  const share = people > 0 ? shortPercent(people / Math.max(people, clickedCount)) : undefined
  const title = [
    share
      ? `${countOf(people, 'person', 'people')} clicked this link, ${share} of all that clicked; ${countOf(clicks, 'click', 'clicks')}.`
      : 'No clicks of this link.',
    places > 1 ? `It is at ${places} places, which share this figure.` : '',
    people > 0 ? 'Opens these people in a new tab.' : '',
  ]
    .filter(Boolean)
    .join(' ')
  return {
    html: share ? labelHtml(`${count(people)} · ${share}`, 'clicked') : labelHtml('0', 'unclicked'),
    // A frame without an origin can open only new tabs.
    attributes: { href: path, target: '_blank', rel: 'noopener', title },
  }
}
