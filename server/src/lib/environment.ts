import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { readAddress, readDomain } from './text/address.ts'

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
export const METERED_CATEGORIES = ['workflows', 'campaigns', 'transactional', 'inbound'] as const
const isMeter = ([category = '', name = '', ...rest]: string[]) =>
  (METERED_CATEGORIES as readonly string[]).includes(category) && /^[\w.-]{1,100}$/.test(name) && !rest.length

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
export const readDkim = (smtpUrl: string) => (URL.canParse(smtpUrl) ? new URL(smtpUrl).searchParams.get('dkim') : null)

const MasterKey = z
  .string()
  .min(32, 'must have at least 32 characters; create one with: openssl rand -hex 32')
  .regex(/^[^,]*$/, 'must not contain a comma; create one with: openssl rand -hex 32')

/**
 * Every setting, in the order of docs/configuration.md, which is made from the descriptions. A blank line divides the sections, whose
 * titles are in configuration.test.ts.
 */
export const Environment = z.object({
  PORT: wholeNumber(0, 65_535).default(3000).describe('The port of the API and the dashboard.'),
  HOST: z.string().default('127.0.0.1').describe('The address to listen on; `0.0.0.0` to be reachable from outside, as in the image.'),
  PUBLIC_URL: httpUrl
    .optional()
    .describe('The base of every link; with `https://` cookies are `Secure`. Without it `http://localhost:PORT`.'),
  INSTALLATION_NAMES: list
    .transform((entries) => entries.map(readHostName))
    .refine(
      (names): names is string[] => !names.includes(null),
      'must be host names without scheme and port, such as sterna.internal,mail2.example.com',
    )
    .default([])
    .describe(
      'Other host names by which Sterna is reached, separated by commas: they serve everything, and customers cannot take them as [link hosts](link-hosts.md#names-of-the-installation).',
    ),
  TRUST_PROXY: list
    .refine((entries) => entries.every(isProxy), 'must be addresses or CIDRs of your proxies, such as 10.0.0.1,192.168.0.0/16, or loopback')
    .optional()
    .describe('Addresses or CIDRs of your reverse proxies, separated by commas, or `loopback`; only then `X-Forwarded-For` is trusted.'),

  DATA_DIR: z.string().default('./data').describe('The folder of the embedded database, uploaded images and the generated secret key.'),
  SECRET_KEY: MasterKey.optional().describe(
    'Seals API keys and signs links. Required with `DATABASE_URL`, the same on every node; otherwise it is made once and kept in `DATA_DIR`.',
  ),
  SECRET_KEY_PREVIOUS: list
    .pipe(z.array(MasterKey))
    .default([])
    .describe(
      'Former secret keys, separated by commas: links, tokens and API keys made with them stay valid, see [operating](operating.md#changing-the-secret-key).',
    ),

  DATABASE_URL: databaseUrl
    .optional()
    .describe('An external PostgreSQL, 15 or newer: `postgres://user:password@host:5432/database`. Without it the embedded one is used.'),
  DATABASE_DIRECT_URL: databaseUrl
    .optional()
    .describe(
      'The server behind the pooler of `DATABASE_URL`, for what needs a connection of its own. Required with a [pooler in transaction mode](operating.md#connection-poolers).',
    ),
  DATABASE_FAILOVER: z
    .enum(['auto', 'hold', 'continue'])
    .default('auto')
    .describe(
      'After a [failover](operating.md#standbys-and-failover) of the database: `auto` goes by what the workers know, `hold` lets a person decide, `continue` never holds sending.',
    ),
  DATABASE_POOL_SIZE: wholeNumber(2, 500)
    .default(20)
    .describe('Connections per process; a worker has up to twelve more, four of them reserved for marks, leases and settlement of emails.'),
  DATABASE_WAIT_SECONDS: wholeNumber(0, 3600)
    .default(60)
    .describe(
      'How long each step of the start waits for a database that is away, starting or too slow; until then `/health` is 200 and everything else 503.',
    ),

  ROLE: z.enum(['all', 'api', 'worker']).default('all').describe('Whether this process serves the API, does background work, or both.'),
  SHUTDOWN_DELAY_SECONDS: wholeNumber(0, 300)
    .default(0)
    .describe('How long an API node answers requests after it has turned unready, see [health](operating.md#health).'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('JSON lines on standard output; `debug` adds a line per request.'),
  NODE_ENV: z
    .string()
    .default('development')
    .describe('A name for this installation, shown in `/config` and nowhere else; the image sets `production`.'),

  DISABLE_SIGNUPS: flag.default(false).describe('`true`: new accounts only by invitation or command line.'),
  CLAIM_FIRST_ACCOUNT: flag
    .default(true)
    .describe(
      'Where others can reach Sterna (`HOST` or the host of `PUBLIC_URL` is not loopback), the first sign-up needs the [claim code](operating.md#the-first-account) from the log; `false`: it never does.',
    ),
  MAIL_FROM: z
    .string()
    .transform(readMailbox)
    .refine((mailbox) => mailbox !== null, 'must be an address, such as mail@example.com or "Example <mail@example.com>"')
    .optional()
    .describe(
      'The sender of emails to account holders, `mail@example.com` or `Example <mail@example.com>`. Workers need it; without it, or in the sandbox, [these emails are kept](#emails-to-account-holders).',
    ),

  SMTP_URL: z
    .url({ protocol: /^smtps?$/, hostname: /./, error: 'must look like smtp://user:password@host:587 or smtps://…' })
    .refine((url) => ['on', 'off', null].includes(readDkim(url)), 'dkim must be "on", which is the default, or "off"')
    .optional()
    .describe(
      '`smtp://user:password@host:587` or `smtps://…`: email is sent through this relay, signed with the key of its domain, so sender domains must be [verified](domains.md). Encrypted whenever the relay offers it; `?tls=required` insists, and so does a password unless the host is local or `?tls=off` is given. `?dkim=off` is for a relay that signs: Sterna then [does not](domains.md#relays-that-sign). Workers need it, API nodes may have it, and [all nodes must agree](operating.md#settings-that-nodes-share).',
    ),
  SMTP_CONNECTIONS: wholeNumber(1, 200)
    .default(34)
    .describe(
      'Connections to the relay that campaigns and workflows of a worker use at once; transactional emails have [some more](operating.md#many-machines).',
    ),
  SES_REGION: z
    .string()
    .regex(/^[a-z]{2}(-[a-z]+)+-\d$/, 'must be an AWS region, such as eu-central-1')
    .optional()
    .describe(
      'Email is sent through [Amazon SES](ses.md), with the usual AWS credentials, on every node. Neither this nor `SMTP_URL` on a worker: **sandbox**, nothing leaves the machine and domains are verified at once.',
    ),
  SES_CONFIGURATION_SET: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'must be the name of a configuration set: letters, digits, - and _')
    .optional()
    .describe('The configuration set of every email.'),
  SES_ENDPOINT: httpUrl.optional().describe("Another address of the service than Amazon's."),
  SNS_TOPIC_ARNS: list
    .refine((entries) => entries.every(isTopic), 'must be ARNs of topics, such as arn:aws:sns:eu-central-1:123456789012:sterna')
    .optional()
    .describe('Topics of Amazon SNS, separated by commas, whose notifications at `/webhooks/sns` are accepted.'),
  SEND_RATE_PER_SECOND: wholeNumber(1, 100_000)
    .optional()
    .describe('Emails per second and worker. Without it what SES allows, and no limit with a relay.'),
  MAX_ATTACHMENTS: wholeNumber(0, 100).default(10).describe('Attachments of one email.'),
  MAX_ATTACHMENT_MB: wholeNumber(0, 30).default(10).describe('Their total size.'),
  SANDBOX_DELIVERIES: flag.default(true).describe('The sandbox reports every email as delivered; `false` leaves it at sent.'),
  AUTO_DISABLE_PROJECTS: flag.default(true).describe('Disables projects with a critical [bounce or complaint rate](reputation.md).'),

  SMTP_SUBMISSION_PORT: wholeNumber(1, 65_535)
    .optional()
    .describe('Accepts messages of your programs [by SMTP](smtp.md) on this port, on API nodes.'),
  SMTP_SUBMISSION_HOST: z.string().optional().describe('The address to listen on for them. Without it all addresses.'),
  SMTP_SUBMISSION_TLS: z.enum(['starttls', 'implicit']).default('starttls').describe('How connections are encrypted.'),
  SMTP_SUBMISSION_TLS_KEY: z
    .string()
    .optional()
    .describe('The PEM file of the private key. Without it only clients on the same machine may log in.'),
  SMTP_SUBMISSION_TLS_CERT: z.string().optional().describe('The PEM file of the certificate.'),
  SMTP_SUBMISSION_ALLOW_PLAINTEXT: flag.default(false).describe('`true`: clients on other machines may log in without encryption.'),
  SMTP_SUBMISSION_PUBLIC: z
    .string()
    .transform(readHostAndPort)
    .refine((found) => found !== null, 'must be the host and port that clients connect to, such as smtp.example.com:587')
    .optional()
    .describe(
      'The host and port that clients connect to, shown in the dashboard: `smtp.example.com:587`. Without it the host of `PUBLIC_URL` and the port.',
    ),

  BOUNCE_DOMAIN: z
    .string()
    .transform((text) => readDomain(text.toLowerCase()))
    .refine((domain) => domain !== null, 'must be a domain, such as bounces.example.com')
    .optional()
    .describe('With `SMTP_URL`: every email gets a signed return path on this domain, see [bounces and received mail](inbound.md).'),
  INBOUND_SMTP_PORT: wholeNumber(1, 65_535)
    .optional()
    .describe('Accepts bounces, complaints and mail for verified domains by SMTP on this port.'),
  INBOUND_SMTP_HOST: z.string().optional().describe('The address to listen on for them. Without it all addresses.'),
  INBOUND_SMTP_TLS_KEY: z.string().optional().describe('The PEM file of the private key for STARTTLS.'),
  INBOUND_SMTP_TLS_CERT: z.string().optional().describe('The PEM file of the certificate for STARTTLS.'),

  RATE_LIMIT_PER_MINUTE: wholeNumber(0, 1_000_000_000).default(1000).describe('Requests per project; `0` switches the limit off.'),
  REQUEST_BODY_BUDGET_MB: wholeNumber(1, 1_000_000)
    .default(128)
    .describe(
      'Request bodies and submitted messages above 16 KB that a process holds at once, at most half of it for one owner and all of their projects; beyond it the answer is 503 with `Retry-After`. Leave four times as much memory.',
    ),
  IDEMPOTENCY_TTL_HOURS: wholeNumber(1, 8760).default(24).describe('How long an `Idempotency-Key` is remembered.'),

  EMAIL_RETENTION_MONTHS: wholeNumber(0, 1200)
    .default(0)
    .describe(
      'Months of emails and their contents to keep besides the current one; `0` keeps all. What is [removed and what stays](sending.md#retention).',
    ),
  EVENT_RETENTION_MONTHS: wholeNumber(0, 1200).default(0).describe('Months of events to keep besides the current one; `0` keeps all.'),
  EXECUTION_RETENTION_MONTHS: wholeNumber(0, 1200)
    .default(0)
    .describe('Months that executions of [workflows](workflows.md) are kept after their end; `0` keeps all.'),

  DNS_SERVERS: list
    .refine((entries) => entries.every(isDnsServer), 'must be addresses of DNS servers, such as 9.9.9.9,10.0.0.2:5353 or [2620:fe::fe]:53')
    .optional()
    .describe("DNS servers for every lookup, such as `9.9.9.9,10.0.0.2:5353`. Without it the system's."),
  WEBHOOK_ALLOW_PRIVATE: list
    .refine((entries) => entries.every((entry) => ipaddr.isValidCIDR(entry)), 'must be CIDRs, such as 10.0.0.0/8,fd00::/8')
    .optional()
    .describe('Private networks that webhooks of workflows may call, as CIDRs: `10.0.0.0/8,fd00::/8`. Without it only public addresses.'),

  UPLOAD_QUOTA_MB: wholeNumber(0, 1_000_000_000).default(1024).describe('Images per project; `0` means no limit.'),
  S3_BUCKET: z.string().optional().describe('Stores images in this bucket. Without it in `DATA_DIR/uploads`.'),
  S3_REGION: z.string().optional().describe('The region of the bucket.'),
  S3_ACCESS_KEY_ID: z.string().optional().describe('The credentials for the bucket.'),
  S3_SECRET_ACCESS_KEY: z.string().optional().describe('The credentials for the bucket.'),
  S3_ENDPOINT: httpUrl.optional().describe("The address of the service, for a bucket that is not Amazon's."),
  S3_PUBLIC_URL: httpUrl.optional().describe('The public address of the bucket, if it is publicly reachable.'),

  STRIPE_SECRET_KEY: z.string().optional().describe('Bills usage with [Stripe](billing.md#stripe).'),
  STRIPE_WEBHOOK_SECRET: z.string().optional().describe('The signing secret of its notifications.'),
  STRIPE_PRICE_ID: list
    .refine((prices) => prices.every((price) => /^price_\w{1,250}$/.test(price)) && prices.length <= 20, 'must be ids of prices: price_…')
    .optional()
    .describe('The prices of a subscription, separated by commas.'),
  STRIPE_METERS: list
    .transform((entries) => entries.map((entry) => entry.split('=')))
    .refine(
      (pairs) => pairs.every(isMeter),
      `must be pairs of a category (${METERED_CATEGORIES.join(', ')}) and the event name of a meter: inbound=received`,
    )
    .transform((pairs) => Object.fromEntries(pairs) as Partial<Record<(typeof METERED_CATEGORIES)[number], string>>)
    .optional()
    .describe(
      'The meters that usage is reported to, such as `inbound=received`. Without it `sterna_` and the category, for all categories.',
    ),
  STRIPE_API_BASE: httpUrl.optional().describe("Another address of the API than Stripe's."),

  METRICS_PORT: wholeNumber(1, 65_535).optional().describe('[Metrics](monitoring.md) for Prometheus, on a port of their own.'),
  METRICS_HOST: z.string().default('127.0.0.1').describe('The address to listen on for them.'),
  METRICS_TOKEN: z
    .string()
    .min(16, 'must have at least 16 characters')
    .optional()
    .describe('Metrics at `/metrics` of the usual port, for clients with this token.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional().describe('A collector of OpenTelemetry, which gets [traces](monitoring.md#traces).'),
  OTEL_EXPORTER_OTLP_HEADERS: list
    .transform((entries) => entries.map((entry) => entry.split('=')))
    .refine(
      (pairs) => pairs.every(([name, ...value]) => name && value.length),
      'must be pairs of a name and a value: authorization=Bearer%20secret',
    )
    .transform((pairs) => Object.fromEntries(pairs.map(([name, ...value]) => [name!, decodeURIComponent(value.join('='))])))
    .default({})
    .describe('Headers for it, separated by commas: `authorization=Bearer%20secret`.'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1).describe('The share of traces that is recorded, from 0 to 1.'),
})
