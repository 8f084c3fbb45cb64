import { isIP } from 'node:net'
import { resolve } from 'node:path'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { ConfigError } from './errors/config-error.ts'
import { isLocalHost, isLoopback } from './network/network.ts'
import { readAddress, readDomain } from './text/address.ts'
import { SECOND } from './text/units.ts'

const flag = z.enum(['true', 'false', '1', '0']).transform((text) => text === 'true' || text === '1')
const wholeNumber = (min: number, max: number) => z.coerce.number().int().min(min).max(max)
const list = z.string().transform((text) => text.split(',').map((entry) => entry.trim()))
const httpUrl = z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, ''))

/**
 * One host: pg would take `a,b` for a name. Not z.url(): libpq's form for unix sockets, postgres://user@/db?host=/run, is not a WHATWG URL.
 */
const databaseUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\/\S+$/, 'must look like postgres://user:password@host:5432/database')
  .refine(
    (url) => !hasSeveralHosts(url),
    'must name one host. For several servers, name a TCP proxy that leads to the primary, such as HAProxy, or the address that your cluster has for it',
  )

/** libpq separates hosts by commas, in the authority or in the parameters `host` and `hostaddr`. A password may have commas, too. */
function hasSeveralHosts(url: string) {
  const [path = '', query] = url.split('?')
  const authority = path.split('/')[2] ?? ''
  const params = new URLSearchParams(query)
  const hosts = [authority.slice(authority.lastIndexOf('@') + 1), ...params.getAll('host'), ...params.getAll('hostaddr')]
  return hosts.some((host) => host.includes(','))
}

/** Does not accept `true` or `1`: those would trust X-Forwarded-For of any client. */
const isProxy = (entry: string) =>
  ['loopback', 'linklocal', 'uniquelocal'].includes(entry) || ipaddr.isValidCIDR(entry) || (/[.:]/.test(entry) && ipaddr.isValid(entry))

/** `9.9.9.9`, `10.0.0.2:5353`, `2620:fe::fe`, `[2620:fe::fe]:53`. No host names: they would need a DNS server to be resolved. */
function isDnsServer(entry: string) {
  const [, bracketed, plain, port = '53'] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(entry) ?? []
  const ip = bracketed ?? plain ?? entry
  return isIP(ip) > 0 && (bracketed === undefined || isIP(ip) === 6) && Number(port) >= 1 && Number(port) <= 65_535
}

/** `sterna.internal`, or a single label as inside a cluster. Names are compared without a port, and addresses are never link hosts. */
const readHostName = (entry: string) => {
  const name = entry.toLowerCase().replace(/\.$/, '')
  return /^(?=.*[a-z])[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name) ? name : readDomain(name)
}

/** Categories of usage that meters of Stripe can count. */
const METERED = ['workflows', 'campaigns', 'transactional', 'inbound'] as const
const isMeter = ([category = '', name = '', ...rest]: string[]) =>
  (METERED as readonly string[]).includes(category) && /^[\w.-]{1,100}$/.test(name) && !rest.length

const isTopic = (entry: string) => /^arn:aws(-cn|-us-gov)?:sns:[a-z]{2}(-[a-z]+)+-\d:\d{12}:[\w-]{1,256}$/.test(entry)

/** `mail@example.com` or `Example <mail@example.com>`. */
function readMailbox(text: string) {
  const [, name = '', inner = text] = /^(.*)<([^<>]*)>\s*$/.exec(text) ?? []
  const address = readAddress(inner)
  return address && { name: name.trim().replace(/^"(.*)"$/, '$1') || 'Sterna', address }
}

/** `smtp.example.com:587` */
function readHostAndPort(text: string) {
  const [, host = '', port = ''] = /^([a-z0-9.-]+):(\d{1,5})$/i.exec(text.trim()) ?? []
  return host && Number(port) >= 1 && Number(port) <= 65_535 ? { host: host.toLowerCase(), port: Number(port) } : null
}

