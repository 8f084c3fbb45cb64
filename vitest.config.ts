import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'

type Files = Parameters<BaseSequencer['sort']>[0]

/** The crash tests take minutes in one file each: begun last, they would run on with one core idle. */
class CrashTestsFirst extends BaseSequencer {
  override async sort(files: Files): Promise<Files> {
    const sorted = await super.sort(files)
    const isCrashTest = ({ moduleId }: Files[number]) => moduleId.includes('/chaos/')
    return [...sorted.filter(isCrashTest), ...sorted.filter((file) => !isCrashTest(file))]
  }
}

export default defineConfig({
  test: {
    include: ['server/{src,test,chaos}/**/*.test.ts', 'sdk/test/**/*.test.ts', 'dashboard/test/**/*.test.ts'],
    globalSetup: ['scripts/build.mjs', 'server/test/postgres.ts'],
    sequence: { sequencer: CrashTestsFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two cores: more files at once only makes each of them slower and their timings noisier.
    maxWorkers: 2,
    // Every file works on a database of its own; reading the sources anew for each would take a sixth of the time of all tests.
    isolate: false,
  },
})
