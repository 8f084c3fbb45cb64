import type { Page } from 'playwright-core'
import { resize, shapeOf, showPage, visitPage } from './browser.ts'
import { findPageProblems, linksOf } from './checks.ts'
import { FULL_ONLY, PAGES, SIGNED_OUT } from './pages.ts'

/** Pages that one test opens, each in a second or two: one test of all pages took longer on a busy machine than a test may. */
const PAGES_OF_A_TEST = 15

/** The pages in parts, each for a test with the `name` of its first and last page. */
export function inParts(pages: Record<string, string>) {
  const entries = Object.entries(pages)
  return Array.from({ length: Math.ceil(entries.length / PAGES_OF_A_TEST) }, (_, index) => {
    const part = entries.slice(index * PAGES_OF_A_TEST, (index + 1) * PAGES_OF_A_TEST)
    return { name: `${part[0]![0]} to ${part.at(-1)![0]}`, part }
  })
}

/** One link of every route that some page links to, by its shape. */
export type Links = Map<string, { path: string; from: string }>
type Checked = { paths: (readonly [name: string, path: string])[]; links: Links; thenOn?: { width: number; height: number } }

/** Each page as it is opened, and once more on the screen that it is `thenOn`. `times` are the milliseconds until a page was there. */
export async function checkPages(page: Page, how: string, { paths, links, thenOn }: Checked) {
  const problems: string[] = []
  const times = new Map<string, number>()
  const openedOn = page.viewportSize()!
  for (const [name, path] of paths) {
    times.set(name, await visitPage(page, path))
    problems.push(...(await findPageProblems(page, `${name}, ${how}`)))
    if (thenOn) {
      await resize(page, thenOn)
      problems.push(...(await findPageProblems(page, `${name}, ${how}, then ${thenOn.width} px wide`)))
      await resize(page, openedOn)
    }
    for (const link of await linksOf(page)) links.set(shapeOf(link), { path: link, from: `${name}, ${how}` })
  }
  return { problems, times }
}

const ROUTES = new Set(
  Object.values({ ...PAGES, ...FULL_ONLY, ...SIGNED_OUT }).map((path) => path.replace(/\?.*/, '').replace(/\{\w+\}/g, '*')),
)

/** Links to routes that the tests of all pages do not open, and so do not check. */
export const linksToOtherRoutes = (links: Links) => [...links.values()].filter(({ path }) => !ROUTES.has(shapeOf(path.replace(/\?.*/, ''))))

/** The server answers any path of the dashboard, so only the page says that there is none. */
export async function findDeadLinks(page: Page, links: { path: string; from: string }[]) {
  const dead: string[] = []
  for (const { path, from } of links) {
    if (!path.startsWith('/app')) {
      if (!(await page.context().request.get(path)).ok()) dead.push(`${path} on ${from}`)
      continue
    }
    await showPage(page, path)
    if ((await page.getByRole('heading', { level: 1 }).textContent()) === 'Not found') dead.push(`${path} on ${from}`)
  }
  return dead
}
