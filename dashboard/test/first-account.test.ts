import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cloneDatabase } from '../../server/test/support/database.ts'
import { type Running, startNode } from '../../server/test/support/process.ts'
import { launchBrowser } from '../../server/test/support/processes/launch-browser.ts'
import { openPage, PASSWORD, PHONE } from './support/browser.ts'
import { findPageProblems } from './support/checks.ts'
import { button, fillAndSubmit } from './support/dashboard.ts'

let database: Awaited<ReturnType<typeof cloneDatabase>>
let node: Running
let browser: Browser

/** An installation without an account that others can reach. */
beforeAll(async () => {
  browser = await launchBrowser()
  database = await cloneDatabase()
  node = await startNode({ DATABASE_URL: database.url, HOST: '0.0.0.0', CLAIM_FIRST_ACCOUNT: 'true' })
})
afterAll(async () => {
  await browser.close()
  await node.stop()
  await database.drop()
})

test('the first sign-up asks for the claim code, says where it is, and refuses a wrong one; later ones do not ask', async () => {
  const errors: string[] = []
  const page = await openPage(browser, node.url, errors)
  await page.goto('/sign-up')
  const field = page.getByLabel('Claim code', { exact: true })
  await field.waitFor()
  await page.getByText('sterna claim-code').waitFor()
  for (const size of [{ width: 1280, height: 800 }, PHONE.viewport]) {
    await page.setViewportSize(size)
    expect(await findPageProblems(page, `first sign-up at ${size.width}`)).toEqual([])
  }

  const account = { Email: 'first@example.com', Password: PASSWORD }
  await fillAndSubmit(page, { ...account, 'Claim code': 'ABCD-EFGH-JKMN-PQRS' }, 'Create account')
  await page.getByText('This is not the claim code.').waitFor()
  const code = /claim code ([\w-]+)/.exec(node.output())![1]!
  await fillAndSubmit(page, { 'Claim code': code.toLowerCase() }, 'Create account')
  await page.getByLabel('Project name', { exact: true }).waitFor()
  expect(errors.filter((line) => line !== '403 POST /auth/signup')).toEqual([])

  const other = await openPage(browser, node.url, errors)
  await other.goto('/sign-up')
  await button(other, 'Create account').waitFor()
  expect(await other.getByLabel('Claim code').count()).toBe(0)
})
