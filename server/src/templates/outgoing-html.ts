import { createCache } from '../lib/collections/cache.ts'
import { withoutOtherAddresses } from '../lib/text/address.ts'
import { escapeHtml } from '../lib/text/html.ts'
import { MB } from '../lib/text/units.ts'
import { fillingOf, hasFixedStructure, hasMark, joinSlots, markOf, markSlots, type SlottedHtml } from '../mime/compiled/slotted-html.ts'
import { footerHtml, tokensOf, withFooter } from '../preferences/footer.ts'
import { type Language, languageFor } from '../preferences/texts.ts'
import { findBodyStart, readVisible } from '../preferences/visible.ts'
import type { Recipient } from './language/variables.ts'
import type { RenderedEmail } from './rendering/rendered-email.ts'
import type { TYPES } from './template.ts'

type From = { fromAddress: string; fromName: string | null; projectName: string }

/**
 * The display name an email is sent with: its own, else the project's. Other addresses are removed from it, so that it cannot pass for another
 * sender: a project may be named after an address, and a template may be older than the check of its name.
 */
export const resolveFromName = ({ fromAddress, fromName, projectName }: From) =>
  (fromName && withoutOtherAddresses(fromName, fromAddress)) ||
  withoutOtherAddresses(projectName, fromAddress) ||
  fromAddress.slice(fromAddress.lastIndexOf('@') + 1)

type Email = { type: (typeof TYPES)[number]; fromName: string; projectLanguage: string }
type Body = Pick<RenderedEmail, 'html' | 'previewText' | 'slots'>

/** The texts of an email that are the same for many recipients, with a number that identifies them in this process. */
export type Skeleton = { id: number; texts: string[] }
/** HTML of which only the values differ between recipients. Its skeleton needs to be parsed only once. */
export type FilledSkeleton = { skeleton: Skeleton; values: string[]; length: number }

/**
 * The rendered HTML with its preview text, and with a footer if the email needs one. Delivery and previews share it, so that a preview shows
 * what is sent. Filled into a skeleton where no value can change the structure of the HTML, else as a string.
 */
export function outgoingHtml(email: Email, recipient: Recipient, body: Body): string | FilledSkeleton {
  const language = languageFor(recipient.locale ?? recipient.data.locale, email.projectLanguage)
  return fillSkeleton(email, recipient, body, language) ?? outgoingString(email, recipient, body, language)
}

/** The same HTML in any case as a string. */
export function outgoingHtmlString(email: Email, recipient: Recipient, body: Body) {
  const html = outgoingHtml(email, recipient, body)
  return typeof html === 'string' ? html : joinSlots({ texts: html.skeleton.texts, values: html.values })
}

const outgoingString = ({ type, fromName }: Email, links: Recipient, { html, previewText }: Body, language: Language) =>
  withFooter({ type, html: withPreviewText(html, previewText), links, language, sender: fromName })

function withPreviewText(html: string, text: string) {
  if (!text) return html
  const start = findBodyStart(html)
  return html.slice(0, start) + previewTextHtml(escapeHtml(text)) + html.slice(start)
}

/** Inboxes show the first text of an email; the email itself does not show it. `text` is escaped for HTML. */
const previewTextHtml = (text: string) =>
  `<div style="display:none;font-size:1px;line-height:1px;max-height:0;max-width:0;opacity:0;overflow:hidden;mso-hide:all">${text}</div>\n`

// Skeletons ------------------------------------------------------------------------------------------------------------

/** `order`: for each slot of the skeleton the index of its value, among those of the body, then the preview text and the footer's link. */
type OrderedSkeleton = Skeleton & { order: number[]; length: number }
type Footer = { language: Language; sender: string }
type Additions = { hasPreviewText: boolean; footer: Footer | undefined }

const MAX_KEPT = 16 * MB
const MAX_SKELETONS = 1_000
const BYTES_PER_SLOT = 100
const skeletons = createCache<string, OrderedSkeleton | null>({ maxEntries: MAX_SKELETONS, maxWeight: MAX_KEPT })
let lastId = 0

