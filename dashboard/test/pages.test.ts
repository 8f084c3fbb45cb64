import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { newProject, PHONE, showPage, TABLET } from './support/browser.ts'
import { checkPages, findDeadLinks, inParts, type Links, linksToOtherRoutes } from './support/check-pages.ts'
import { findPageProblems } from './support/checks.ts'
import { heading, startDashboard } from './support/dashboard.ts'
import { FULL_ONLY, fillPath, PAGES, SIGNED_OUT } from './support/pages.ts'
import { seedHostileTexts, seedProject } from './support/seed.ts'

const { open, openProject, openAsOwner } = startDashboard()

// Each page once in light, in empty-pages.test.ts, and once in dark, on three screens in all: every combination would take three times as long.
describe('in dark, on a phone and on a tablet, no page of a full project has an accessibility problem, a content wider than its screen or HTML of a tenant', () => {
  const links: Links = new Map()
  let page: Page
  let full: { id: string }
  let ids: Record<string, string>
  beforeAll(async () => {
    ;({ page } = await openProject())
    const project = await newProject(page, 'Full')
    ids = (await seedProject(page, project, 30)).ids
    await seedHostileTexts(page, project, ids.contact!)
    full = project
  })

  test.each(inParts({ ...PAGES, ...FULL_ONLY }))('$name', async ({ part }) => {
    const phone = await open({ ...PHONE, colorScheme: 'dark', storageState: await page.context().storageState() })
    await showPage(phone, `/app/p/${full.id}/emails`)
    const paths = part.map(([name, path]) => [name, fillPath(path, full.id, ids)] as const)
    expect((await checkPages(phone, 'dark, on a phone', { paths, links, thenOn: TABLET.viewport })).problems).toEqual([])
  })

  test('signed out', async () => {
    const visitor = await open({ ...PHONE, colorScheme: 'dark' })
    expect((await checkPages(visitor, 'signed out', { paths: Object.entries(SIGNED_OUT), links })).problems).toEqual([])
  })

  test('and none has a dead link', async () => {
    expect(links.size).toBeGreaterThan(50)
    expect(await findDeadLinks(page, linksToOtherRoutes(links))).toEqual([])
  })
})

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
