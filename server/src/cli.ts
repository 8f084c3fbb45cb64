import { parseArgs } from 'node:util'
import { listAccountEmails, readAccountEmail } from './account-emails/account-email.ts'
import { createUser, setOperator } from './auth/accounts.ts'
import { readClaimCode } from './auth/claim-code.ts'
import { createPasswords, NewPassword } from './auth/passwords.ts'
import { backUp, type Manifest } from './backup/back-up.ts'
import { restore } from './backup/restore.ts'
import { resolveReport } from './billing/reports.ts'
import { connect, maybeOne, type Pool, transact } from './db/index.ts'
import { migrate } from './db/migrate.ts'
import { borrowDatabase } from './db/open.ts'
import { explainEmail } from './delivery/emails/explain.ts'
import { diagnose } from './doctor/doctor.ts'
import { countSealedLeft, rewriteSecrets } from './doctor/rewrite-secrets.ts'
import { recountProject } from './ledger/checks.ts'
import { LEDGERS } from './ledgers.ts'
import { type Config, loadConfig } from './lib/config.ts'
import { isId } from './lib/id.ts'
import { readMasterKeys } from './lib/master-key.ts'
import { STERNA } from './lib/process/command.ts'
import { createLog } from './lib/process/log.ts'
import { VERSION } from './lib/process/version-number.ts'
import { deriveSecrets, randomToken, type Secrets } from './lib/secrets.ts'
import { readAddress } from './lib/text/address.ts'
import { MB } from './lib/text/units.ts'
import { exportProject } from './moving/export-project.ts'
import { importProject } from './moving/import-project.ts'
import type { RowCounts } from './moving/project-file.ts'
import { checkSecret, hasAccounts } from './nodes/instance.ts'
import { holdSending, resumeSending, UNTIL_RESUMED } from './nodes/sending-hold.ts'
import { createProject, ProjectName } from './projects/project.ts'
import { listMarks } from './projects/suspension-marks.ts'
import { disableProject, enableProject } from './projects/suspensions.ts'
import { liftSuspension } from './reputation/acknowledge.ts'
import { startAnew } from './reputation/figures.ts'

type Context = { config: Config; db: Pool; secrets: Secrets; options: Options; args: string[] }
type Options = ReturnType<typeof readArguments>['values']

/** A mistake on the command line. */
class UsageError extends Error {}

const USAGE = `Usage: ${STERNA} <command>

  start                                               run this node, as its settings say (see docs/configuration.md)
  claim-code                                          print the code that the first sign-up needs
  user create --email <address> [--password <text>]   create an account (generates a password if none is given)
  user operator --email <address> [--off]             make an account an operator of this installation, or no longer
  project create --name <name> --owner <address>      create a project and print its keys
  project disable <project id> [--reason <text>]      stop a project: it can be read, not changed, and its emails wait
  project enable <project id>                         let a project send again; its rates count from now on
  project export <project id> <file> [--with-secrets] write a project into a file for another installation, with its keys if you say so
  project import <file> [--owner <address>]           create a project from such a file; it sends nothing by itself
  project recount <project id>                        compare all counts of a project with what they count, and correct them
  suspension list                                     list suspended projects of the last 30 days, with what they block
  suspension lift <project id>                        lift a suspension, also of a deleted project: its domains and its owner are free
  mail list                                           list the latest account emails
  mail show <id>                                      show an account email with its link
  explain email <id>                                  explain what happened to an email and what happens next
  usage resolve <identifier> sent|again               settle a usage report that doctor lists as unknown
  secret rewrite                                      seal all stored values with SECRET_KEY, so that former keys can go
  backup <folder>                                     copy the embedded database, images and secret key into a new folder
  restore <folder>                                    make a new DATA_DIR from a backup
  sending hold [--reason <text>]                      let nothing leave, and workflows stand still, as after a restore
  sending resume                                      go on, after you have checked what waits
  migrate                                             apply pending migrations
  doctor [--message <from address>]                   check configuration, database, disk and ports; send a message out and back`

/** Runs one command and returns the exit code. */
export async function run(argv: string[], env: Record<string, string | undefined>): Promise<number> {
  if (asksForHelp(argv)) return print(USAGE)
  if (argv[0] === '--version' || argv[0] === '-v') return print(VERSION)
  try {
    const { values: options, positionals } = readArguments(argv)
    return await dispatch(positionals, options, env)
  } catch (err) {
    console.error(explain(err))
    return 1
  }
}

