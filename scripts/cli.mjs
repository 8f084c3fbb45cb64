import { buildStale } from './build.mjs'

if (process.argv[2] === 'start' && !process.argv.includes('--help')) await import('./start.mjs')
else {
  await buildStale()
  const { mapStacks } = await import('../server/dist/map-stacks.js')
  mapStacks()
  const { run } = await import('../server/dist/cli.js')
  process.exitCode = await run(process.argv.slice(2), process.env)
}
