import { z } from 'zod'
import type { Config, TransportKind } from '../lib/config.ts'
import { hasAccounts, readTransport } from '../nodes/instance.ts'
import { ANYONE } from './auth/declaration.ts'
import type { App, Deps } from './core/types.ts'

const ConfigView = z.object({
  environment: z.string(),
  urls: z.object({ api: z.string(), dashboard: z.string() }),
  features: z.object({
    billing: z.object({ enabled: z.boolean() }),
    storage: z.object({ kind: z.enum(['disk', 's3']) }),
    authProviders: z.object({ github: z.boolean(), google: z.boolean(), oidc: z.boolean() }),
    signup: z.object({
      signupsDisabled: z.boolean(),
      hasAccounts: z.boolean().describe('False until the first account, that of the operator, was created.'),
      needsClaimCode: z.boolean().describe('Whether the next sign-up, as the first one, needs `claimCode`.'),
    }),
    email: z.object({
      transport: z.enum(['sandbox', 'smtp', 'ses']).nullable().describe('How email is sent. `null` until the first worker has started.'),
      sandbox: z.boolean(),
    }),
    smtp: z
      .object({
        enabled: z.boolean(),
        host: z.string().nullable(),
        port: z.int().nullable(),
        tls: z.enum(['starttls', 'implicit', 'none']).nullable().describe('`none`: without a certificate.'),
        plaintext: z.boolean().describe('Whether clients on other machines may log in without encryption.'),
      })
      .describe('Where this node accepts messages by SMTP.'),
  }),
})

/** Features of this installation, for any caller. Contains no secret and no host but its own. */
export function configRoutes(app: App, { config, db }: Deps) {
  /** An API node without transport settings adopts the installation's. */
  const readKind = async () => config.transportKind ?? (await readTransport(db)) ?? null

  app.get(
    '/config',
    {
      config: ANYONE,
      schema: { tags: ['Service'], summary: 'Get the features of this installation', response: { 200: ConfigView } },
    },
    async () => showConfig(config, await readKind(), await hasAccounts(db)),
  )
}

const showConfig = (config: Config, transport: TransportKind | null, accounts: boolean): z.output<typeof ConfigView> => ({
  environment: config.environment,
  urls: { api: config.publicUrl, dashboard: config.publicUrl },
  features: {
    billing: { enabled: config.stripe !== undefined },
    storage: { kind: config.s3 ? 's3' : 'disk' },
    authProviders: { github: false, google: false, oidc: false },
    signup: {
      signupsDisabled: config.signupsDisabled,
      hasAccounts: accounts,
      needsClaimCode: config.claimsFirstAccount && !accounts,
    },
    email: { transport, sandbox: transport === 'sandbox' },
    smtp: showSubmission(config),
  },
})

function showSubmission({ submission }: Config): z.output<typeof ConfigView>['features']['smtp'] {
  if (!submission) return { enabled: false, host: null, port: null, tls: null, plaintext: false }
  const { certificate, tls, allowPlaintext, public: place } = submission
  return { enabled: true, host: place.host, port: place.port, tls: certificate ? tls : 'none', plaintext: allowPlaintext }
}
