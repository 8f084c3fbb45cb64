import { buildStale } from './build.mjs'

await buildStale()
const { mapStacks } = await import('../server/dist/map-stacks.js')
mapStacks()
const { run } = await import('../server/dist/cli.js')
process.exitCode = await run(process.argv.slice(2), process.env)
