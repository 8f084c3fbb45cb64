#!/usr/bin/env node
// The command of the package: `sterna start` runs the server, everything else is a command of server/src/cli.ts.
const [command] = process.argv.slice(2)
process.env.STERNA_COMMAND ??= 'npx sterna'
if (command === 'start' && !process.argv.includes('--help')) {
  const { stopWithNpm } = await import('../scripts/stop-with-npm.mjs')
  stopWithNpm()
  await import('../scripts/serve.mjs')
} else {
  const { mapStacks } = await import('../server/dist/map-stacks.js')
  mapStacks()
  const { run } = await import('../server/dist/cli.js')
  process.exitCode = await run(process.argv.slice(2), process.env)
}
