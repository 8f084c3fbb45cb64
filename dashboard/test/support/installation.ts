import type { Browser, BrowserContext } from 'playwright-core'
import { startSterna } from '../../../server/test/support/process.ts'
import { keepRunning } from '../../../server/test/support/processes/keep-running.ts'
import { launchBrowser } from '../../../server/test/support/processes/launch-browser.ts'
import { openContext, signUp } from './browser.ts'

type Installation = { sterna: Awaited<ReturnType<typeof startSterna>>; browser: Browser; owner: BrowserContext; endNow: () => void }

export const OWNER = 'owner@example.com'
/** Errors of pages, and failed requests, of the test that runs. */
export const pageErrors: string[] = []

/**
 * A server, a browser and a signed-in owner, who is an operator. Starting them takes seconds, so the test files that one process runs one
 * after the other share them.
 */
export const installation = keepRunning(start, stop)

async function start(): Promise<Installation> {
  // The browser first: it ends with this process, and a server would run on if starting the browser failed.
  const browser = await launchBrowser()
  const sterna = await startSterna()
  const owner = await openOwner(browser, sterna.url).catch((err) => {
    sterna.kill()
    throw err
  })
  // The test runner ends its processes by this signal half a second before it kills them.
  const endNow = () => {
    sterna.kill()
    process.exit(143)
  }
  process.once('SIGTERM', endNow)
  return { sterna, browser, owner, endNow }
}

async function openOwner(browser: Browser, url: string) {
  const owner = await openContext(browser, url, pageErrors, { viewport: { width: 1280, height: 800 } })
  const page = await owner.newPage()
  await signUp(page, OWNER)
  await page.close()
  return owner
}

async function stop({ sterna, browser, endNow }: Installation) {
  process.off('SIGTERM', endNow)
  await browser.close()
  await sterna.stop()
}
