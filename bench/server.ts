import { start } from '../server/src/main.ts'
import { EchoBody } from './paths/plumbing.ts'

// The product as it ships, with one route more.
await start(process.env, {
  extend(app) {
    app.post('/bench/echo', { config: { caller: 'secret-key' }, schema: { body: EchoBody } }, (req) => req.body)
  },
})