const readArguments = (args: string[]) =>
  parseArgs({
    args,
    allowPositionals: true,
    options: {
      email: { type: 'string' },
      password: { type: 'string' },
      name: { type: 'string' },
      owner: { type: 'string' },
      reason: { type: 'string' },
      message: { type: 'string' },
      off: { type: 'boolean' },
      'with-secrets': { type: 'boolean' },
    },
  })

/** `--help` and `-h` with any command, and `help` in place of one. */
const asksForHelp = (argv: string[]) => argv[0] === 'help' || argv.some((word) => word === '--help' || word === '-h')

async function dispatch(words: string[], options: Options, env: Record<string, string | undefined>) {
  const alone = find(ALONE, words[0] ?? '')
  if (alone) return alone({ words, options, env })
  const length = Object.hasOwn(COMMANDS, words[0] ?? '') ? 1 : 2
  const command = find(COMMANDS, words.slice(0, length).join(' '))
  if (!command) return print(USAGE, words.length ? 2 : 0)
  return withContext(loadConfig(env), async (context) => print(await command({ ...context, options, args: words.slice(length) })))
}

/** Not `table[name]`: `constructor` is no command. */
const find = <Command>(table: Record<string, Command>, name: string) => (Object.hasOwn(table, name) ? table[name] : undefined)

type Called = { words: string[]; options: Options; env: Record<string, string | undefined> }

/** Commands that need more than a database that is up to date, or less. */
const ALONE: Record<string, (called: Called) => Promise<number>> = {
  doctor: async ({ options, env }) => report(await diagnose(env, { messageFrom: options.message })),
  migrate: ({ env }) => withDatabase(loadConfig(env), async (url) => print(describeMigration(await migrate(url)))),
  backup: async ({ words, env }) => print(describeBackup(await backUp(loadConfig(env), folderOf(words)))),
  restore: async ({ words, env }) => print(describeRestore(await restore(loadConfig(env), folderOf(words)))),
}

const describeMigration = (applied: string[]) => (applied.length ? `Applied ${applied.join(', ')}.` : 'The database is up to date.')

function print(text: string, code = 0) {
  console.log(text)
  return code
}

function report(checks: Awaited<ReturnType<typeof diagnose>>) {
  for (const { name, verdict, note } of checks) console.log(`${verdict.padEnd(4)}  ${name}: ${note}`)
  return checks.some(({ verdict }) => verdict === 'FAIL') ? 1 : 0
}

async function withDatabase(config: Config, work: (url: string) => Promise<number>) {
  const database = await borrowDatabase(config, createLog('warn'))
  try {
    return await work(database.url)
  } finally {
    await database.stop()
  }
}

const withContext = (config: Config, work: (context: Pick<Context, 'config' | 'db' | 'secrets'>) => Promise<number>) =>
  withDatabase(config, async (url) => {
    await migrate(url)
    const secrets = deriveSecrets(...readMasterKeys(config))
    const db = connect({ url, max: 2, log: createLog('warn') })
    try {
      await checkSecret(db, secrets)
      return await work({ config, db, secrets })
    } finally {
      await db.destroy()
    }
  })

const need = (options: Options, name: 'name' | 'email' | 'owner') => options[name] ?? usage(`--${name} is missing`)

function usage(message: string): never {
  throw new UsageError(message)
}

const address = (options: Options, name: 'email' | 'owner') =>
  readAddress(need(options, name)) ?? usage(`--${name} is not an email address`)

const folderOf = ([name, folder]: string[]) => folder ?? usage(`${name} needs a folder`)

const sizeOf = ({ files }: Manifest) => `${(files.reduce((sum, { bytes }) => sum + bytes, 0) / MB).toFixed(1)} MB in ${files.length} files`

const describeBackup = (manifest: Manifest) => `Backed up ${sizeOf(manifest)}. The folder contains secrets: keep it as safe as DATA_DIR.`

const describeRestore = (manifest: Manifest) =>
  [
    `Restored ${sizeOf(manifest)}, as they were at ${manifest.createdAt}.`,
    `What waits in the backup may have left since. After the next start ${UNTIL_RESUMED}.`,
  ].join('\n')

