import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { createServer, isIP } from 'node:net'
import { join } from 'node:path'
import { sql } from 'kysely'
import type pg from 'pg'
import { listStuckReports } from '../billing/reports.ts'
import { connect, one, type Pool } from '../db/index.ts'
import { newestMigration, pendingMigrations } from '../db/migrate.ts'
import { borrowDatabase, type Database } from '../db/open.ts'
import { withClient } from '../db/with-client.ts'
import { readPauses } from '../delivery/sender/limits/stored-pauses.ts'
import { createSesTransport } from '../delivery/transport/ses.ts'
import { probeRelay } from '../delivery/transport/smtp.ts'
import { readLinkHosts } from '../domains/link-hosts/link-host.ts'
import { listFailingDomains } from '../domains/sender-domains/domain.ts'
import { countStuckReactions } from '../events/dispatch.ts'
import { readOnlySource } from '../http/request-sources.ts'
import { listDrift } from '../ledger/checks.ts'
import { type Config, lacksMailFrom, loadConfig, sendsAccountEmails, WITHOUT_MAIL_FROM } from '../lib/config.ts'
import { ConfigError } from '../lib/errors/config-error.ts'
import { nearestFolder } from '../lib/make-folder.ts'
import { readMasterKeys } from '../lib/master-key.ts'
import { isLocalHost, isPublic } from '../lib/network/network.ts'
import { STERNA } from '../lib/process/command.ts'
import { createLog } from '../lib/process/log.ts'
import { readVersion } from '../lib/process/version.ts'
import { deriveSecrets, type Secrets } from '../lib/secrets.ts'
import { SECOND } from '../lib/text/units.ts'
import { checkSecret, readTransport } from '../nodes/instance.ts'
import { listPresent } from '../nodes/presence.ts'
import { PARTLY, readSendingHold } from '../nodes/sending-hold.ts'
import { countExpiringKeys } from '../projects/api-keys/api-key.ts'
import { openStorage, uploadFolderOf } from '../uploads/storage.ts'
import { countOverdueFacts } from '../webhooks/facts.ts'
import { type Check, failed, ok, warn } from './check.ts'
import { checkDatabaseSettings, checkPooler } from './database-checks.ts'
import { checkHost, describeCertificate } from './host-checks.ts'
import { checkReturnPath, sendRoundTrip } from './return-path.ts'
import { countSealedLeft, reportSecrets, type SecretReport } from './rewrite-secrets.ts'
import { checkSubmission } from './submission.ts'

const OLDEST_POSTGRES = 150_000
const LOW_DISK_GB = 1

/** `messageFrom`: sends a message out and back, from this address. */
type Options = { messageFrom?: string | undefined }

/** One line per check: its subject, the finding and, for a problem, the remedy. Changes nothing, except for the message of `messageFrom`. */
export async function diagnose(env: Record<string, string | undefined>, options: Options = {}): Promise<Check[]> {
  const checks: Check[] = [await describeVersion(), checkNode()]
  let config: Config
  try {
    config = loadConfig(env)
    checks.push(ok('configuration', `role ${config.role}, ${config.databaseUrl ? 'external database' : `data in ${config.dataDir}`}`))
  } catch (err) {
    return [...checks, failed('configuration', (err as Error).message)]
  }
  return [
    ...checks,
    ...(await checkSettings(config, async () => [await checkPort(config), ...(await checkInbound(config))])),
    ...(await checkDatabase(config, options)),
  ]
}

async function checkSettings(config: Config, checkPorts: () => Promise<Check[]>): Promise<Check[]> {
  // Together: those that ask the network may wait for seconds.
  const checks = await Promise.all([
    checkUploads(config),
    checkPorts(),
    checkSubmission(config),
    checkSes(config),
    checkRelay(config),
    checkHost(config),
  ])
  return [
    checkPublicUrl(config),
    ...checkNames(config),
    ...checkProxy(config),
    ...checkDisk(config),
    ...checks.flat(),
    ...checkAccountEmails(config),
  ]
}

