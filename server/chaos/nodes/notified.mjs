import { buildStale } from '../../../scripts/build.mjs'

// The product, but it trusts the key of this run instead of Amazon's. Only code can say so: no setting does.
process.setSourceMapsEnabled(true)
await buildStale()
const { start } = await import('../../dist/main.js')
const sns = { certificate: async () => process.env.CHAOS_SNS_KEY, confirm: async () => {} }
await start(process.env, { sns }).catch((err) => {
  process.stderr.write(`${err.message}\n`)
  process.exit(1)
})
