import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { showPage } from './support/browser.ts'
import { checkPages, findDeadLinks, inParts, type Links, linksToOtherRoutes } from './support/check-pages.ts'
import { startDashboard } from './support/dashboard.ts'
import { fillPath, PAGES } from './support/pages.ts'

const { openProject } = startDashboard()
const links: Links = new Map()
const times = new Map<string, number>()
let page: Page
let project: { id: string }
beforeAll(async () => {
  ;({ page, project } = await openProject())
})

test.each(inParts(PAGES))('in light, no page of an empty project has a problem: $name', async ({ part }) => {
  await showPage(page, `/app/p/${project.id}/emails`)
  const paths = part.map(([name, path]) => [`${name}, empty`, fillPath(path, project.id)] as const)
  const light = await checkPages(page, 'light', { paths, links })
  for (const [name, ms] of light.times) times.set(name, ms)
  expect(light.problems).toEqual([])
})

test('no page of an empty project has a dead link, and none stores a key in the browser', async () => {
  printTimes()
  expect(links.size).toBeGreaterThan(20)
  expect(await findDeadLinks(page, linksToOtherRoutes(links))).toEqual([])
  const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))
  expect(stored.match(/[sp]k_[0-9a-f]{8}/)).toBe(null)
})

/** For people who compare them: a limit would fail on a busy machine. */
function printTimes() {
  const sorted = [...times].filter(([, ms]) => ms > 0).sort(([, a], [, b]) => a - b)
  const [median, slowest] = [sorted[Math.floor(sorted.length / 2)]!, sorted.at(-1)!]
  process.stdout.write(`page change: median ${Math.round(median[1])} ms, slowest ${Math.round(slowest[1])} ms (${slowest[0]})\n`)
}
