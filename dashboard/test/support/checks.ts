import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
type WithAxe = { axe: { run: (context: Document, options: RunOptions) => Promise<AxeResults> } }

/**
 * Violations of the rules of axe that are serious or critical. Evaluated by the browser's protocol, which no CSP restricts. Frames hold
 * emails, which have no scripts: axe would only wait for them.
 */
async function seriousViolations(page: Page) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE)
  const { violations } = await page.evaluate(() =>
    (window as unknown as WithAxe).axe.run(document, { iframes: false, resultTypes: ['violations'] }),
  )
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]!.html.slice(0, 160)} ${nodes[0]!.failureSummary}`)
}

/** What is wrong with the page on screen: serious accessibility problems, and a content wider than the screen. */
export async function findPageProblems(page: Page, name: string): Promise<string[]> {
  const violations = await seriousViolations(page)
  const [width, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth] as const)
  return [
    ...violations.map((violation) => `${name}: ${violation}`),
    ...(width > screen ? [`${name}: ${width} px wide on a screen of ${screen} px`] : []),
  ]
}

/** The paths of this site that the page on screen links to. */
export const linksOf = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLAnchorElement>('a[href]')]
      .filter(({ origin, pathname, hash }) => origin === location.origin && !(hash && pathname === location.pathname))
      .map(({ pathname, search }) => pathname + search),
  )
