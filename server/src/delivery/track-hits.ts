import type { Log } from '../lib/log.ts'
import type { Secrets } from '../lib/secrets.ts'
import type { Content } from './content.ts'
import { TRAP, tokensFor } from './hit-token.ts'
import type { Taken } from './outbox.ts'
import type { Anchor, Read } from './text.ts'

export type Tracking = 'ENABLED' | 'DISABLED' | 'MARKETING_ONLY'
type Tracked = { mail: Pick<Taken, 'projectId' | 'id'>; content: Pick<Content, 'type'>; tracking: Tracking }

/** The rest stays as it is: nobody follows so many. */
const MAX_LINKS = 1_000
/** In bytes. The address that leads there is longer by half, and from 2,000 on mail programs cut them. */
const MAX_TARGET = 1_400
/** Of whole web addresses only. With a control character in it no redirect could say it. */
const WEB = /^https?:\/\/[^\p{Cc}]+$/iu
const BLANKS = new Set('\t\n\f\r ')

/** Makes links lead past us, and adds an image that tells when it is shown. What cannot be done is left out: the mail goes anyway. */
export function createTracking({ secrets, publicUrl, log }: { secrets: Secrets; publicUrl: string; log: Log }) {
  // Whoever wants to leave should not have to pass.
  const own = ['unsubscribe', 'subscribe', 'manage'].map((page) => `${publicUrl}/${page}/`)
  const isTracked = (target: string) =>
    target.length <= MAX_TARGET &&
    WEB.test(target) &&
    Buffer.byteLength(target) <= MAX_TARGET &&
    !own.some((page) => target.startsWith(page))

  function rewrite({ projectId, id: emailId }: Tracked['mail'], html: string, { anchors, end }: Read) {
    const tokens = tokensFor(secrets, { projectId, emailId })
    const links = linksOf(anchors)
    let rewritten = ''
    let at = 0
    for (const [index, { start, end: after, target }] of links.entries()) {
      rewritten += `${html.slice(at, start)}href="${publicUrl}/t/c/${tokens.click(index + 1, target)}"`
      at = after
    }
    const trap = links.length ? hiddenLink(`${publicUrl}/t/c/${tokens.click(TRAP, '')}`) : ''
    return `${rewritten}${html.slice(at, end)}${trap}${pixel(`${publicUrl}/t/o/${tokens.open()}`)}${html.slice(end)}`
  }

  const linksOf = (anchors: Anchor[]) =>
    anchors
      .map((anchor) => ({ ...anchor, target: withoutBlanks(anchor.target) }))
      .filter(({ target }) => isTracked(target))
      .slice(0, MAX_LINKS)

  return ({ mail, content, tracking }: Tracked, html: string, read: Read) => {
    if (tracking === 'DISABLED' || (tracking === 'MARKETING_ONLY' && content.type === 'TRANSACTIONAL')) return html
    try {
      return rewrite(mail, html, read)
    } catch (err) {
      log.error({ err, emailId: mail.id, projectId: mail.projectId }, 'could not track the links of a mail')
      return html
    }
  }
}

/** Those around it are not part of an address. An expression would look at a long row of them again and again. */
function withoutBlanks(target: string) {
  let start = 0
  let end = target.length
  while (start < end && BLANKS.has(target[start]!)) start++
  while (end > start && BLANKS.has(target[end - 1]!)) end--
  return start === 0 && end === target.length ? target : target.slice(start, end)
}

const pixel = (url: string) => `<img src="${url}" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`

/** For those who follow everything: people neither see nor reach it. */
const hiddenLink = (url: string) => `<a href="${url}" style="display:none" aria-hidden="true" tabindex="-1" rel="nofollow"></a>`
