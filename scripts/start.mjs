import { buildStale } from './build.mjs'
import { stopWithNpm } from './stop-with-npm.mjs'

stopWithNpm()
await buildStale()
await import('./serve.mjs')