async function describeVersion() {
  const { version, commit } = await readVersion()
  return ok('version', `Sterna ${version}${commit ? ` (commit ${commit})` : ''}, whose newest migration is ${newestMigration()}`)
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const enough = major > 20 || (major === 20 && minor >= 19)
  return enough ? ok('node', process.version) : failed('node', `${process.version} is too old; install Node 20.19 or newer`)
}

/** Links in emails start with it. Any URL will do for a trial, where no email is sent. */
function checkPublicUrl({ publicUrl, transportKind, environment }: Config) {
  const { protocol, hostname } = new URL(publicUrl)
  const isTrial = (transportKind ?? 'sandbox') === 'sandbox' && environment !== 'production'
  if (isLocalHost(hostname) && !isTrial)
    return warn('public url', `${publicUrl} cannot be reached from outside, and links in emails start with it; set PUBLIC_URL=https://…`)
  if (protocol === 'https:' || isLocalHost(hostname)) return ok('public url', publicUrl)
  const problem = `${publicUrl} is not https, and mail clients unsubscribe over https only`
  return warn('public url', `${problem}; put a TLS proxy in front and set PUBLIC_URL=https://…`)
}

/** Behind an untrusted proxy all clients have one address, and limits by address count them as one. */
function checkProxy({ publicUrl, trustProxy }: Config): Check[] {
  const { protocol, hostname } = new URL(publicUrl)
  if (protocol !== 'https:' || isLocalHost(hostname) || trustProxy?.length) return []
  const problem = 'PUBLIC_URL is https, so a proxy is in front, but TRUST_PROXY is not set'
  return [warn('proxy', `${problem}: limits by address would count all clients as one`)]
}

/** A wrong TRUST_PROXY shows itself by clients of the whole world with one private address. */
async function checkSources({ publicUrl }: Config, db: Pool): Promise<Check[]> {
  const { hostname } = new URL(publicUrl)
  const address = hostname.replace(/^\[|\]$/g, '')
  // An installation for this machine or its network has such clients only.
  if (isLocalHost(hostname) || (isIP(address) && !isPublic(address))) return []
  const only = await readOnlySource(db)
  if (!only) return []
  const what = `all ${only.requests} requests without credentials since the hour before came from ${only.address}, which is not a public address`
  return [warn('proxy', `${what}: limits by address count all clients as one; if it is your proxy, name it in TRUST_PROXY`)]
}

async function checkSes({ ses, snsTopics }: Config): Promise<Check[]> {
  if (!ses) return []
  const sns = snsTopics.length
    ? ok('sns', `accepts ${snsTopics.join(', ')}`)
    : warn('sns', 'SNS_TOPIC_ARNS is not set: bounces and complaints are not received; see docs/ses.md')
  const transport = createSesTransport(ses)
  try {
    const { perSecond, stopped } = await transport.quota!()
    const rate = Number.isFinite(perSecond) ? `${perSecond} emails per second` : 'any number of emails per second'
    return [stopped ? warn('ses', `${stopped} Emails wait until then.`) : ok('ses', `allows ${rate} in ${ses.region}`), sns]
  } catch (err) {
    const advice = 'check SES_REGION, the AWS credentials, and that they allow ses:GetAccount'
    return [failed('ses', `no answer from Amazon (${(err as Error).message}); ${advice}`), sns]
  } finally {
    await transport.close()
  }
}

/** Logs in and out again: credentials and the certificate are those of the next email. */
async function checkRelay({ smtpUrl, signsMessages, publicUrl }: Config): Promise<Check[]> {
  if (!smtpUrl) return []
  const { host, hostname } = new URL(smtpUrl)
  const found = await inTime(probeRelay({ url: smtpUrl, name: new URL(publicUrl).hostname })).catch((err: Error) => err)
  if (found instanceof Error) return [failed('relay', `${host} does not let Sterna in (${found.message}); check SMTP_URL`)]
  const signer = signsMessages ? 'signed with the key of the sender domain' : 'not signed, because of dkim=off: the relay must sign it'
  const { certificateUntil } = found
  const encryption = certificateUntil ? '' : ', over a connection that is not encrypted'
  const relay = ok('relay', `email leaves by ${host}, ${signer}${encryption}`)
  return certificateUntil ? [relay, describeCertificate('relay', hostname, certificateUntil)] : [relay]
}

