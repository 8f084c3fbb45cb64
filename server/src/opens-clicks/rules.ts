/** Who made a hit, and for a machine how we know. Unknown counts as a person: better one too many than a reader overlooked. */
export type Classification = { by: 'human' | 'unknown' } | { by: 'machine'; reason: string }

/** Sooner than this after it left, nobody has read a mail. */
export const TOO_SOON_MS = 3_000

/** Different links of one mail within so short a time: from one network two, from anywhere three. */
export const BURST = { withinMs: 1_000, ofOneNetwork: 2, ofAny: 3 }

/** Who followed the hidden link, or links in a burst: whatever comes from its network so long before and after is not a person. */
export const SUSPECT_MS = 60_000

/** The same once more, from the same client, counts once: images are loaded again and again, and buttons clicked twice. */
export const REPEAT_MS = { open: 60_000, click: 1_000, trap: 60_000 }

/** Software by what it calls itself. The first that matches decides. */
const MACHINES: [reason: string, agent: RegExp][] = [
  ['no user agent', /^\s*$/],
  // Apple's proxy loads every image, whether the mail is read or not, and says no more than this.
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
  // Not the telephones of that name.
  ['crawler', /(?<!cu)bot\b|crawl|spider|scanner|link ?check|monitoring|uptime|prefetch|preview/i],
]

/** Browsers and mail programs; and the image proxy of Gmail, which loads an image when a person opens the mail. */
const HUMANS =
  /GoogleImageProxy|^Mozilla\/\d.*(?:AppleWebKit|Gecko|Trident|MSIE|ms-office|Thunderbird|Outlook)|^(?:Opera|Outlook|Microsoft Office|Thunderbird|Mail\/|Airmail|Spark|eM Client)/i

/** Longer ones are cut: nobody needs so many words to say what it is. */
const MAX_AGENT = 500

export function judgeAgent(given: string | undefined): Classification {
  const agent = (given ?? '').slice(0, MAX_AGENT)
  const machine = MACHINES.find(([, pattern]) => pattern.test(agent))
  if (machine) return { by: 'machine', reason: machine[0] }
  return { by: HUMANS.test(agent) ? 'human' : 'unknown' }
}

/** Headers of what a browser loads before anybody has asked for it. */
const AHEAD_OF_TIME = ['purpose', 'sec-purpose', 'x-purpose', 'x-moz']

type Request = { method: string; headers: Record<string, string | string[] | undefined> }

/** What a request says of who made it. */
export function judgeRequest({ method, headers }: Request): Classification {
  if (method === 'HEAD') return { by: 'machine', reason: 'HEAD request' }
  if (AHEAD_OF_TIME.some((name) => /prefetch|prerender|preview/i.test(String(headers[name] ?? ''))))
    return { by: 'machine', reason: 'prefetch' }
  return judgeAgent(String(headers['user-agent'] ?? ''))
}
