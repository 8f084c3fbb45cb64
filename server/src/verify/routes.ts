import { z } from 'zod'
import type { App, Deps } from '../http/server.ts'
import { createDns } from '../lib/dns.ts'
import { Verification, verifyAddress } from './verify.ts'

export function verifyRoutes(app: App, { config }: Deps) {
  const dns = createDns({ servers: config.dnsServers })

  app.post(
    '/v1/verify',
    {
      config: { caller: 'secret-key', onlyReads: true },
      schema: {
        tags: ['Verify'],
        summary: 'Check an email address',
        description:
          'By its spelling, by lists of providers, and by DNS. Answers within 5 seconds; no mail is sent and no mail server is asked.',
        body: z.object({ email: z.string().max(320) }),
        response: { 200: z.object({ success: z.literal(true), data: Verification }) },
      },
    },
    async (req) => ({ success: true as const, data: await verifyAddress(dns, req.body.email) }),
  )
}
