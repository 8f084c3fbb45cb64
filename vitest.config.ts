import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['server/{src,test,chaos}/**/*.test.ts', 'sdk/test/**/*.test.ts', 'dashboard/test/**/*.test.ts'],
    globalSetup: ['scripts/build.mjs', 'server/test/postgres.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two cores: more files at once only makes each of them slower and their timings noisier.
    maxWorkers: 2,
  },
})
