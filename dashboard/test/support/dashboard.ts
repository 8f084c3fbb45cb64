import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { launchBrowser } from '../../../server/test/support/launch-browser.ts'
import { startSterna } from '../../../server/test/support/process.ts'
import { newProject, openContext, openPage, signUp } from './browser.ts'

/** One server and one browser for the tests of a file. Each test fails on any error in a page and on any failed request. */
export function startDashboard() {
  let sterna: Awaited<ReturnType<typeof startSterna>>
  let browser: Browser
  let owner: { context: BrowserContext; page: Page } | undefined
  const pageErrors: string[] = []

  beforeAll(async () => {
    ;[sterna, browser] = await Promise.all([startSterna(), launchBrowser()])
  })
  afterEach(async () => {
    const others = browser.contexts().filter((context) => context !== owner?.context)
    await Promise.all(others.map((context) => context.close()))
    expect(pageErrors.splice(0)).toEqual([])
  })
  afterAll(async () => {
    await browser?.close()
    await sterna?.stop()
  })

  const open = (options?: BrowserContextOptions) => openPage(browser, sterna.url, pageErrors, options)

  /** Signing up and loading the dashboard take seconds together: the tests of a file share both. */
  async function ownerPage() {
    if (!owner) {
      const context = await openContext(browser, sterna.url, pageErrors, { viewport: { width: 1280, height: 800 } })
      owner = { context, page: await context.newPage() }
      await signUp(owner.page, OWNER)
    }
    return owner.page
  }

  return {
    url: () => sterna.url,
    failEmail: (...failed: Parameters<typeof sterna.failEmail>) => sterna.failEmail(...failed),
    accountEmails: () => sterna.accountEmails(),
    countEmails: (...counted: Parameters<typeof sterna.countEmails>) => sterna.countEmails(...counted),
    whileMetered: <Result>(work: () => Promise<Result>) => sterna.whileMetered(work),
    open,
    /** Errors of pages and failed requests so far, for a test that provokes some. */
    takeErrors: () => pageErrors.splice(0),
    /** A new project of the owner whose browser all tests of the file share. */
    async openProject() {
      const page = await ownerPage()
      return { page, project: await newProject(page) }
    },
    /** A browser of its own, signed in as a new owner. */
    async openAsOwner(email: string, options?: BrowserContextOptions) {
      const page = await open(options)
      return { page, project: await signUp(page, email) }
    },
  }
}

export const OWNER = 'owner@example.com'

export const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true })
export const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor()

export async function fillAndSubmit(page: Page, fields: Record<string, string>, submit: string) {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value)
  await button(page, submit).click()
}
