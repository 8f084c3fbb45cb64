import sparticuz from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'
import { FEW_OPTIMIZATIONS } from './few-optimizations.ts'
import { unpackBrowser } from './unpack-browser.ts'

/** A closing page must not end the browser, and the browser's own security must be on. */
const UNWANTED = ['--single-process', '--disable-web-security']

/** `isMeasured`: with V8 as users have it, for scripts that measure pages. */
export async function launchBrowser({ isMeasured = false } = {}): Promise<Browser> {
  // Without WebGL, which no page uses: drawing by an emulated graphics card takes more time than the pages.
  sparticuz.setGraphicsMode = false
  const args = sparticuz.args.filter((arg) => !UNWANTED.includes(arg))
  if (!isMeasured) args.push(`--js-flags=${FEW_OPTIMIZATIONS}`)
  return chromium.launch({ executablePath: unpackBrowser(), args: [...args, '--disable-gpu'] })
}
