import { domainToASCII } from 'node:url'

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

const IN_TEXT = /[^\s@<>"'(),;:]+@[^\s@<>"'(),;:]+\.[^\s@<>"'(),;:]+/g
/** Longest display name that is searched: the search takes time by its length. */
const MAX_DISPLAY_NAME = 255

/** NFKC: full-width forms of `@` and of letters look like the plain ones. */
const asSeen = (name: string) => name.slice(0, MAX_DISPLAY_NAME).normalize('NFKC')

/** Whether a display name contains an address other than the sender's own. Most mail clients show only the name, so it would deceive the recipient. */
export const showsOtherAddress = (name: string | null | undefined, own: string | null | undefined) =>
  (asSeen(name ?? '').match(IN_TEXT) ?? []).some((address) => address.toLowerCase() !== own)

/** Removes the addresses from a display name that contains another one than `own`; the result may be empty. Other names are unchanged. */
export const withoutOtherAddresses = (name: string, own: string) =>
  showsOtherAddress(name, own)
    ? asSeen(name)
        .replace(IN_TEXT, ' ')
        .replace(/["'<>()@\s]+/g, ' ')
        .trim()
    : name
