import { createHash } from 'node:crypto'
import { escapeHtml } from '../lib/text/html.ts'
import type { Subscriber } from './subscriber.ts'
import { type Language, textsIn } from './texts.ts'

const STYLE = `:root{color-scheme:light dark;--back:#f2f5f7;--card:#fff;--ink:#14202a;--soft:#4d5c68;--line:#7b8a96;--accent:#0b6e86;--on-accent:#fff;--good:#e3f2f5}
@media (prefers-color-scheme:dark){:root{--back:#0f161c;--card:#18222b;--ink:#e6edf2;--soft:#a9b8c4;--line:#7d8d99;--accent:#5cc5dd;--on-accent:#0b1a20;--good:#173640}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100svh;display:grid;place-items:center;padding:1rem;background:var(--back);color:var(--ink);font:1.0625rem/1.6 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{width:100%;max-width:30rem;padding:2rem 1.5rem;background:var(--card);border-radius:.75rem;box-shadow:0 1px 3px #0003}
@media (min-width:32rem){main{padding:2.5rem}}
.sender{margin:0 0 1.5rem;color:var(--soft);font-weight:600;overflow-wrap:anywhere}
h1{margin:0 0 .75rem;font-size:1.5rem;line-height:1.3;text-wrap:balance;overflow-wrap:anywhere}
p{margin:0 0 1rem;overflow-wrap:anywhere}
p:last-child{margin-bottom:0}
bdi{font-weight:600}
.soft{color:var(--soft);font-size:.9375rem}
.saved{padding:.75rem 1rem;border-radius:.5rem;background:var(--good)}
fieldset{margin:0 0 1.5rem;padding:0;border:0}
legend{padding:0;margin:0 0 .75rem;overflow-wrap:anywhere}
label{display:flex;gap:.75rem;align-items:center;padding:.75rem 1rem;border:1px solid var(--line);border-radius:.5rem;cursor:pointer}
label+label{margin-top:.5rem}
input{flex:none;width:1.25rem;height:1.25rem;margin:0;accent-color:var(--accent)}
form{margin:1.5rem 0}
form:last-child{margin-bottom:0}
button{width:100%;min-height:3rem;padding:.625rem 1.5rem;border:0;border-radius:.5rem;background:var(--accent);color:var(--on-accent);font:inherit;font-weight:600;cursor:pointer}
a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:3px}
label:focus-within{outline:3px solid var(--accent);outline-offset:2px}
label :focus-visible{outline:0}
@media (forced-colors:active){button{border:1px solid}}`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** The page loads nothing, runs no scripts and posts only to itself. It must not be cached, indexed or framed. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex, nofollow',
}

/** The empty icon keeps browsers from requesting one. */
const pageHtml = ({ language, sender }: { language: Language; sender?: string }, title: string, content: string) => `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
${sender === undefined ? '' : `<p class="sender"><bdi>${escapeHtml(sender)}</bdi></p>\n`}<h1>${escapeHtml(title)}</h1>
${content}
</main>
</body>
</html>
`

const fillText = (text: string, { email, sender }: Subscriber) =>
  text.replace(/\{(sender|address)\}/g, (_, name) => `<bdi>${escapeHtml(name === 'sender' ? sender : maskAddress(email))}</bdi>`)

/** Recognisable for the owner of the address. Others with the link learn little, not even its length. */
export function maskAddress(address: string) {
  const [local = '', domain = ''] = address.split('@')
  const end = domain.slice(domain.lastIndexOf('.'))
  return `${firstCharacter(local)}•••@${firstCharacter(domain)}•••${end}`
}

/** A whole character, which may be a surrogate pair. */
const firstCharacter = (text: string) => [...text][0] ?? ''

/** Shows the current state, or a button to change it. `back` is the relative URL of the page for the opposite choice. */
export function subscriptionPage(subscriber: Subscriber, wanted: boolean, back: string) {
  const texts = textsIn(subscriber.language)
  const done = subscriber.subscribed === wanted
  const title = wanted ? (done ? texts.subscribed : texts.subscribeAsk) : done ? texts.unsubscribed : texts.unsubscribeAsk
  const text = wanted ? (done ? texts.subscribedText : texts.subscribeText) : done ? texts.unsubscribedText : texts.unsubscribeText
  const [ask, opposite] = wanted ? [texts.subscribe, texts.unsubscribe] : [texts.unsubscribe, texts.subscribe]
  const question = wanted ? '' : `${escapeHtml(texts.mistake)} `
  const next = done
    ? `<p>${question}<a href="${escapeHtml(back)}">${escapeHtml(opposite)}</a></p>`
    : `<form method="post"><button type="submit">${escapeHtml(ask)}</button></form>`
  return pageHtml(subscriber, title, `<p>${fillText(text, subscriber)}</p>\n${wanted ? '' : stillSentNote(subscriber)}${next}`)
}

const stillSentNote = ({ language }: Subscriber) => `<p class="soft">${escapeHtml(textsIn(language).stillSent)}</p>\n`

export function preferencesPage(subscriber: Subscriber, { saved }: { saved: boolean }) {
  const texts = textsIn(subscriber.language)
  const option = (value: boolean, label: string) =>
    `<label><input type="radio" name="subscribed" value="${value}"${subscriber.subscribed === value ? ' checked' : ''}> ${escapeHtml(label)}</label>`
  const note = saved ? `<p class="saved" role="status">${escapeHtml(texts.saved)}</p>\n` : ''
  return pageHtml(
    subscriber,
    texts.manage,
    `${note}<form method="post">
<fieldset>
<legend>${fillText(texts.manageText, subscriber)}</legend>
${option(true, texts.wanted)}
${option(false, texts.unwanted)}
</fieldset>
<button type="submit">${escapeHtml(texts.save)}</button>
</form>
${stillSentNote(subscriber)}`,
  )
}

export function failurePage(language: Language, statusCode: number) {
  const { notFound, notFoundText, failed, failedText } = textsIn(language)
  const [title, text] = statusCode === 404 ? [notFound, notFoundText] : [failed, failedText]
  return pageHtml({ language }, title, `<p>${escapeHtml(text)}</p>`)
}
