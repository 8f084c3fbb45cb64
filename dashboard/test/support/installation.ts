import type { Browser, BrowserContext } from 'playwright-core'
import { startSterna } from '../../../server/test/support/process.ts'
import { launchBrowser } from '../../../server/test/support/processes/launch-browser.ts'
import { openContext, signUp } from './browser.ts'

type Installation = { sterna: Awaited<ReturnType<typeof startSterna>>; browser: Browser; owner: BrowserContext; endNow: () => void }

export const OWNER = 'owner@example.com'
/** Errors of pages, and failed requests, of the test that runs. */
export const pageErrors: string[] = []

/** Longer than a process needs from one test file to the next. */
const IDLE_MS = 3_000
let running: Promise<Installation> | undefined
let stopping: NodeJS.Timeout | undefined

/**
 * A server, a browser and a signed-in owner, who is an operator. Starting them takes seconds, so the test files that one process runs one
 * after the other share them.
 */
export function enterInstallation(): Promise<Installation> {
  clearTimeout(stopping)
  running ??= start().catch((err) => {
    running = undefined
    throw err
  })
  return running
}

/** Stops the installation, unless another test file enters it soon. */
export function leaveInstallation() {
  const left = running
  stopping = setTimeout(() => {
    running = undefined
    // Not awaited by any test: a failure to stop must not fail the tests of another file.
    left?.then(stop).catch(() => {})
  }, IDLE_MS)
}

async function start(): Promise<Installation> {
  const [sterna, browser] = await Promise.all([startSterna(), launchBrowser()])
  const owner = await openContext(browser, sterna.url, pageErrors, { viewport: { width: 1280, height: 800 } })
  const page = await owner.newPage()
  await signUp(page, OWNER)
  await page.close()
  // The test runner ends its processes by this signal half a second before it kills them.
  const endNow = () => {
    sterna.kill()
    process.exit(143)
  }
  process.once('SIGTERM', endNow)
  return { sterna, browser, owner, endNow }
}

async function stop({ sterna, browser, endNow }: Installation) {
  process.off('SIGTERM', endNow)
  await browser.close()
  await sterna.stop()
}