const RELAY_MS = 10 * SECOND

function inTime<T>(answer: Promise<T>): Promise<T> {
  const late = new Promise<never>((_, reject) => setTimeout(reject, RELAY_MS, new Error('no answer in 10 s')).unref())
  return Promise.race([answer, late])
}

function checkAccountEmails(config: Config): Check[] {
  const { mailFrom } = config
  if (lacksMailFrom(config)) return [warn('account emails', `${WITHOUT_MAIL_FROM}; set MAIL_FROM`)]
  return mailFrom && sendsAccountEmails(config) ? [ok('account emails', `sent from ${mailFrom.address}`)] : []
}

function checkDisk({ dataDir, databaseUrl }: Config): Check[] {
  const folder = nearestFolder(dataDir)
  try {
    if (!statSync(folder).isDirectory()) throw new Error(`${folder} is not a folder`)
    accessSync(folder, constants.W_OK)
  } catch (err) {
    return [failed('data folder', `cannot write to ${dataDir} (${(err as Error).message}); fix its owner or set DATA_DIR`)]
  }
  const { bavail, bsize } = statfsSync(folder)
  const disk = describeDisk(bavail * bsize, dataDir)
  return databaseUrl ? [disk] : [disk, checkKeyFile(join(dataDir, 'secret.key'))]
}

export function describeDisk(freeBytes: number, dataDir: string): Check {
  const free = freeBytes / 1024 ** 3
  const room = `${free.toFixed(1)} GB free in ${dataDir}`
  return free < LOW_DISK_GB ? warn('disk', `${room}; free some, a full disk stops all email`) : ok('disk', room)
}

function checkKeyFile(path: string) {
  if (!existsSync(path)) return ok('secret key', 'will be created at the first start')
  const open = (statSync(path).mode & 0o077) !== 0
  return open
    ? warn('secret key', `others can read ${path}; run: chmod 600 '${path}'`)
    : ok('secret key', `stored in ${path}; back it up with the database`)
}

async function checkUploads(config: Config) {
  const { s3, role } = config
  const place = s3 ? `bucket ${s3.bucket}` : uploadFolderOf(config)
  try {
    await openStorage(config).check()
  } catch (err) {
    const advice = s3 ? 'check S3_…, and that the keys allow to put, get and delete objects' : 'fix its owner or set DATA_DIR'
    return failed('uploads', `cannot write to ${place} (${(err as Error).message}); ${advice}`)
  }
  if (!s3 && role !== 'all') return warn('uploads', `stored in ${place}, which other machines cannot read; with several machines set S3_…`)
  return ok('uploads', `stored in ${place}`)
}

/** Why nothing can listen on this port; undefined when it is free. */
const whyNotListen = (port: number, host: string | undefined) =>
  new Promise<string | undefined>((resolve) => {
    const probe = createServer()
    probe.once('error', (err: NodeJS.ErrnoException) => resolve(err.code ?? err.message))
    probe.listen(port, host, () => probe.close(() => resolve(undefined)))
  })

async function checkPort({ host, port, publicUrl }: Config) {
  const taken = await whyNotListen(port, host)
  if (!taken) return ok('port', `${host}:${port} is free`)
  const ours = await fetch(`http://${host}:${port}/health`, { signal: AbortSignal.timeout(2_000) }).then(
    (answer) => answer.ok,
    () => false,
  )
  if (ours) return ok('port', `Sterna answers on ${host}:${port} (${publicUrl})`)
  return failed('port', `${host}:${port} cannot be used (${taken}); stop what uses it, or set PORT`)
}