const MAX_REASON = 200
const MAX_MARKS_SHOWN = 100

async function existingProject({ db, args: [id = ''] }: Context) {
  const known = isId(id) && (await maybeOne(db)`select 1 from projects where id = ${id} and deleted_at is null`)
  return known ? id : usage('no project has this id')
}

const sumOf = (rows: RowCounts) =>
  Object.values(rows)
    .reduce((sum, count) => sum + count, 0)
    .toLocaleString('en')

const COMMANDS: Record<string, (context: Context) => Promise<string>> = {
  async 'claim-code'({ db, secrets }) {
    return (await hasAccounts(db)) ? 'There is an account already: sign-ups need no code.' : readClaimCode(db, secrets)
  },

  async 'user create'({ db, options }) {
    const email = address(options, 'email')
    const password = options.password ?? randomToken()
    if (!NewPassword.safeParse(password).success) usage('--password must have 8 to 256 characters')
    const passwordHash = await createPasswords().hashPassword(password)
    // The operator vouches for the address.
    const user = await transact(db, (tx) => createUser(tx, { email, passwordHash, verified: true }))
    return [`id        ${user.id}`, `email     ${user.email}`, ...(options.password ? [] : [`password  ${password}`])].join('\n')
  },

  async 'user operator'({ db, options }) {
    const email = address(options, 'email')
    const known = await transact(db, (tx) => setOperator(tx, email, !options.off))
    if (!known) usage(`no account has the address ${email}`)
    return `${email} ${options.off ? 'is no operator any more' : 'is an operator of this installation'}`
  },

  async 'project create'({ db, secrets, options }) {
    const name = ProjectName.safeParse(need(options, 'name'))
    if (!name.success) usage('--name must have 1 to 100 characters')
    const owner = address(options, 'owner')
    const user = await maybeOne<{ id: string }>(db)`select id from users where email = ${owner}`
    if (!user) usage(`no account has the address ${owner}; create it first: ${STERNA} user create --email ${owner}`)
    const project = await transact(db, (tx) => createProject(tx, secrets, { name: name.data, ownerId: user.id }))
    return [`id      ${project.id}`, `name    ${project.name}`, `public  ${project.public}`, `secret  ${project.secret}`].join('\n')
  },

  async 'project disable'(context) {
    const id = await existingProject(context)
    const reason = (context.options.reason ?? 'OPERATOR').slice(0, MAX_REASON)
    const changed = await transact(context.db, (tx) => disableProject(tx, id, reason))
    return changed ? `disabled: ${reason}` : 'was disabled already'
  },

  /** An operator who enables a project acknowledges its figures: otherwise it would be disabled again within a minute. */
  async 'project enable'(context) {
    const id = await existingProject(context)
    const changed = await transact(context.db, async (tx) => {
      await startAnew(tx, id, 'operator')
      return enableProject(tx, id, { by: 'operator' })
    })
    return changed ? 'enabled' : 'was not disabled; its rates count from now on'
  },

  async 'project export'(context) {
    const projectId = await existingProject(context)
    const file = context.args[1] ?? usage('project export needs a file to write')
    const withSecrets = context.options['with-secrets'] ?? false
    const { rows, missingImages } = await exportProject(context, { projectId, file, withSecrets })
    return [
      `Exported ${sumOf(rows)} rows, ${rows.contacts} contacts among them. The file has personal data${withSecrets ? ', API keys and DKIM keys' : ''}: keep it safe.`,
      ...missingImages.map((key) => `The image ${key} is not in the storage any more, and not in the file.`),
      'The project goes on here. Before you use the imported one, stop this one: pause its campaigns, disable its workflows and webhook endpoints.',
    ].join('\n')
  },

  async 'project import'({ config, db, secrets, options, args: [file = usage('project import needs a file')] }) {
    const owner = options.owner === undefined ? undefined : address(options, 'owner')
    const { header, rows, keys, owner: ownedBy } = await importProject({ db, secrets, config, log: createLog('warn') }, { file, owner })
    const { id, name } = header.project
    await recountProject(db, LEDGERS, id)
    return [
      `id      ${id}`,
      `name    ${name}`,
      `owner   ${ownedBy}`,
      `public  ${keys.public}`,
      `secret  ${keys.secret}`,
      `Imported ${sumOf(rows)} rows, ${rows.contacts} contacts among them, as they were at ${header.createdAt}.`,
      'Workflows and webhook endpoints are disabled, scheduled campaigns are drafts, campaigns that were being sent are cancelled.',
      header.secrets
        ? 'Keys and secrets are those of the file. Domains are pending until a check finds their records.'
        : 'Keys and secrets are new ones. Domains have new DKIM keys: publish the records that the dashboard shows.',
    ].join('\n')
  },

  async 'project recount'(context) {
    const drift = await recountProject(context.db, LEDGERS, await existingProject(context))
    return Object.entries(drift)
      .map(([table, rows]) => `${table}: ${rows ? `corrected ${rows}` : 'right'}`)
      .join('\n')
  },

  async 'suspension list'({ db }) {
    const marks = await listMarks(db, MAX_MARKS_SHOWN)
    const lines = marks.map(({ suspended, name, owner, reason, until, domains }) =>
      [suspended, `until ${until.toISOString()}`, reason, name ?? '(deleted)', owner ?? '(deleted account)', domains.join(' ')].join('  '),
    )
    return lines.join('\n') || 'No project is suspended.'
  },

  async 'suspension lift'({ db, args: [id = ''] }) {
    const lifted = isId(id) && (await transact(db, (tx) => liftSuspension(tx, id, 'operator')))
    return lifted ? 'lifted' : usage(`no suspension has this id; see: ${STERNA} suspension list`)
  },

  async 'mail list'({ db }) {
    const emails = await listAccountEmails(db, 20)
    return (
      emails
        .map(({ id, to, subject, state, createdAt }) => `${id}  ${createdAt.toISOString()}  ${state.padEnd(7)}  ${to}  ${subject}`)
        .join('\n') || 'No account emails.'
    )
  },

  async 'mail show'({ db, secrets, args: [id = ''] }) {
    const email = isId(id) ? await readAccountEmail(db, secrets, id) : undefined
    if (!email) usage(`no account email has this id; see: ${STERNA} mail list`)
    return `To: ${email.to}\nSubject: ${email.subject}\n\n${email.text}`
  },

  async 'explain email'({ db, args: [id = ''] }) {
    return (isId(id) && (await explainEmail(db, id))) || usage('no email has this id')
  },

  async 'usage resolve'({ db, args: [identifier = '', outcome = ''] }) {
    if (outcome !== 'sent' && outcome !== 'again') usage('say whether Stripe has the report: usage resolve <identifier> sent|again')
    const resolved = await transact(db, (tx) => resolveReport(tx, identifier, outcome === 'sent'))
    if (!resolved) usage(`no usage report with this identifier has an unknown outcome; see: ${STERNA} doctor`)
    return outcome === 'sent' ? 'settled as sent' : 'will be sent again'
  },

  async 'secret rewrite'({ db, secrets }) {
    const report = await rewriteSecrets(db, secrets)
    const lines = report.map(({ what, left, rewritten, expires }) => `${what}: ${expires ? '' : `${rewritten} rewritten, `}${left} left`)
    const summary = countSealedLeft(report)
      ? 'A node still seals with a former key. Restart all nodes with the new SECRET_KEY, then run this again.'
      : 'Nodes can start without SECRET_KEY_PREVIOUS. What is left ends without it, and so do the links in emails that were sent before.'
    return [...lines, summary].join('\n')
  },

  async 'sending hold'({ db, options }) {
    const reason = (options.reason ?? 'held by an operator').slice(0, MAX_REASON)
    await transact(db, (tx) => holdSending(tx, reason))
    return 'Sending is held: within seconds nothing leaves any more, and workflows stand still.'
  },

  async 'sending resume'({ db }) {
    const resumed = await transact(db, (tx) => resumeSending(tx))
    return resumed ? 'Emails leave again within seconds, and so do webhooks and usage reports; workflows go on.' : 'Sending was not held.'
  },
}

/** All commands. `start` is run by the script that calls this module: it needs none of it. */
export const COMMAND_NAMES = ['start', ...Object.keys(ALONE), ...Object.keys(COMMANDS)]

function explain(err: unknown) {
  const { message, code } = err as Error & { code?: string }
  if (err instanceof UsageError || code?.startsWith('ERR_PARSE_ARGS')) return `${message}\n\n${USAGE}`
  return message || String(err)
}
