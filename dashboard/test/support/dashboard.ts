import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { startSterna } from '../../../server/test/support/process.ts'
import { launchBrowser, openPage, signUp } from './browser.ts'

/** One server and one browser for the tests of a file. Each test gets browsers of its own, and fails on any error in a page. */
export function startDashboard() {
  let sterna: Awaited<ReturnType<typeof startSterna>>
  let browser: Browser
  const pageErrors: string[] = []

  beforeAll(async () => {
    ;[sterna, browser] = await Promise.all([startSterna(), launchBrowser()])
  })
  afterEach(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()))
    expect(pageErrors.splice(0)).toEqual([])
  })
  afterAll(async () => {
    await browser?.close()
    await sterna?.stop()
  })

  const open = (options?: BrowserContextOptions) => openPage(browser, sterna.url, pageErrors, options)
  return {
    url: () => sterna.url,
    accountEmails: () => sterna.accountEmails(),
    open,
    /** A signed-in browser of an owner, whose account and project are made through the API. */
    async openAsOwner(email: string, options?: BrowserContextOptions) {
      const page = await open(options)
      return { page, project: await signUp(page, email) }
    },
  }
}

export const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true })
export const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor()

export async function fillAndSubmit(page: Page, fields: Record<string, string>, submit: string) {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value)
  await button(page, submit).click()
}
