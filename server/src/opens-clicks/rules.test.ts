import { expect, test } from 'vitest'
import { classifyAgent, classifyRequest } from './rules.ts'

const CHROME = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

test.each<[agent: string | undefined, by: string]>([
  [undefined, 'no user agent'],
  ['', 'no user agent'],
  ['  ', 'no user agent'],
  ['Mozilla/5.0', 'Apple Mail Privacy Protection'],
  ['Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)', 'human'],
  ['GoogleImageProxy', 'human'],
  ['YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html', 'Yahoo image proxy'],
  ['Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5', 'Microsoft link check'],
  ['Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/534+ (KHTML, like Gecko) BingPreview/1.0b', 'Microsoft link check'],
  ['Microsoft Office Existence Discovery', 'Microsoft link check'],
  ['BarracudaCentral', 'Barracuda'],
  ['Mozilla/5.0 (compatible; Proofpoint URL Defense)', 'Proofpoint'],
  ['Mimecast-URL-Protect', 'Mimecast'],
  ['FortiGuard Web Filter', 'security scanner'],
  ['Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)', 'link preview'],
  ['facebookexternalhit/1.1', 'link preview'],
  ['WhatsApp/2.23.20.0', 'link preview'],
  [CHROME.replace('Chrome/', 'HeadlessChrome/'), 'headless browser'],
  ['curl/8.5.0', 'program'],
  ['Wget/1.21', 'program'],
  ['python-requests/2.32.0', 'program'],
  ['Python/3.12 aiohttp/3.9', 'program'],
  ['Go-http-client/2.0', 'program'],
  ['Java/17.0.1', 'program'],
  ['node', 'program'],
  ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', 'crawler'],
  ['AhrefsBot/7.0', 'crawler'],
  [CHROME, 'human'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'human'],
  ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)', 'human'],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148', 'human'],
  ['Mozilla/4.0 (compatible; ms-office; MSOffice 16)', 'human'],
  ['Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; Microsoft Outlook 16.0.5)', 'human'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.0', 'human'],
  ['Outlook-iOS/709.2189947.prod.iphone (3.24.0)', 'human'],
  ['Mozilla/5.0 (Linux; Android 13; CUBOT P80) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Mobile Safari/537.36', 'human'],
  ['okhttp/4.12.0', 'unknown'],
  ['SomethingNew/1.0', 'unknown'],
  [`${CHROME} ${'x'.repeat(10_000)} bot`, 'human'],
])('%j is classified as: %s', (agent, by) => {
  const classification = classifyAgent(agent)
  expect(classification.by === 'machine' ? classification.reason : classification.by).toBe(by)
})

test.each<[method: string, headers: Record<string, string>, by: string]>([
  ['GET', {}, 'human'],
  ['HEAD', {}, 'HEAD request'],
  ['GET', { purpose: 'prefetch' }, 'prefetch'],
  ['GET', { 'sec-purpose': 'prefetch;prerender' }, 'prefetch'],
  ['GET', { 'x-moz': 'prefetch' }, 'prefetch'],
  ['GET', { 'x-purpose': 'preview' }, 'prefetch'],
  ['GET', { purpose: 'reading' }, 'human'],
  ['GET', { 'user-agent': 'Mozilla/5.0 (via ggpht.com GoogleImageProxy)', purpose: 'prefetch' }, 'prefetch'],
])('a %s with %j is classified as: %s', (method, headers, by) => {
  const classification = classifyRequest({ method, headers: { 'user-agent': CHROME, ...headers } })
  expect(classification.by === 'machine' ? classification.reason : classification.by).toBe(by)
})
