import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'

type Files = Parameters<BaseSequencer['sort']>[0]

/** The crash tests take minutes in one file each: begun last, they would run on with one core idle; at once, each would slow the other. */
class CrashTestsApart extends BaseSequencer {
  override async sort(files: Files): Promise<Files> {
    const sorted = await super.sort(files)
    const isCrashTest = ({ moduleId }: Files[number]) => moduleId.includes('/chaos/')
    const [crash, others] = [sorted.filter(isCrashTest), sorted.filter((file) => !isCrashTest(file))]
    const apart = Math.ceil(others.length / (crash.length + 1))
    return [
      ...crash.flatMap((file, index) => [file, ...others.slice(index * apart, (index + 1) * apart)]),
      ...others.slice(crash.length * apart),
    ]
  }
}

/** `scripts/build.mjs` builds it before the tests. In watch mode it would go stale, so threads run from the sources there. */
const bundle = process.argv.includes('run') ? { TEST_BUNDLE: fileURLToPath(new URL('server/dist', import.meta.url)) } : {}

export default defineConfig({
  test: {
    include: ['server/{src,test,chaos}/**/*.test.ts', 'sdk/test/**/*.test.ts', 'dashboard/{src,test}/**/*.test.{ts,tsx}'],
    globalSetup: ['scripts/build.mjs', 'server/test/support/postgres.ts'],
    sequence: { sequencer: CrashTestsApart },
    env: bundle,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two cores: more files at once only makes each of them slower and their timings noisier.
    maxWorkers: 2,
    // Every file works on a database of its own; reading the sources anew for each would take a sixth of the time of all tests.
    isolate: false,
  },
})
