import { resolve } from 'node:path'
import type { z } from 'zod'
import { Environment, METERED_CATEGORIES, readDkim } from './environment.ts'
import { ConfigError } from './errors/config-error.ts'
import { isLocalHost, isLoopback } from './network/network.ts'
import { SECOND } from './text/units.ts'

export type Config = ReturnType<typeof loadConfig>

/** The only reader of the environment. Invalid values stop the start, with one line per mistake. */
export function loadConfig(source: Record<string, string | undefined>) {
  // An empty variable counts as not set: `PORT= npm start` does not mean port zero.
  const given = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined && value !== ''))
  const parsed = Environment.safeParse(given)
  if (!parsed.success) {
    const lines = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`)
    throw new ConfigError(`The configuration is not valid:\n${lines.join('\n')}`)
  }
  const env = parsed.data
  if (env.DATABASE_URL && !env.SECRET_KEY) {
    throw new ConfigError('SECRET_KEY is required with DATABASE_URL: every node must share it. Create one with: openssl rand -hex 32')
  }
  if (env.DATABASE_DIRECT_URL && !env.DATABASE_URL)
    throw new ConfigError('DATABASE_DIRECT_URL is the server behind the pooler of DATABASE_URL: set both, or neither.')
  if (env.SMTP_URL && env.SES_REGION) throw new ConfigError('Set SMTP_URL or SES_REGION, not both: an installation has one transport.')
  if (!env.SES_REGION && (env.SES_ENDPOINT || env.SES_CONFIGURATION_SET))
    throw new ConfigError('To send by Amazon SES, also set SES_REGION; otherwise set no SES_… at all.')
  if (!env.INBOUND_SMTP_TLS_KEY !== !env.INBOUND_SMTP_TLS_CERT)
    throw new ConfigError('Set both INBOUND_SMTP_TLS_KEY and INBOUND_SMTP_TLS_CERT, or neither.')
  if (!env.SMTP_SUBMISSION_TLS_KEY !== !env.SMTP_SUBMISSION_TLS_CERT)
    throw new ConfigError('Set both SMTP_SUBMISSION_TLS_KEY and SMTP_SUBMISSION_TLS_CERT, or neither.')
  if (env.SMTP_SUBMISSION_TLS === 'implicit' && env.SMTP_SUBMISSION_PORT && !env.SMTP_SUBMISSION_TLS_KEY)
    throw new ConfigError('SMTP_SUBMISSION_TLS=implicit also needs SMTP_SUBMISSION_TLS_KEY and SMTP_SUBMISSION_TLS_CERT.')
  return {
    environment: env.NODE_ENV,
    host: env.HOST,
    port: env.PORT,
    publicUrl: env.PUBLIC_URL ?? `http://localhost:${env.PORT}`,
    dataDir: resolve(env.DATA_DIR),
    databaseUrl: env.DATABASE_URL,
    directUrl: env.DATABASE_DIRECT_URL,
    failover: env.DATABASE_FAILOVER,
    poolSize: env.DATABASE_POOL_SIZE,
    databaseWaitMs: env.DATABASE_WAIT_SECONDS * SECOND,
    shutdownDelayMs: env.SHUTDOWN_DELAY_SECONDS * SECOND,
    role: env.ROLE,
    secretKey: env.SECRET_KEY,
    previousSecretKeys: env.SECRET_KEY_PREVIOUS,
    rateLimitPerMinute: env.RATE_LIMIT_PER_MINUTE,
    bodyBudgetMb: env.REQUEST_BODY_BUDGET_MB,
    idempotencyTtlHours: env.IDEMPOTENCY_TTL_HOURS,
    eventRetentionMonths: env.EVENT_RETENTION_MONTHS,
    emailRetentionMonths: env.EMAIL_RETENTION_MONTHS,
    signupsDisabled: env.DISABLE_SIGNUPS,
    claimsFirstAccount: env.CLAIM_FIRST_ACCOUNT && isReachable(env),
    trustProxy: env.TRUST_PROXY,
    transportKind: readTransportKind(env),
    smtpUrl: env.SMTP_URL,
    smtpConnections: env.SMTP_CONNECTIONS,
    // Amazon SES always signs, with keys of its own.
    signsMessages: !env.SES_REGION && !(env.SMTP_URL && readDkim(env.SMTP_URL) === 'off'),
    ses: env.SES_REGION ? { region: env.SES_REGION, endpoint: env.SES_ENDPOINT, configurationSet: env.SES_CONFIGURATION_SET } : undefined,
    snsTopics: env.SNS_TOPIC_ARNS ?? [],
    dnsServers: env.DNS_SERVERS,
    webhookAllowPrivate: env.WEBHOOK_ALLOW_PRIVATE ?? [],
    executionRetentionMonths: env.EXECUTION_RETENTION_MONTHS,
    mailFrom: env.MAIL_FROM ?? undefined,
    bounceDomain: env.BOUNCE_DOMAIN ?? undefined,
    installationNames: env.INSTALLATION_NAMES,
    // Without a port nothing listens.
    inbound: env.INBOUND_SMTP_PORT
      ? {
          port: env.INBOUND_SMTP_PORT,
          host: env.INBOUND_SMTP_HOST,
          certificate: readCertificate(env.INBOUND_SMTP_TLS_KEY, env.INBOUND_SMTP_TLS_CERT),
        }
      : undefined,
    submission: readSubmission(env),
    sandboxDelivers: env.SANDBOX_DELIVERIES,
    sendRatePerSecond: env.SEND_RATE_PER_SECOND,
    maxAttachments: env.MAX_ATTACHMENTS,
    maxAttachmentMb: env.MAX_ATTACHMENT_MB,
    uploadQuotaMb: env.UPLOAD_QUOTA_MB,
    s3: readS3(env),
    autoDisable: env.AUTO_DISABLE_PROJECTS,
    stripe: readStripe(env),
    metrics: { port: env.METRICS_PORT, host: env.METRICS_HOST, token: env.METRICS_TOKEN },
    // Off without a collector.
    tracing: env.OTEL_EXPORTER_OTLP_ENDPOINT
      ? { endpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT, headers: env.OTEL_EXPORTER_OTLP_HEADERS, ratio: env.OTEL_TRACES_SAMPLER_ARG }
      : undefined,
    logLevel: env.LOG_LEVEL,
  }
}

