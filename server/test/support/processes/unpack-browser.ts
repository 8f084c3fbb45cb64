import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PACKAGE = join(createRequire(import.meta.url).resolve('@sparticuz/chromium'), '../../..')
const CACHE = fileURLToPath(new URL('../../../../node_modules/.cache/sterna/', import.meta.url))
const UNPACK = "import('@sparticuz/chromium').then((chromium) => chromium.default.executablePath())"

/** Before a run, so that the test processes do not all unpack it at once. */
export const setup = () => void unpackBrowser()

/**
 * Returns the path of Chromium, which takes seconds to unpack, but only once. The package unpacks into the folder for temporary files, and
 * takes what it finds there for complete: also while another process writes it, after an interrupted run, or from another version.
 */
export function unpackBrowser(): string {
  const { version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'))
  const folder = join(CACHE, `chromium-${version}`)
  if (!existsSync(folder)) {
    mkdirSync(CACHE, { recursive: true })
    const incomplete = mkdtempSync(`${folder}-`)
    execFileSync(process.execPath, ['-e', UNPACK], { cwd: PACKAGE, env: { ...process.env, TMPDIR: incomplete }, stdio: 'inherit' })
    moveTo(folder, incomplete)
  }
  return join(folder, 'chromium')
}

/** Another process may have been faster. */
function moveTo(folder: string, unpacked: string) {
  try {
    renameSync(unpacked, folder)
  } catch (err) {
    if (!existsSync(folder)) throw err
    rmSync(unpacked, { recursive: true })
  }
}
