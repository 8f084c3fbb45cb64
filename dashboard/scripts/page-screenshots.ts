/**
 * Takes a picture of every page: empty and full, light and dark, on a large screen, a tablet and a phone; and looks for problems that a
 * program can see, of accessibility above all. Run it with `npm run page-screenshots`; arguments select pages by a part of their name.
 * The pictures are in dashboard/screenshots, which git ignores.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { startNode } from '../../server/test/support/process.ts'
import { launchBrowser } from '../../server/test/support/processes/launch-browser.ts'
import { newProject, openPage, PHONE, signUp, TABLET, visitPage } from '../test/support/browser.ts'
import { findPageProblems } from '../test/support/checks.ts'
import { FULL_ONLY, fillPath, PAGES, SIGNED_OUT } from '../test/support/pages.ts'
import { seedProject } from '../test/support/seed.ts'

const OUT = join(import.meta.dirname, '../screenshots')
const SCREENS = {
  large: { viewport: { width: 1440, height: 900 } },
  tablet: { ...TABLET, hasTouch: true },
  phone: { ...PHONE, hasTouch: true },
}
const THEMES = ['light', 'dark'] as const

const problems: string[] = []
const wanted = process.argv.slice(2)
const isWanted = (name: string) => wanted.length === 0 || wanted.some((part) => name.includes(part))

async function shoot(page: Page, name: string, path: string) {
  if (!isWanted(name)) return
  await visitPage(page, path)
  problems.push(...(await findPageProblems(page, name)))
  await page.screenshot({ path: join(OUT, `${name}.png`) })
}

/** What keys open on a page. `{contact}` and `{template}` as in the pages. */
const OPENED: Record<string, { path: string; keys: string }> = {
  palette: { path: '/app/p/{p}/contacts', keys: 'Control+k' },
  shortcuts: { path: '/app/p/{p}/contacts', keys: '?' },
  'contacts-add': { path: '/app/p/{p}/contacts', keys: 'c' },
  'contact-send': { path: '/app/p/{p}/contacts/{contact}', keys: 'c' },
  'template-test': { path: '/app/p/{p}/templates/{template}', keys: 'Control+Enter' },
  'suppress-dialog': { path: '/app/p/{p}/suppressions', keys: 'c' },
}

async function shootOpened(page: Page, name: string, path: string, keys: string) {
  if (!isWanted(name)) return
  await visitPage(page, path)
  await page.keyboard.press(keys)
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  problems.push(...(await findPageProblems(page, name)))
  await page.screenshot({ path: join(OUT, `${name}.png`) })
  // The page behind an open dialog has no headings for those who cannot see it, and for the next visit.
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
}

/** The import with a file that has been checked, which no link leads to. */
async function shootImport(page: Page, name: string, project: string) {
  if (!isWanted(name)) return
  await visitPage(page, `/app/p/${project}/contacts/import`)
  const csv = 'Contact;Plan;Seats;City\nada.0@example.com;pro;3;Paris\nnew@gmial.com;team;many;Rome\nno address;free;1;Oslo\n'
  await page.getByLabel('Choose a file').setInputFiles({ name: 'customers.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) })
  await page.getByRole('button', { name: 'Check the file' }).click()
  await page.getByText('Invalid rows').first().waitFor()
  problems.push(...(await findPageProblems(page, name)))
  await page.screenshot({ path: join(OUT, `${name}.png`), fullPage: true })
}

const data = mkdtempSync(join(tmpdir(), 'sterna-screenshots-'))
if (wanted.length === 0) rmSync(OUT, { recursive: true, force: true })
mkdirSync(OUT, { recursive: true })
const [sterna, browser] = await Promise.all([startNode({ DATA_DIR: data }), launchBrowser()])
const errors: string[] = []
try {
  const setup = await openPage(browser, sterna.url, errors)
  const empty = await signUp(setup, 'owner@example.com', 'Empty')
  const full = await newProject(setup, 'Acme')
  const { ids } = await seedProject(setup, full, 60, { engaged: true })
  const storageState = await setup.context().storageState()

  for (const [screen, options] of Object.entries(SCREENS)) {
    for (const colorScheme of THEMES) {
      const nameOf = (page: string, state: string) => [page, state, screen, colorScheme].filter(Boolean).join('-')
      const signedOut = await openPage(browser, sterna.url, errors, { ...options, colorScheme })
      for (const [name, path] of Object.entries(SIGNED_OUT)) await shoot(signedOut, nameOf(name, ''), path)
      const page = await openPage(browser, sterna.url, errors, { ...options, colorScheme, storageState })
      await shoot(page, nameOf('new-project', ''), '/app/new')
      for (const [name, path] of Object.entries(PAGES)) await shoot(page, nameOf(name, 'empty'), fillPath(path, empty.id))
      for (const [name, path] of Object.entries(PAGES)) await shoot(page, nameOf(name, 'full'), fillPath(path, full.id, ids))
      for (const [name, path] of Object.entries(FULL_ONLY)) await shoot(page, nameOf(name, ''), fillPath(path, full.id, ids))
      await shootImport(page, nameOf('import-checked', ''), full.id)
      for (const [name, { path, keys }] of Object.entries(OPENED))
        await shootOpened(page, nameOf(name, ''), fillPath(path, full.id, ids), keys)
      await Promise.all([signedOut.context().close(), page.context().close()])
    }
  }
} finally {
  await browser.close()
  await sterna.stop()
  rmSync(data, { recursive: true, force: true })
}
if (errors.length + problems.length > 0) console.error([...errors, ...problems].join('\n'))
console.log(`dashboard/screenshots: ${errors.length} errors, ${problems.length} problems in the pages`)
if (errors.length + problems.length > 0) process.exitCode = 1
