import { z } from 'zod'
import type { App, Deps } from './server.ts'

const ConfigView = z.object({
  environment: z.string(),
  urls: z.object({ api: z.string(), dashboard: z.string() }),
  features: z.object({
    billing: z.object({ enabled: z.boolean() }),
    storage: z.object({ kind: z.enum(['disk', 's3']) }),
    authProviders: z.object({ github: z.boolean(), google: z.boolean(), oidc: z.boolean() }),
    signup: z.object({ signupsDisabled: z.boolean() }),
    email: z.object({ transport: z.enum(['sandbox', 'smtp', 'ses']), sandbox: z.boolean() }),
    smtp: z.object({ enabled: z.boolean() }),
  }),
})

/** What this installation can do, for anyone who asks. Names no secret and no host but its own. */
export function configRoutes(app: App, { config }: Deps) {
  app.get(
    '/config',
    {
      config: { caller: 'anyone' },
      schema: { tags: ['Service'], summary: 'Which integrations are enabled', response: { 200: ConfigView } },
    },
    () => ({
      environment: config.environment,
      urls: { api: config.publicUrl, dashboard: config.publicUrl },
      features: {
        billing: { enabled: false },
        storage: { kind: config.s3 ? ('s3' as const) : ('disk' as const) },
        authProviders: { github: false, google: false, oidc: false },
        signup: { signupsDisabled: config.signupsDisabled },
        email: { transport: config.mailMode, sandbox: config.mailMode === 'sandbox' },
        smtp: { enabled: false },
      },
    }),
  )
}
