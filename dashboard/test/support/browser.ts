import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, BrowserContext, BrowserContextOptions, Page, Request } from 'playwright-core'

export const PASSWORD = 'four unrelated words'
export const PHONE = { viewport: { width: 375, height: 812 } }
export const TABLET = { viewport: { width: 820, height: 1180 } }

/** Responses to failed requests, in full, to explain a failure. */
export const refusals: string[] = []

/**
 * `errors` gets exceptions, console errors, violations of the content security policy, and failed requests such as `404 GET /contacts/x`.
 * A journey that provokes one takes it out again.
 */
export async function openContext(browser: Browser, baseURL: string, errors: string[], options: BrowserContextOptions = {}) {
  const permissions = ['clipboard-read', 'clipboard-write']
  const context = await browser.newContext({ baseURL, reducedMotion: 'reduce', permissions, ...options })
  context.setDefaultTimeout(30_000)
  context.on('weberror', (error) => errors.push(error.error().message))
  context.on('console', (message) => {
    // The browser reports failed requests here too, without their method.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) errors.push(message.text())
  })
  context.on('response', (response) => {
    const request = response.request()
    if (response.status() < 400) return
    const line = `${response.status()} ${request.method()} ${new URL(response.url()).pathname}`
    errors.push(line)
    // A page that is left takes the texts of its responses with it.
    response.text().then(
      (text) => refusals.push(`${line}: ${text}`),
      () => {},
    )
  })
  context.on('requestfailed', (request) => {
    // A page that is left, or a file that is saved, ends its requests.
    const reason = request.failure()?.errorText ?? ''
    if (!reason.includes('ERR_ABORTED')) errors.push(`${reason} ${request.method()} ${request.url()}`)
  })
  countRequests(context)
  return context
}

export async function openPage(browser: Browser, baseURL: string, errors: string[], options: BrowserContextOptions = {}): Promise<Page> {
  return (await openContext(browser, baseURL, errors, options)).newPage()
}

const inFlight = new WeakMap<Page, Set<Request>>()

/** By page: the requests of one that is closed never end, and test files share a context. */
function countRequests(context: BrowserContext) {
  context.on('page', (page) => {
    const requests = new Set<Request>()
    inFlight.set(page, requests)
    page.on('request', (request) => requests.add(request))
    for (const event of ['requestfinished', 'requestfailed'] as const)
      page.on(event as 'requestfinished', (request) => requests.delete(request))
  })
}

/** Signs up and creates a project through the API. The cookie stays in the browser of the page. */
export async function signUp(page: Page, email: string, name = 'Acme') {
  await page.context().request.post('/auth/signup', { data: { email, password: PASSWORD } })
  return newProject(page, name)
}

export async function newProject(page: Page, name = 'Acme') {
  const created = await page.context().request.post('/users/@me/projects', { data: { name } })
  return (await created.json()) as { id: string; public: string; secret: string }
}

/** Opens a page by loading the dashboard, and waits until nothing on it loads any more. */
export async function showPage(page: Page, path: string) {
  await page.goto(path)
  await settle(page)
}

/** Resolves when the page has drawn itself in its new size. */
export async function resize(page: Page, size: { width: number; height: number }) {
  await page.setViewportSize(size)
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
}

/**
 * Opens a page as a link in the dashboard would, without loading the dashboard again, and waits until nothing on it loads any more. Returns
 * the milliseconds until its content was there. The same page with another query is reloaded: its title, by which a visit is noticed,
 * would not change.
 */
export async function visitPage(page: Page, path: string): Promise<number> {
  const isSame = shapeOf(new URL(page.url()).pathname) === shapeOf(path.replace(/\?.*/, ''))
  if (isSame || !page.url().includes('/app/')) {
    await showPage(page, path)
    return 0
  }
  const begun = performance.now()
  await page.evaluate((to) => {
    document.title = ''
    window.history.pushState({}, '', to)
  }, path)
  await page.waitForFunction(() => document.title !== '', undefined, { polling: 'raf' })
  await settle(page)
  return performance.now() - begun
}

/** A path without its ids: pages of the same shape are the same route. */
export const shapeOf = (path: string) => path.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '*')

const QUIET_DEADLINE_MS = 40_000
const REQUESTS_POLL_MS = 10

async function settle(page: Page) {
  await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' })
  const requests = inFlight.get(page)!
  for (const deadline = Date.now() + QUIET_DEADLINE_MS; ; ) {
    await page.waitForFunction(
      () => {
        const statuses = [...document.querySelectorAll('[role=status]')]
        return !document.querySelector('[aria-busy=true]') && !statuses.some(({ textContent }) => textContent?.trim() === 'Loading…')
      },
      undefined,
      { polling: 'raf' },
    )
    if (requests.size === 0) return
    if (Date.now() > deadline) throw new Error(`still loading: ${[...requests].map((request) => request.url()).join(' ')}`)
    while (requests.size > 0 && Date.now() < deadline) await sleep(REQUESTS_POLL_MS)
  }
}
