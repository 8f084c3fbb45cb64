import { MINUTE } from '../lib/text/units.ts'

/** The kind of reader that opened or clicked, and for a machine the reason. Unknown counts as a person: overcounting is better than missing a reader. */
export type Classification = { by: 'human' | 'unknown' } | { by: 'machine'; reason: string }

/** Time after sending in which no person can have read an email. */
export const TOO_SOON_MS = 3_000

/** Number of different links of one email within this time that shows a machine: from one network, and from any. */
export const BURST = { withinMs: 1_000, fromOneNetwork: 2, fromAny: 3 }

/** Time before and after a burst or a request for the hidden link in which everything from that network counts as a machine. */
export const SUSPECT_MS = MINUTE

/** Time in which the same open or click from the same client counts once: images are reloaded, and buttons double-clicked. */
export const REPEAT_MS = { open: MINUTE, click: 1_000, trap: MINUTE }

/** Machines by user agent. The first match decides. */
const MACHINES: [reason: string, agent: RegExp][] = [
  ['no user agent', /^\s*$/],
  // Apple's proxy loads every image, whether the email is read or not. This is its whole user agent.
  ['Apple Mail Privacy Protection', /^Mozilla\/5\.0$/],
  ['Yahoo image proxy', /YahooMailProxy|YahooCacheSystem/i],
  ['Microsoft link check', /SkypeUriPreview|BingPreview|SafeLinks|Microsoft Office Existence Discovery|MicrosoftPreview|OneOutlook/i],
  ['Barracuda', /Barracuda/i],
  ['Proofpoint', /Proofpoint|urldefense/i],
  ['Mimecast', /Mimecast/i],
  [
    'security scanner',
    /Symantec|MessageLabs|Cloudmark|Trend ?Micro|Sophos|FireEye|Trellix|Zscaler|Forti(?:Guard|Mail|net)|Forcepoint|IronPort|Bitdefender|Kaspersky|VirusTotal|urlscan|Vade ?Secure|Hornetsecurity|Avanan|Check ?Point/i,
  ],
  [
    'link preview',
    /Slackbot|Slack-ImgProxy|facebookexternalhit|WhatsApp\/|Discordbot|TelegramBot|LinkedInBot|Twitterbot|Iframely|Embedly/i,
  ],
  ['headless browser', /HeadlessChrome|PhantomJS|Puppeteer|Playwright|Selenium|SlimerJS|Electron-?headless/i],
  [
    'program',
    /^(?:curl|wget|python|aiohttp|httpx|Go-http-client|Java|Apache-HttpClient|libwww-perl|lwp-|node|undici|axios|got\b|Ruby|Faraday|PHP|GuzzleHttp|PostmanRuntime|insomnia|HTTPie|Scrapy|Dalvik\/[\d.]+$)/i,
  ],
  // Except CUBOT phones.
  ['crawler', /(?<!cu)bot\b|crawl|spider|scanner|link ?check|monitoring|uptime|prefetch|preview/i],
]

/** Browsers and email clients, and the image proxy of Gmail, which loads an image when a person opens the email. */
const HUMANS =
  /GoogleImageProxy|^Mozilla\/\d.*(?:AppleWebKit|Gecko|Trident|MSIE|ms-office|Thunderbird|Outlook)|^(?:Opera|Outlook|Microsoft Office|Thunderbird|Mail\/|Airmail|Spark|eM Client)/i

/** Longer user agents are cut, to bound the time of matching. */
const MAX_AGENT = 500

export function classifyAgent(given: string | undefined): Classification {
  const agent = (given ?? '').slice(0, MAX_AGENT)
  const machine = MACHINES.find(([, pattern]) => pattern.test(agent))
  if (machine) return { by: 'machine', reason: machine[0] }
  return { by: HUMANS.test(agent) ? 'human' : 'unknown' }
}

/** Headers by which browsers mark a prefetch. */
const PREFETCH_HEADERS = ['purpose', 'sec-purpose', 'x-purpose', 'x-moz']

type Request = { method: string; headers: Record<string, string | string[] | undefined> }

/** From a single request; `judge.ts` adds what several requests show together. */
export function classifyRequest({ method, headers }: Request): Classification {
  if (method === 'HEAD') return { by: 'machine', reason: 'HEAD request' }
  if (PREFETCH_HEADERS.some((name) => /prefetch|prerender|preview/i.test(String(headers[name] ?? ''))))
    return { by: 'machine', reason: 'prefetch' }
  return classifyAgent(String(headers['user-agent'] ?? ''))
}