/** Host names that always serve everything, whatever customers have. */
export const ownNamesOf = ({ publicUrl, installationNames }: Pick<Config, 'publicUrl' | 'installationNames'>) => [
  new URL(publicUrl).hostname.toLowerCase(),
  ...installationNames,
]

/**
 * Whether others than the people at this machine may reach this installation: then the first sign-up, which makes an operator, must prove that
 * it is the operator's. Listening on loopback alone does not count: a proxy may be in front.
 */
const isReachable = ({ HOST, PUBLIC_URL }: z.output<typeof Environment>) =>
  !(isLocalHost(HOST) || isLoopback(HOST)) || (PUBLIC_URL !== undefined && !isLocalHost(new URL(PUBLIC_URL).hostname))

/** Whether somebody may read the metrics of this node. */
export const hasMetrics = ({ metrics }: Config) => metrics.port !== undefined || metrics.token !== undefined

/** How an installation sends email. */
export type TransportKind = 'sandbox' | 'smtp' | 'ses'

/** Without a setting: the sandbox, which sends nothing. An API node does not send, so without a setting it adopts the transport of the installation. */
function readTransportKind({ SMTP_URL, SES_REGION, ROLE }: z.output<typeof Environment>): TransportKind | undefined {
  if (SMTP_URL) return 'smtp'
  if (SES_REGION) return 'ses'
  return ROLE === 'api' ? undefined : 'sandbox'
}

/** Whether this node has a transport that sends email for real. */
const hasTransport = ({ transportKind }: Config) => transportKind === 'smtp' || transportKind === 'ses'