/** Bodies in use, by their texts: the fast path of a body has the same array for all recipients. */
const bodies = new WeakMap<string[], { id: number; visibleSlots: Map<number, boolean> }>()

function bodyOf(texts: string[]) {
  const body = bodies.get(texts) ?? { id: ++lastId, visibleSlots: new Map() }
  bodies.set(texts, body)
  return body
}

function fillSkeleton({ type, fromName }: Email, links: Recipient, body: Body, language: Language): FilledSkeleton | undefined {
  const { slots, html, previewText } = body
  if (!slots) return undefined
  const hasPreviewText = previewText !== ''
  const plain = skeletonOf(slots.texts, { hasPreviewText, footer: undefined })
  if (!plain) return undefined
  const needsFooter = type === 'MARKETING' && !showsLink(slots, html, links)
  const skeleton = needsFooter ? skeletonOf(slots.texts, { hasPreviewText, footer: { language, sender: fromName } }) : plain
  if (!skeleton) return undefined
  const given = [...slots.values, escapeHtml(previewText), needsFooter ? escapeHtml(links.unsubscribeUrl) : '']
  const values = skeleton.order.map((index) => given[index]!)
  return { skeleton, values, length: skeleton.length + values.reduce((sum, value) => sum + value.length, 0) }
}

/** Whether a link to unsubscribe is visible. The HTML has a fixed structure, so that a slot is visible for all values or for none. */
function showsLink(slots: SlottedHtml, html: string, links: Recipient) {
  // Not searched for in `html`: joining its parts for that would take more memory than everything else of an email.
  const tokens = tokensOf(links).filter((token) => [slots.values, slots.texts].some((all) => all.some((text) => text.includes(token))))
  if (!tokens.length) return false
  const holdsToken = (value: string) => tokens.some((token) => value.includes(token))
  if (slots.values.some((value, slot) => holdsToken(value) && isVisibleSlot(slots.texts, slot))) return true
  return readVisible(html, tokens).holdsToken
}

/** True when a value in this slot is visible, whatever the other values are. */
function isVisibleSlot(texts: string[], slot: number) {
  const { visibleSlots } = bodyOf(texts)
  const known = visibleSlots.get(slot)
  if (known !== undefined) return known
  const mark = markOf(slot)
  const values = texts.slice(1).map((_, index) => (index === slot ? mark : ''))
  const isVisible = readVisible(joinSlots({ texts, values }), [mark]).holdsToken
  visibleSlots.set(slot, isVisible)
  return isVisible
}

function skeletonOf(texts: string[], additions: Additions): OrderedSkeleton | undefined {
  const { hasPreviewText, footer } = additions
  const key = `${bodyOf(texts).id} ${hasPreviewText} ${footer?.language ?? ''} ${footer?.sender ?? ''}`
  const known = skeletons.get(key)
  if (known !== undefined) return known ?? undefined
  const built = buildSkeleton(texts, additions)
  skeletons.set(key, built ?? null, 2 * lengthOf(texts) + BYTES_PER_SLOT * texts.length)
  return built
}

/** Undefined when a value could change the structure of the HTML. */
function buildSkeleton(texts: string[], { hasPreviewText, footer }: Additions): OrderedSkeleton | undefined {
  if (!hasFixedStructure(texts) || (footer && hasMark(footer.sender))) return undefined
  const slots = texts.length - 1
  const [forPreviewText, forFooter] = [markOf(slots), markOf(slots + 1)]
  let html = markSlots(texts)
  if (hasPreviewText) html = withPreviewText(html, forPreviewText)
  if (footer) {
    const { end } = readVisible(html, [])
    html = html.slice(0, end) + footerHtml(forFooter, footer.language, footer.sender) + html.slice(end)
  }
  const { texts: all, slots: order } = fillingOf(html)
  return { id: ++lastId, texts: all, order, length: lengthOf(all) }
}

const lengthOf = (texts: string[]) => texts.reduce((sum, text) => sum + text.length, 0)