async function checkInbound({ inbound, bounceDomain, transportKind }: Config): Promise<Check[]> {
  if (!inbound) {
    const advice = 'set INBOUND_SMTP_PORT on the node that does'
    const isMissing = bounceDomain && transportKind === 'smtp'
    return isMissing ? [warn('inbound email', `bounces go to ${bounceDomain}, and this node does not receive them; ${advice}`)] : []
  }
  const taken = await whyNotListen(inbound.port, inbound.host)
  if (taken === undefined) return [ok('inbound email', `port ${inbound.port} is free`)]
  if (taken === 'EADDRINUSE') return [ok('inbound email', `port ${inbound.port} is in use; by Sterna, if it is running`)]
  return [failed('inbound email', `port ${inbound.port} cannot be used (${taken}); set INBOUND_SMTP_PORT`)]
}

async function checkDatabase(config: Config, options: Options): Promise<Check[]> {
  let database: Database | undefined
  try {
    database = await borrowDatabase(config, createLog('silent'))
    return [...(await inspect(config, database.url, options)), ...(await checkPooler(database))]
  } catch (err) {
    const advice = config.databaseUrl ? 'check DATABASE_URL and that the server accepts connections from here' : 'see the message above'
    return [failed('database', `${(err as Error).message}; ${advice}`)]
  } finally {
    await database?.stop()
  }
}

const inspect = (config: Config, url: string, options: Options): Promise<Check[]> =>
  withClient(url, 'sterna-doctor', async (client) => {
    const before = Date.now()
    const { rows } = await client.query<ServerFacts & { number: string }>(`${READ_SERVER}, current_setting('server_version_num') as number`)
    const { number, ...server } = rows[0]!
    if (Number(number) < OLDEST_POSTGRES) return [failed('database', `PostgreSQL ${server.version} is too old; Sterna needs 15 or newer`)]
    const schema = await checkMigrations(client)
    const isCurrent = schema.verdict === 'ok'
    return [describeServer(server, before), schema, ...(isCurrent ? await checkContents(config, url, options) : [])]
  })

async function checkMigrations(client: pg.Client): Promise<Check> {
  const exists = await client.query(`select to_regclass('migrations') is not null as yes`)
  try {
    const pending = exists.rows[0].yes ? await pendingMigrations((text) => client.query(text)) : ['all']
    if (!pending.length) return ok('migrations', 'up to date')
    return warn('migrations', `${pending.join(', ')} not applied yet; the next start does it, or run: ${STERNA} migrate`)
  } catch (err) {
    if (!(err instanceof ConfigError)) throw err
    return failed('migrations', err.message)
  }
}

async function checkContents(config: Config, url: string, { messageFrom }: Options): Promise<Check[]> {
  const db = connect({ url, max: 1, log: createLog('silent') })
  try {
    const checks = [await checkSealing(config, db), ...(await checkState(config, db))]
    if (messageFrom === undefined) return [...checks, ...checkReturnPath(config)]
    return [...checks, await sendRoundTrip({ config, db, url, secrets: deriveSecrets(...readMasterKeys(config)) }, messageFrom)]
  } finally {
    await db.destroy()
  }
}

const checkState = async (config: Config, db: Pool): Promise<Check[]> => [
  await checkTransport(config, db),
  ...(await checkSources(config, db)),
  ...(await checkSending(db)),
  await checkReactions(db),
  ...(await checkDatabaseSettings(config, db)),
  ...(await checkSenderDomains(db)),
  ...(await checkKeys(db)),
  ...(await checkCounts(db)),
  ...(await checkWebhooks(db)),
  ...(await checkLinkHosts(db)),
  ...(config.stripe ? [ok('billing', `Stripe, with the meters ${Object.values(config.stripe.meters).join(', ')}`)] : []),
  ...(await checkUsageReports(config, db)),
]

/** The same for a running node, without what its start has proven. */
export async function diagnoseRunning(config: Config, db: Pool): Promise<Check[]> {
  const settings = await checkSettings(config, async () => [])
  const ofNode = [await describeVersion(), checkNode(), ...settings]
  return [...ofNode, await checkClock(db), await checkWorkers(db), ...(await checkState(config, db)), ...checkReturnPath(config)]
}

/** Larger differences confuse people, not Sterna: it decides by the clock of the database. */
const MAX_SKEW_MS = 5 * SECOND

