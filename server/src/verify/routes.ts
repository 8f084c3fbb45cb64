import { z } from 'zod'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { routesOf } from '../http/resource.ts'
import { createDns } from '../lib/network/dns.ts'
import { Verification, verifyAddress } from './verify.ts'

export function verifyRoutes(app: App, { config }: Deps) {
  const dns = createDns({ servers: config.dnsServers })

  routesOf(app, { tags: ['Verify'], caller: 'secret-key', role: null, scope: 'send', ...SENDS_NOTHING }).post(
    '/v1/verify',
    {
      summary: 'Verify an email address',
      description: 'Checks spelling, lists of providers, and DNS. Replies within 5 seconds; sends no email and contacts no mail server.',
      body: z.object({ email: z.string().max(320) }),
      response: z.object({ success: z.literal(true), data: Verification }),
      audit: null,
      onlyReads: true,
    },
    async (req) => ({ success: true as const, data: await verifyAddress(dns, req.body.email) }),
  )
}
