import type { Page } from 'playwright-core'

const READER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36'

/** Clicks the first link of a message in the sandbox, as a person would with a browser of their own. */
export async function clickInMessage(page: Page, messageId: string, headers: Record<string, string>) {
  const { request } = page.context()
  const { source } = await (await request.get(`/sandbox/messages/${messageId}`, { headers })).json()
  const link = /https?:[^\s"<>)]*\/t\/c\/[^\s"<>)]+/.exec(unquote(source))![0]
  await request.get(new URL(link).pathname, { headers: { 'user-agent': READER }, maxRedirects: 0 })
}

/** Quoted-printable to text. */
const unquote = (source: string) =>
  source.replace(/=\r?\n/g, '').replace(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
