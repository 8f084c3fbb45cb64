import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { newProject, openPage, refusals, signUp } from './browser.ts'
import { installation, pageErrors } from './installation.ts'

export { OWNER } from './installation.ts'

/** One browser tab of the owner for the tests of a file. Each test fails on any error in a page and on any failed request. */
export function startDashboard() {
  let { sterna, browser } = {} as Awaited<ReturnType<typeof installation.enter>>
  let owner: BrowserContext
  let ownerPage: Page | undefined

  beforeAll(async () => {
    ;({ sterna, browser, owner } = await installation.enter())
  })
  afterEach(async () => {
    const others = browser.contexts().filter((context) => context !== owner)
    await Promise.all(others.map((context) => context.close()))
    expect(pageErrors.splice(0), refusals.splice(0).join('\n')).toEqual([])
  })
  afterAll(async () => {
    await ownerPage?.close()
    installation.leave()
  })

  const open = (options?: BrowserContextOptions) => openPage(browser, sterna.url, pageErrors, options)

  return {
    url: () => sterna.url,
    failEmail: (...failed: Parameters<typeof sterna.failEmail>) => sterna.failEmail(...failed),
    ageEmails: (...aged: Parameters<typeof sterna.ageEmails>) => sterna.ageEmails(...aged),
    accountEmails: () => sterna.accountEmails(),
    countEmails: (...counted: Parameters<typeof sterna.countEmails>) => sterna.countEmails(...counted),
    whileMetered: <Result>(work: () => Promise<Result>) => sterna.whileMetered(work),
    open,
    /** Errors of pages and failed requests so far, for a test that provokes some. */
    takeErrors: () => pageErrors.splice(0),
    /** A new project of the owner, whose tab all tests of the file share: loading the dashboard takes a second. */
    async openProject() {
      ownerPage ??= await owner.newPage()
      return { page: ownerPage, project: await newProject(ownerPage) }
    },
    /** A browser of its own, signed in as a new owner. */
    async openAsOwner(email: string, options?: BrowserContextOptions) {
      const page = await open(options)
      return { page, project: await signUp(page, email) }
    },
  }
}

export const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true })
export const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor()
export const rows = (page: Page) => page.locator('[data-row]')

export async function fillAndSubmit(page: Page, fields: Record<string, string>, submit: string) {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value)
  await button(page, submit).click()
}

/** Menus, popovers and dialogs have keys of their own until they are gone. */
export async function untilClosed(page: Page, role: 'menu' | 'dialog') {
  await expect.poll(() => page.getByRole(role).count()).toBe(0)
}

/** Types a shortcut of the page, as soon as the focus has left what has keys of its own. */
export async function typeShortcut(page: Page, keys: string) {
  const hasOwnKeys = () =>
    document.activeElement?.closest('input:not([type=checkbox],[type=radio]),textarea,select,[role=dialog],[role=menu],[role=listbox]') !=
    null
  await expect.poll(() => page.evaluate(hasOwnKeys)).toBe(false)
  await page.keyboard.type(keys)
}
