// Starts a build that is complete, as in the image: unlike `npm start` it builds nothing and needs no sources.
const { mapStacks } = await import('../server/dist/map-stacks.js')
mapStacks()
const { start } = await import('../server/dist/main.js')
try {
  await start(process.env)
} catch (err) {
  // A configuration error is printed without a stack trace.
  console.error(err?.constructor?.name === 'ConfigError' ? `\n${err.message}\n` : err)
  process.exit(1)
}