type ServerFacts = { now: Date; version: string }
const READ_SERVER = `select clock_timestamp() as now, current_setting('server_version') as version`

async function checkClock(db: Pool) {
  const before = Date.now()
  return describeServer(await one(db, sql.raw<ServerFacts>(READ_SERVER)), before)
}

/** `before`: the time of this node when it asked. */
function describeServer({ now, version }: ServerFacts, before: number) {
  const skew = Math.max(before - now.getTime(), now.getTime() - Date.now(), 0)
  const server = `PostgreSQL ${version}`
  if (skew <= MAX_SKEW_MS) return ok('database', `${server}, with the same time as this node`)
  return warn('database', `${server}; its clock and that of this node differ by ${Math.round(skew / SECOND)} s; synchronise them with NTP`)
}

async function checkWorkers(db: Pool) {
  const workers = (await listPresent(db)).filter((name) => name.includes('worker'))
  return workers.length
    ? ok('workers', workers.join(', '))
    : warn('workers', 'none is running: no email is sent; start a node with ROLE=worker or all')
}

const MAX_REPORTS_SHOWN = 20

/** Usage that Stripe may not have. A report is repeated for 23 hours, while Stripe drops copies of it. */
async function checkUsageReports({ stripe }: Config, db: Pool): Promise<Check[]> {
  const stuck = await listStuckReports(db, MAX_REPORTS_SHOWN, stripe && Object.keys(stripe.meters))
  return stuck.map(({ identifier, value, state, error }) => {
    const what = `${identifier} (${value} emails)`
    const command = `${STERNA} usage resolve ${identifier} sent|again`
    if (state === 'unknown')
      return failed(
        'usage report',
        `${what} may or may not be at Stripe (${error ?? 'no answer'}); look for it there, then run: ${command}`,
      )
    if (error) return warn('usage report', `${what} was not accepted and is tried again: ${error}`)
    return warn('usage report', `${what} was not sent for more than an hour; check that a worker runs with the settings of Stripe`)
  })
}

async function checkSealing(config: Config, db: Pool) {
  try {
    const secrets = deriveSecrets(...readMasterKeys(config))
    await checkSecret(db, secrets)
    return describeSecret(secrets, await reportSecrets(db, secrets))
  } catch (err) {
    return failed('secret', (err as Error).message)
  }
}

function describeSecret({ masters }: Secrets, report: SecretReport) {
  const sealed = countSealedLeft(report)
  if (sealed) return warn('secret', `${sealed} stored values need a former key; run: ${STERNA} secret rewrite`)
  if (masters.length === 1) return ok('secret', 'matches the keys stored in this database')
  const expiring = report.flatMap(({ what, left }) => (left ? [`${left} ${what}`] : []))
  const others = expiring.join(', ') || 'no session does'
  return ok('secret', `no stored value needs SECRET_KEY_PREVIOUS; links in emails that were sent do, ${others}`)
}

/** Rows that tell segments what changed. They are handled within a second, unless no worker runs or handling them fails. */
async function checkReactions(db: Pool) {
  const { overdue, failing } = await countStuckReactions(db)
  if (overdue) return warn('reactions', `${overdue} wait for more than five minutes, so segments are out of date; check that a worker runs`)
  if (failing) return warn('reactions', `${failing} failed and are tried again; the log of the workers says why`)
  return ok('reactions', 'none is overdue')
}

/** Facts are delivered within a second, unless no worker runs. */
async function checkWebhooks(db: Pool): Promise<Check[]> {
  const overdue = await countOverdueFacts(db)
  return overdue ? [warn('webhooks', `${overdue} facts wait for more than five minutes; check that a worker runs`)] : []
}

const MAX_DOMAINS_SHOWN = 10

/** Domains that may send and whose records were not found at the last check: soon they may not. */
async function checkSenderDomains(db: Pool): Promise<Check[]> {
  const failing = await listFailingDomains(db, MAX_DOMAINS_SHOWN)
  if (!failing.length) return []
  const which = failing.map(({ domain, lastError }) => `${domain} (${lastError ?? 'its records are missing'})`).join(', ')
  return [warn('sender domains', `verified, but their last check failed: ${which}; after three failed checks they may not send`)]
}

