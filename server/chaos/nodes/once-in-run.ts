import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../support/until.ts'

const DONE_MS = 120_000

/** The first process of a test run that asks for the work does it, and the others wait until it is done. */
export async function onceInRun(name: string, work: () => Promise<unknown>) {
  const parent = process.env.SEED_PARENT
  if (!parent) return void (await work())
  const done = join(parent, `${name}-done`)
  try {
    mkdirSync(join(parent, `${name}-taken`))
  } catch {
    return void (await until(`another process has done its part: ${name}`, DONE_MS, () => existsSync(done)))
  }
  await work()
  mkdirSync(done)
}
