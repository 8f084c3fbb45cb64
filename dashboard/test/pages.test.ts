import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { newProject, PHONE, resize, shapeOf, showPage, TABLET, visitPage } from './support/browser.ts'
import { findPageProblems, linksOf } from './support/checks.ts'
import { heading, startDashboard } from './support/dashboard.ts'
import { FULL_ONLY, fillPath, PAGES, SIGNED_OUT } from './support/pages.ts'
import { seedHostileTexts, seedProject } from './support/seed.ts'

const { open, openProject, openAsOwner } = startDashboard()

/** One link of every route that some page links to, by its shape. */
type Links = Map<string, { path: string; from: string }>
type Checked = { paths: (readonly [name: string, path: string])[]; links: Links; thenOn?: { width: number; height: number } }

/** Each page as it is opened, and once more on the screen that it is `thenOn`. */
async function checkPages(page: Page, how: string, { paths, links, thenOn }: Checked) {
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

test('no page has an accessibility problem, a dead link, a content wider than its screen or HTML of a tenant, in light and in dark', async () => {
  const { page, project: empty } = await openProject()
  const full = await newProject(page, 'Full')
  const phone = await open({ ...PHONE, colorScheme: 'dark', storageState: await page.context().storageState() })
  const signedOut = await open({ ...PHONE, colorScheme: 'dark' })

  const links: Links = new Map()
  const emptyPages = Object.entries(PAGES).map(([name, path]) => [`${name}, empty`, fillPath(path, empty.id)] as const)
  async function checkEmpty() {
    await showPage(page, `/app/p/${empty.id}/emails`)
    return checkPages(page, 'light', { paths: emptyPages, links })
  }
  async function checkFull() {
    const { ids } = await seedProject(page, full, 30)
    await seedHostileTexts(page, full, ids.contact)
    const paths = Object.entries({ ...PAGES, ...FULL_ONLY }).map(([name, path]) => [name, fillPath(path, full.id, ids)] as const)
    await showPage(phone, `/app/p/${full.id}/emails`)
    return { paths, ...(await checkPages(phone, 'dark, on a phone', { paths, links, thenOn: TABLET.viewport })) }
  }
  // Each page once in light and once in dark, on three screens in all: every combination would take three times as long.
  const [light, dark, visitor] = await Promise.all([
    checkEmpty(),
    checkFull(),
    checkPages(signedOut, 'signed out', { paths: Object.entries(SIGNED_OUT), links }),
  ])
  expect([...light.problems, ...dark.problems, ...visitor.problems]).toEqual([])
  printTimes(light.times)

  const opened = new Set([...emptyPages, ...dark.paths, ...Object.entries(SIGNED_OUT)].map(([, path]) => shapeOf(path.replace(/\?.*/, ''))))
  const others = [...links.values()].filter(({ path }) => !opened.has(shapeOf(path.replace(/\?.*/, ''))))
  expect(await findDeadLinks(page, others)).toEqual([])

  const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))
  expect(stored.match(/[sp]k_[0-9a-f]{8}/)).toBe(null)
})

/** For people who compare them: a limit would fail on a busy machine. */
function printTimes(times: Map<string, number>) {
  const sorted = [...times].filter(([, ms]) => ms > 0).sort(([, a], [, b]) => a - b)
  const [median, slowest] = [sorted[Math.floor(sorted.length / 2)]!, sorted.at(-1)!]
  process.stdout.write(`page change: median ${Math.round(median[1])} ms, slowest ${Math.round(slowest[1])} ms (${slowest[0]})\n`)
}

/** Routes that no check has opened. The server answers any path of the dashboard, so only the page says that there is none. */
async function findDeadLinks(page: Page, links: { path: string; from: string }[]) {
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

test('a project with hundreds of fields shows at most 200 rows of each list, and finds the others', async () => {
  const { page, project } = await openProject()
  const data = Object.fromEntries(Array.from({ length: 250 }, (_, number) => [`field${number}`, number]))
  const headers = { 'x-project-id': project.id }
  const created = await page.context().request.post('/contacts', { data: { email: 'ada@example.com', data }, headers })
  const { id } = await created.json()
  const checked = async (path: string) => {
    await showPage(page, `/app/p/${project.id}/${path}`)
    return findPageProblems(page, path)
  }
  expect(await checked('contacts/fields')).toEqual([])
  await page.getByText('The first 100 of 250 fields.').waitFor()
  await page.getByLabel('Search fields').fill('field249')
  await page.waitForURL(/q=field249/)
  await page.getByRole('button', { name: /^field249/ }).waitFor()
  expect(await checked(`contacts/${id}`)).toEqual([])
  await page.getByRole('button', { name: 'Show all as JSON' }).click()
  expect(await checked(`contacts?peek=${id}`)).toEqual([])
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Columns' }).click()
  await page.getByLabel('Search columns').fill('field249')
  await page.getByLabel('field249').check()
  await page.getByRole('columnheader', { name: 'field249' }).waitFor()
})

test('a path that does not exist says so', async () => {
  const { page, project } = await openProject()
  await showPage(page, `/app/p/${project.id}/nowhere`)
  await heading(page, 'Page not found')
  expect(await findDeadLinks(page, [{ path: `/app/p/${project.id}/nowhere`, from: 'here' }])).toHaveLength(1)
})

test('signing in and opening the first page loads at most 250 KB of compressed JavaScript', async () => {
  const { page } = await openAsOwner('budget@example.com')
  const sizes: Promise<number>[] = []
  page.on('response', (response) => {
    if (new URL(response.url()).pathname.endsWith('.js')) sizes.push(response.body().then((body) => gzipSync(body).length))
  })
  await showPage(page, '/sign-in')
  await heading(page, 'Overview')
  const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  expect(sizes.length).toBeGreaterThan(3)
  expect(total).toBeLessThan(250_000)
})
