import { start } from '../../../src/main.ts'
import { probe } from './probe.ts'

// A real process with the probe routes: what several nodes do together is tested with several of these.
await start(process.env, { extend: probe }).catch((err: Error) => {
  process.stderr.write(`${err.message}\n`)
  process.exit(1)
})
