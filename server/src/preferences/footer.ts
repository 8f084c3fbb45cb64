import { escapeHtml } from '../lib/text/html.ts'
import { linksInUse, type PreferenceLinks } from './link.ts'
import { type Language, textsIn } from './texts.ts'
import { readVisible } from './visible.ts'

type FooterInput = {
  type: 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
  html: string
  links: PreferenceLinks
  language: Language
  sender: string
}

/** Every marketing email has a visible unsubscribe link: the author's own, or else one in a footer. */
export function withFooter({ type, html, links, language, sender }: FooterInput) {
  if (type !== 'MARKETING') return html
  const { holdsToken, end } = readVisible(html, tokensOf(links))
  return holdsToken ? html : html.slice(0, end) + footerHtml(escapeHtml(links.unsubscribeUrl), language, sender) + html.slice(end)
}

/** Texts that identify the links of a recipient by which they can unsubscribe, as far as the email may contain them. */
export function tokensOf(links: PreferenceLinks) {
  const { unsubscribeUrl, manageUrl } = linksInUse(links)
  return [unsubscribeUrl, manageUrl].flatMap((url) => (url === undefined ? [] : tokenOf(url)))
}

/** The token is searched for instead of the URL, which may be encoded as a parameter of another URL. */
const tokenOf = (url: string) => url.slice(url.lastIndexOf('/') + 1)

/** `url` is escaped for HTML. */
export function footerHtml(url: string, language: Language, sender: string) {
  const { footer, unsubscribe } = textsIn(language)
  const text = escapeHtml(footer.replace('{sender}', () => sender))
  return `<div lang="${language}" style="margin:32px 0 0;padding:16px;text-align:center;font:13px/1.6 Arial,Helvetica,sans-serif;color:#595959">
${text}<br><a href="${url}" style="color:#595959;text-decoration:underline">${escapeHtml(unsubscribe)}</a></div>
`
}

/** Headers for the unsubscribe button of email clients (RFC 8058). An author who sets one of the two must set both. */
export function unsubscribeHeaders(
  type: FooterInput['type'],
  { unsubscribeUrl }: PreferenceLinks,
  own: Record<string, string>,
): Record<string, string> {
  const names = Object.keys(own).map((name) => name.toLowerCase())
  if (type === 'TRANSACTIONAL' || names.some((name) => name === 'list-unsubscribe' || name === 'list-unsubscribe-post')) return {}
  return { 'List-Unsubscribe': `<${unsubscribeUrl}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
}
