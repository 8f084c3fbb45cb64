import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
type WithAxe = { axe: { run: (context: Document, options: RunOptions) => Promise<AxeResults> } }

/**
 * Violations of any rule of axe. Evaluated by the browser's protocol, which no CSP restricts. Frames hold emails, which have no scripts:
 * axe would only wait for them. Style sheets and media are not loaded once more, for a rule about sound.
 */
async function axeViolations(page: Page) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE)
  const { violations } = await page.evaluate(() =>
    (window as unknown as WithAxe).axe.run(document, {
      iframes: false,
      preload: false,
      resultTypes: ['violations'],
      // Off by default: 24 px, or room around it.
      rules: { 'target-size': { enabled: true } },
    }),
  )
  return violations.map(({ id, nodes }) => `${id}, ${nodes.length} times: ${nodes[0]!.html.slice(0, 160)} ${nodes[0]!.failureSummary}`)
}

/** Rows of one list on a page: more make it slow. */
const MAX_ROWS = 200
/** Below this width a title is wrapped, not cut. */
const PHONE_UP_TO = 640

/**
 * Problems of the page on screen: accessibility problems, a content wider than the screen, a cut title, a list too long, a
 * frame that may run scripts or reach the dashboard, a text of a tenant that was read as HTML.
 */
export async function findPageProblems(page: Page, name: string): Promise<string[]> {
  const violations = await axeViolations(page)
  const { width, screen, isTitleCut, rows, openFrames, injected } = await page.evaluate(() => {
    const title = document.querySelector('h1')
    return {
      width: document.documentElement.scrollWidth,
      screen: window.innerWidth,
      isTitleCut: title !== null && title.scrollWidth > title.clientWidth,
      // New tabs, which the clicks on an email open, are all that a frame may be allowed: neither scripts nor our origin.
      openFrames: [...document.querySelectorAll('iframe')].filter(
        (frame) => !/^(allow-popups allow-popups-to-escape-sandbox)?$/.test(frame.getAttribute('sandbox') ?? 'none'),
      ).length,
      injected: document.querySelectorAll('[onerror]').length,
      rows: Math.max(0, ...[...document.querySelectorAll('ul, ol, dl, tbody')].map((list) => list.children.length)),
    }
  })
  const found = [
    ...violations,
    ...(width > screen ? [`${width} px wide on a screen of ${screen} px`] : []),
    ...(isTitleCut && screen < PHONE_UP_TO ? ['the title is cut'] : []),
    ...(injected > 0 ? ['a text was read as HTML'] : []),
    ...(openFrames > 0 ? ['a frame without a sandbox'] : []),
    ...(rows > MAX_ROWS ? [`a list of ${rows} rows`] : []),
  ]
  return found.map((problem) => `${name}: ${problem}`)
}

/** The paths of this site that the page on screen links to. */
export const linksOf = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLAnchorElement>('a[href]')]
      .filter(({ origin, pathname, hash }) => origin === location.origin && !(hash && pathname === location.pathname))
      .map(({ pathname, search }) => pathname + search),
  )
