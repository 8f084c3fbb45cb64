import { z } from 'zod'
import { buildStale } from '../scripts/build.mjs'

// Sterna as it ships, with one more route, and with the benchmark's key in place of Amazon's certificate.
await buildStale()
const { start } = await import('../server/dist/main.js')
const Data = z.record(z.string(), z.unknown()).meta({ maxProperties: 500 })
const EchoBody = z.object({ email: z.email(), event: z.string().min(1), data: Data.optional() })
await start(process.env, {
  sns: { certificate: async () => process.env.BENCH_SNS_KEY, confirm: async () => {} },
  extend(app) {
    app.post(
      '/bench/echo',
      {
        config: { caller: 'secret-key', role: null, scope: 'send', senders: 'none', stops: 'never', audit: null },
        schema: { body: EchoBody },
      },
      (req) => req.body,
    )
  },
})
