import type { Page } from 'playwright-core'

const READER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36'

/** Follows the first link of a message in the sandbox that the pattern finds, as a person would with a browser of their own. */
async function follow(page: Page, messageId: string, headers: Record<string, string>, pattern: RegExp) {
  const { request } = page.context()
  const { source } = await (await request.get(`/sandbox/messages/${messageId}`, { headers })).json()
  const [link] = pattern.exec(unquote(source))!
  await request.get(new URL(link).pathname, { headers: { 'user-agent': READER }, maxRedirects: 0 })
}

export const clickInMessage = (page: Page, messageId: string, headers: Record<string, string>) =>
  follow(page, messageId, headers, /https?:[^\s"<>)]*\/t\/c\/[^\s"<>)]+/)

export const openMessage = (page: Page, messageId: string, headers: Record<string, string>) =>
  follow(page, messageId, headers, /https?:[^\s"'<>)]*\/t\/o\/[^\s"'<>)]+/)

/** Quoted-printable to text. */
const unquote = (source: string) =>
  source.replace(/=\r?\n/g, '').replace(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
