import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions, Spec } from 'axe-core'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
type WithAxe = { axe: { configure: (spec: Spec) => void; run: (context: Document, options: RunOptions) => Promise<AxeResults> } }

/** Three texts of each look are enough for a journey: for all texts it took as long as all other rules together. */
type ContrastOf = 'every text' | 'texts of each look'

/** Marks the texts whose contrast is checked. */
const CHECKED = 'data-contrast-checked'

/**
 * Violations of any rule of axe. Evaluated by the browser's protocol, which no CSP restricts. Frames hold emails, which have no scripts:
 * axe would only wait for them. Style sheets and media are not loaded once more, for a rule about sound.
 */
async function axeViolations(page: Page, contrastOf: ContrastOf) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE)
  if (contrastOf === 'texts of each look') {
    await page.evaluate((mark) => {
      const { axe } = window as unknown as WithAxe
      axe.configure({ rules: [{ id: 'color-contrast', selector: `[${mark}]` }] })
    }, CHECKED)
    await page.evaluate(markThreeTextsOfEachLook, CHECKED)
  }
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

/**
 * In the page: marks elements with a text of their own, three for each combination of text colour, size and weight with the backgrounds below
 * it; more than one, as the first may be covered. What is drawn out of order may lie on other backgrounds than those of its parents: all
 * of these.
 */
function markThreeTextsOfEachLook(mark: string) {
  const grounds = new Map<Element, { look: string; isOutOfOrder: boolean }>()
  function groundOf(element: Element): { look: string; isOutOfOrder: boolean } {
    const known = grounds.get(element)
    if (known) return known
    const { backgroundColor, backgroundImage, opacity, filter, position, transform } = getComputedStyle(element)
    const below = element.parentElement ? groundOf(element.parentElement) : { look: '', isOutOfOrder: false }
    const isPlain = backgroundColor === 'rgba(0, 0, 0, 0)' && backgroundImage === 'none' && opacity === '1' && filter === 'none'
    const ground = {
      look: isPlain ? below.look : `${below.look}/${backgroundColor} ${backgroundImage} ${opacity} ${filter}`,
      isOutOfOrder: below.isOutOfOrder || transform !== 'none' || !['static', 'relative'].includes(position),
    }
    grounds.set(element, ground)
    return ground
  }

  for (const element of document.querySelectorAll(`[${mark}]`)) element.removeAttribute(mark)
  const looks = new Map<string, number>()
  for (const element of document.body.querySelectorAll('*')) {
    const isField = element.matches('input, textarea, select')
    if (!isField && ![...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.nodeValue?.trim())) continue
    if (!element.checkVisibility()) continue
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element)
    const { look, isOutOfOrder } = groundOf(element)
    // What is disabled is exempt, and so is the text that names it.
    const mayBeExempt =
      isField || element.matches('label, label *, [id], :disabled *, [aria-disabled=true] *, :disabled, [aria-disabled=true]')
    if (!mayBeExempt && !isOutOfOrder) {
      const key = `${color} ${fontSize} ${fontWeight} ${textShadow} on ${look}`
      const others = looks.get(key) ?? 0
      looks.set(key, others + 1)
      if (others >= 3) continue
    }
    element.setAttribute(mark, '')
  }
}

/** Rows of one list on a page: more make it slow. */
const MAX_ROWS = 200
/** Below this width a title is wrapped, not cut. */
const PHONE_UP_TO = 640

/**
 * What is wrong with the page on screen: accessibility problems, a content wider than the screen, a cut title, a list too long, a
 * frame that may run scripts or reach the dashboard, a text of a tenant that was read as HTML.
 */
export async function findPageProblems(page: Page, name: string, contrastOf: ContrastOf = 'texts of each look'): Promise<string[]> {
  const violations = await axeViolations(page, contrastOf)
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