/** `?dkim=off`: the relay signs. */
const readDkim = (smtpUrl: string) => (URL.canParse(smtpUrl) ? new URL(smtpUrl).searchParams.get('dkim') : null)

const MasterKey = z
  .string()
  .min(32, 'must have at least 32 characters; create one with: openssl rand -hex 32')
  .regex(/^[^,]*$/, 'must not contain a comma; create one with: openssl rand -hex 32')

const Environment = z.object({
  NODE_ENV: z.string().default('development'),
  HOST: z.string().default('127.0.0.1'),
  PORT: wholeNumber(0, 65_535).default(3000),
  PUBLIC_URL: httpUrl.optional(),
  DATA_DIR: z.string().default('./data'),
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_DIRECT_URL: databaseUrl
    .optional()
    .describe(
      'The server behind the pooler of `DATABASE_URL`, for what needs a connection of its own. Required with a pooler in transaction mode.',
    ),
  DATABASE_FAILOVER: z
    .enum(['auto', 'hold', 'continue'])
    .default('auto')
    .describe(
      'After a failover of the database: `auto` goes by what the workers know, `hold` lets a person decide, `continue` never holds sending.',
    ),
  DATABASE_POOL_SIZE: wholeNumber(2, 500).default(20),
  DATABASE_WAIT_SECONDS: wholeNumber(0, 3600).default(60),
  SHUTDOWN_DELAY_SECONDS: wholeNumber(0, 300).default(0),
  ROLE: z.enum(['all', 'api', 'worker']).default('all'),
  SECRET_KEY: MasterKey.optional(),
  SECRET_KEY_PREVIOUS: list.pipe(z.array(MasterKey)).default([]),
  RATE_LIMIT_PER_MINUTE: wholeNumber(0, 1_000_000_000).default(1000),
  REQUEST_BODY_BUDGET_MB: wholeNumber(1, 1_000_000).default(128),
  IDEMPOTENCY_TTL_HOURS: wholeNumber(1, 8760).default(24),
  EVENT_RETENTION_MONTHS: wholeNumber(0, 1200).default(0),
  EMAIL_RETENTION_MONTHS: wholeNumber(0, 1200).default(0),
  DISABLE_SIGNUPS: flag.default(false),
  CLAIM_FIRST_ACCOUNT: flag.default(true),
  TRUST_PROXY: list
    .refine((entries) => entries.every(isProxy), 'must be addresses or CIDRs of your proxies, such as 10.0.0.1,192.168.0.0/16, or loopback')
    .optional(),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/, hostname: /./, error: 'must look like smtp://user:password@host:587 or smtps://…' })
    .refine((url) => ['on', 'off', null].includes(readDkim(url)), 'dkim must be "on", which is the default, or "off"')
    .optional(),
  SMTP_CONNECTIONS: wholeNumber(1, 200).default(34),
  SES_REGION: z
    .string()
    .regex(/^[a-z]{2}(-[a-z]+)+-\d$/, 'must be an AWS region, such as eu-central-1')
    .optional(),
  SES_ENDPOINT: httpUrl.optional(),
  SES_CONFIGURATION_SET: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'must be the name of a configuration set: letters, digits, - and _')
    .optional(),
  SNS_TOPIC_ARNS: list
    .refine((entries) => entries.every(isTopic), 'must be ARNs of topics, such as arn:aws:sns:eu-central-1:123456789012:sterna')
    .optional(),
  DNS_SERVERS: list
    .refine((entries) => entries.every(isDnsServer), 'must be addresses of DNS servers, such as 9.9.9.9,10.0.0.2:5353 or [2620:fe::fe]:53')
    .optional(),
  WEBHOOK_ALLOW_PRIVATE: list
    .refine((entries) => entries.every((entry) => ipaddr.isValidCIDR(entry)), 'must be CIDRs, such as 10.0.0.0/8,fd00::/8')
    .optional(),
  EXECUTION_RETENTION_MONTHS: wholeNumber(0, 1200).default(0),
  UPLOAD_QUOTA_MB: wholeNumber(0, 1_000_000_000).default(1024),
  S3_ENDPOINT: httpUrl.optional(),
  S3_BUCKET: z.string().optional(),
  S3_REGION: z.string().optional(),
  S3_ACCESS_KEY_ID: z.string().optional(),
  S3_SECRET_ACCESS_KEY: z.string().optional(),
  S3_PUBLIC_URL: httpUrl.optional(),
  MAIL_FROM: z
    .string()
    .transform(readMailbox)
    .refine((mailbox) => mailbox !== null, 'must be an address, such as mail@example.com or "Example <mail@example.com>"')
    .optional(),
  BOUNCE_DOMAIN: z
    .string()
    .transform((text) => readDomain(text.toLowerCase()))
    .refine((domain) => domain !== null, 'must be a domain, such as bounces.example.com')
    .optional(),
  INSTALLATION_NAMES: list
    .transform((entries) => entries.map(readHostName))
    .refine(
      (names): names is string[] => !names.includes(null),
      'must be host names without scheme and port, such as sterna.internal,mail2.example.com',
    )
    .default([]),
  INBOUND_SMTP_PORT: wholeNumber(1, 65_535).optional(),
  INBOUND_SMTP_HOST: z.string().optional(),
  INBOUND_SMTP_TLS_KEY: z.string().optional(),
  INBOUND_SMTP_TLS_CERT: z.string().optional(),
  SMTP_SUBMISSION_PORT: wholeNumber(1, 65_535).optional(),
  SMTP_SUBMISSION_HOST: z.string().optional(),
  SMTP_SUBMISSION_TLS: z.enum(['starttls', 'implicit']).default('starttls'),
  SMTP_SUBMISSION_TLS_KEY: z.string().optional(),
  SMTP_SUBMISSION_TLS_CERT: z.string().optional(),
  SMTP_SUBMISSION_ALLOW_PLAINTEXT: flag.default(false),
  SMTP_SUBMISSION_PUBLIC: z
    .string()
    .transform(readHostAndPort)
    .refine((found) => found !== null, 'must be the host and port that clients connect to, such as smtp.example.com:587')
    .optional(),
  SANDBOX_DELIVERIES: flag.default(true),
  SEND_RATE_PER_SECOND: wholeNumber(1, 100_000).optional(),
  MAX_ATTACHMENTS: wholeNumber(0, 100).default(10),
  MAX_ATTACHMENT_MB: wholeNumber(0, 30).default(10),
  AUTO_DISABLE_PROJECTS: flag.default(true),
  STRIPE_SECRET_KEY: z.string().optional(),
  STRIPE_WEBHOOK_SECRET: z.string().optional(),
  STRIPE_PRICE_ID: list
    .refine((prices) => prices.every((price) => /^price_\w{1,250}$/.test(price)) && prices.length <= 20, 'must be ids of prices: price_…')
    .optional(),
  STRIPE_METERS: list
    .transform((entries) => entries.map((entry) => entry.split('=')))
    .refine(
      (pairs) => pairs.every(isMeter),
      `must be pairs of a category (${METERED.join(', ')}) and the event name of a meter: inbound=received`,
    )
    .transform((pairs) => Object.fromEntries(pairs) as Partial<Record<(typeof METERED)[number], string>>)
    .optional(),
  STRIPE_API_BASE: httpUrl.optional(),
  METRICS_PORT: wholeNumber(1, 65_535).optional(),
  METRICS_HOST: z.string().default('127.0.0.1'),
  METRICS_TOKEN: z.string().min(16, 'must have at least 16 characters').optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: list
    .transform((entries) => entries.map((entry) => entry.split('=')))
    .refine(
      (pairs) => pairs.every(([name, ...value]) => name && value.length),
      'must be pairs of a name and a value: authorization=Bearer%20secret',
    )
    .transform((pairs) => Object.fromEntries(pairs.map(([name, ...value]) => [name!, decodeURIComponent(value.join('='))])))
    .default({}),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
})

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

const DEFAULT_METERS = Object.fromEntries(METERED.map((category) => [category, `sterna_${category}`]))

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