/** Account emails need a sender address and a transport. */
export const sendsAccountEmails = (config: Config) => config.mailFrom !== undefined && hasTransport(config)

/** Easily overlooked: the reply to a password reset says that an email was sent. Workers send account emails, so an API node needs no MAIL_FROM. */
export const lacksMailFrom = (config: Config) => config.role !== 'api' && hasTransport(config) && !config.mailFrom
export const WITHOUT_MAIL_FROM = 'MAIL_FROM is not set: account emails (verifications, password resets, invitations) are stored, not sent'

const readCertificate = (keyFile: string | undefined, certFile: string | undefined) =>
  keyFile && certFile ? { keyFile, certFile } : undefined

/** Only API nodes accept submissions. Without a port nothing listens. */
function readSubmission(env: z.output<typeof Environment>) {
  const port = env.SMTP_SUBMISSION_PORT
  if (!port || env.ROLE === 'worker') return undefined
  return {
    port,
    host: env.SMTP_SUBMISSION_HOST,
    tls: env.SMTP_SUBMISSION_TLS,
    certificate: readCertificate(env.SMTP_SUBMISSION_TLS_KEY, env.SMTP_SUBMISSION_TLS_CERT),
    allowPlaintext: env.SMTP_SUBMISSION_ALLOW_PLAINTEXT,
    /** Where clients connect to. */
    public: env.SMTP_SUBMISSION_PUBLIC ?? { host: new URL(env.PUBLIC_URL ?? 'http://localhost').hostname, port },
  }
}

export type InboundConfig = NonNullable<Config['inbound']>
export type SubmissionConfig = NonNullable<Config['submission']>
export type SesConfig = NonNullable<Config['ses']>
export type S3Config = NonNullable<ReturnType<typeof readS3>>

export type StripeConfig = NonNullable<ReturnType<typeof readStripe>>

const DEFAULT_METERS = Object.fromEntries(METERED_CATEGORIES.map((category) => [category, `sterna_${category}`]))

/** All settings or none: an incomplete set would fail only at the first payment or upload. `also`: those that make sense only with the others. */
function requireAll(needed: Record<string, unknown>, also: unknown[], explain: (missing: string) => string): boolean {
  const missing = Object.entries(needed).flatMap(([name, value]) => (value ? [] : name))
  if (missing.length && (missing.length < Object.keys(needed).length || also.some(Boolean)))
    throw new ConfigError(explain(missing.join(', ')))
  return !missing.length
}

function readStripe(env: z.output<typeof Environment>) {
  const {
    STRIPE_SECRET_KEY,
    STRIPE_WEBHOOK_SECRET,
    STRIPE_PRICE_ID,
    STRIPE_METERS: meters = DEFAULT_METERS,
    STRIPE_API_BASE: apiBase,
  } = env
  const isComplete = requireAll(
    { STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET, STRIPE_PRICE_ID },
    [env.STRIPE_METERS, apiBase],
    (missing) => `To bill with Stripe, also set ${missing}; otherwise set no STRIPE_… at all.`,
  )
  if (!isComplete) return undefined
  return { secretKey: STRIPE_SECRET_KEY!, webhookSecret: STRIPE_WEBHOOK_SECRET!, prices: STRIPE_PRICE_ID!, meters, apiBase }
}

function readS3(env: z.output<typeof Environment>) {
  const { S3_ENDPOINT: endpoint, S3_BUCKET, S3_REGION, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, S3_PUBLIC_URL: publicUrl } = env
  const isComplete = requireAll(
    { S3_BUCKET, S3_REGION, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY },
    [endpoint, publicUrl],
    (missing) => `To store images in a bucket, also set ${missing}; to store them in DATA_DIR, set no S3_… at all.`,
  )
  if (!isComplete) return undefined
  const keys = { accessKeyId: S3_ACCESS_KEY_ID!, secretAccessKey: S3_SECRET_ACCESS_KEY! }
  return { endpoint, bucket: S3_BUCKET!, region: S3_REGION!, ...keys, publicUrl }
}