/** Customers cannot take these names as link hosts, and requests by them need no look-up. */
const checkNames = ({ installationNames }: Config): Check[] =>
  installationNames.length ? [ok('names', `besides that of PUBLIC_URL: ${installationNames.join(', ')}`)] : []

const MAX_HOSTS_SHOWN = 10

/** Their web server is ours: certificates and the proxy are the operator's. */
async function checkLinkHosts(db: Pool): Promise<Check[]> {
  const { verified, failing } = await readLinkHosts(db, MAX_HOSTS_SHOWN)
  if (!verified && !failing.length) return []
  const why = failing.map(({ host, error }) => `${host} (${error ?? 'not checked yet'})`).join(', ')
  const advice = 'does the proxy serve every name that /link-hosts/allowed allows? See docs/link-hosts.md'
  return [
    failing.length ? warn('link hosts', `pointed here and not verified: ${why}; ${advice}`) : ok('link hosts', `${verified} verified`),
  ]
}

/** API keys that are in use and stop working soon. */
async function checkKeys(db: Pool): Promise<Check[]> {
  const expiring = await countExpiringKeys(db)
  return expiring ? [warn('keys', `${expiring} API keys in use expire within 14 days; their projects should rotate or prolong them`)] : []
}

/** Counts that were not those of what they count. */
const checkCounts = async (db: Pool): Promise<Check[]> =>
  (await listDrift(db)).map(({ projectId, at, drift }) => {
    const rows = Object.entries(drift).map(([table, count]) => `${table} (${count} rows)`)
    const what = `of project ${projectId} were wrong in ${rows.join(', ')}`
    return warn('counts', `${what}, and were corrected at ${at.toISOString()}; please report it`)
  })

/** That nothing is paused would mislead while sending is held. */
async function checkSending(db: Pool): Promise<Check[]> {
  const [hold, pauses] = [await checkHold(db), await checkPauses(db)]
  return hold.length ? [...hold, ...pauses.filter(({ verdict }) => verdict !== 'ok')] : pauses
}

async function checkHold(db: Pool): Promise<Check[]> {
  const hold = await readSendingHold(db)
  if (!hold) return []
  const advice = hold.untilResumed
    ? `look at what waits, then run: ${STERNA} sending resume`
    : 'it ends by itself when all workers have repeated what they had settled'
  const what =
    hold.kind === 'full'
      ? `held in full: nothing leaves, and workflows stand still, since ${hold.since.toISOString()}`
      : `held in part: ${PARTLY} ${hold.since.toISOString()}`
  return [failed('sending', `${what}: ${hold.reason}; ${advice}`)]
}

const MAX_PAUSES_SHOWN = 20

/** Pauses after refusals by the relay or provider. Emails wait, and none fails because of a pause. */
async function checkPauses(db: Pool): Promise<Check[]> {
  const pauses = await readPauses(db)
  if (!pauses.length) return [ok('sending', 'nothing is paused')]
  return pauses.slice(0, MAX_PAUSES_SHOWN).map(({ projectId, domain, reason, since, failedProbes }) => {
    const what = domain ? `${domain} (project ${projectId})` : 'all sending'
    return warn('sending', `${what} is paused since ${since.toISOString()}, probed ${failedProbes} times without success: ${reason}`)
  })
}

/** All nodes must have the same transport. */
async function checkTransport({ transportKind }: Config, db: Pool) {
  const stored = await readTransport(db)
  if (!stored)
    return ok('transport', transportKind ? `${transportKind}, from the first start on` : 'not known until the first worker starts')
  if (!transportKind || transportKind === stored) return ok('transport', stored)
  const others = await listPresent(db)
  if (!others.length) return warn('transport', `${stored} so far; the next start with these settings changes it to ${transportKind}`)
  const difference = `${transportKind} here, ${stored} on running nodes (${others.join(', ')})`
  return failed('transport', `${difference}; give all nodes the same SMTP_URL or SES_…`)
}
