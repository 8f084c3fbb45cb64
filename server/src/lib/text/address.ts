import { domainToASCII } from 'node:url'
import type { Steps } from './steps.ts'

const LOCAL = /^[\w!#$%&'*+/=?^`{|}~\-\u{a1}-\u{10ffff}]+(\.[\w!#$%&'*+/=?^`{|}~\-\u{a1}-\u{10ffff}]+)*$/u
const INVISIBLE = /[\p{C}\p{Z}]/u
const PLAIN = /^(?!.*xn--)[a-z0-9.-]+$/
const LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/

/**
 * The one spelling under which an address is stored and looked up, or null when it is not a plain `local@domain`:
 * no display names, comments, quotes, groups or address literals. Lower-case, the domain in ASCII (IDNA). Only lower-cased:
 * folding as for comparisons would merge addresses that belong to different people (`ı` and `i`, `ſ` and `s`).
 */
export function readAddress(text: string): string | null {
  const trimmed = text.trim().normalize('NFC')
  const at = trimmed.lastIndexOf('@')
  const local = trimmed.slice(0, at).toLowerCase()
  if (at < 1 || local.length > 64 || !LOCAL.test(local) || INVISIBLE.test(local)) return null

  const domain = readDomain(trimmed.slice(at + 1))
  const address = domain && `${local}@${domain}`
  return address && Buffer.byteLength(address) <= 254 ? address : null
}

/** Lower-case ASCII form of a host name with at least two labels, or null. */
export function readDomain(text: string): string | null {
  // Refused before IDNA, which would interpret `a@x..y`, ports or percent signs.
  if (text.length > 253 || /[\s%:/?#[\]@\\]/.test(text)) return null
  // Most domains are plain ASCII and need no conversion.
  const domain = PLAIN.test(text) ? text : domainToASCII(text)
  const labels = domain.split('.')
  if (labels.length < 2 || domain.length > 253 || !labels.every((label) => LABEL.test(label))) return null
  return /^\d+$/.test(labels.at(-1)!) ? null : domain
}

/** Characters that end a local part or a domain. */
const isEdge = (character: string) => /[\s@<>"'(),;:]/.test(character)
const isBlank = (character: string | undefined) => character !== undefined && /\s/.test(character)
/** A domain behind blanks: `Ada @ work` and `open @ 10.30` read as words, `ceo @ bank.com` as an address. */
const DOMAIN_NAME = /\.\p{L}[\p{L}\p{N}-]+\.?$/u
/** Dots of other scripts, which browsers and mail programs read as the one of a domain. NFKC makes the full-width dot an ordinary one. */
const OTHER_DOTS = /[\u3002\uff61]/g
/** Longest display name that is searched. */
const MAX_DISPLAY_NAME = 4_000

/** NFKC: full-width forms of `@` and of letters look like the plain ones. */
const asSeen = (name: string) => name.slice(0, MAX_DISPLAY_NAME).replace(OTHER_DOTS, '.').normalize('NFKC').replace(OTHER_DOTS, '.')

type Range = { start: number; end: number }

/** Where a text reads as an address, also with blanks around its `@`. Every character belongs to the surroundings of two `@` at most. */
export function addressesIn(text: string, steps: Steps = { count: 0 }): Range[] {
  const found: Range[] = []
  const skip = (from: number, by: 1 | -1, isPassed: (character: string) => boolean) => {
    let at = from
    while (at >= 0 && at < text.length && isPassed(text[at]!)) {
      steps.count++
      at += by
    }
    return at
  }
  const isInside = (character: string) => !isEdge(character)
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    const localEnd = skip(at - 1, -1, isBlank)
    const start = skip(localEnd, -1, isInside) + 1
    const domainStart = skip(at + 1, 1, isBlank)
    const end = skip(domainStart, 1, isInside)
    const domain = text.slice(domainStart, end)
    const dot = domain.indexOf('.', 1)
    const isTight = localEnd === at - 1 && domainStart === at + 1
    const isDomain = isTight ? dot > 0 && dot < domain.length - 1 : DOMAIN_NAME.test(domain)
    if (start <= localEnd && isDomain) found.push({ start: Math.max(start, found.at(-1)?.end ?? 0), end })
  }
  return found
}

/** Characters that change the direction of the text around them: `moc.knab@oec` is then shown as `ceo@bank.com`. */
const DIRECTIONS = /\p{Bidi_Control}/gu

/** Whether the name contains an address other than the sender's own. */
function hasOtherAddress(name: string, own: string | null | undefined) {
  const seen = asSeen(name)
  return addressesIn(seen).some(({ start, end }) => seen.slice(start, end).replace(/\s/g, '').toLowerCase() !== own)
}

/**
 * Why a display name may not be used: it shows an address other than the sender's own, or turns the direction of text. Undefined when it may.
 * Most mail clients show only the name, so it would deceive the recipient.
 */
export function senderNameProblem(name: string | null | undefined, own: string | null | undefined): 'address' | 'direction' | undefined {
  if (!name) return undefined
  if (/\p{Bidi_Control}/u.test(name)) return 'direction'
  return hasOtherAddress(name, own) ? 'address' : undefined
}

/**
 * Removes what may not be in a display name: addresses other than `own`, and characters that change the direction of text. The result may be
 * empty. Other names are unchanged.
 */
export function withoutOtherAddresses(name: string, own: string) {
  const plain = name.replace(DIRECTIONS, '')
  if (!hasOtherAddress(plain, own)) return plain
  const seen = asSeen(plain)
  let kept = ''
  let from = 0
  for (const { start, end } of addressesIn(seen)) {
    kept += `${seen.slice(from, start)} `
    from = end
  }
  return (kept + seen.slice(from)).replace(/["'<>()@\s]+/g, ' ').trim()
}
