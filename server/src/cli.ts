import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { listAccountEmails, readAccountEmail } from './account-emails/account-email.ts'
import { createUser } from './auth/accounts.ts'
import { createPasswords, NewPassword } from './auth/passwords.ts'
import { countContacts, recountContacts } from './contacts/counts.ts'
import { connect, maybeOne, type Pool, transact } from './db/index.ts'
import { checkSecret } from './db/instance.ts'
import { migrate } from './db/migrate.ts'
import { borrowDatabase } from './db/open.ts'
import { explainEmail } from './delivery/emails/explain.ts'
import { diagnose } from './doctor.ts'
import { countEvents, recountEvents } from './events/counts.ts'
import { readAddress } from './lib/address.ts'
import { type Config, loadConfig } from './lib/config.ts'
import { AppError } from './lib/errors.ts'
import { isId } from './lib/id.ts'
import { createLog } from './lib/log.ts'
import { readMasterKey } from './lib/master-key.ts'
import { deriveSecrets, randomToken, type Secrets } from './lib/secrets.ts'
import { createProject, ProjectName } from './projects/project.ts'

type Context = { db: Pool; secrets: Secrets; options: Options; args: string[] }
type Options = { [name in 'email' | 'password' | 'name' | 'owner']?: string | undefined }

/** A mistake on the command line. */
class UsageError extends Error {}

const USAGE = `Usage: npm run sterna -- <command>

  user create --email <address> [--password <text>]   create an account (generates a password if none is given)
  project create --name <name> --owner <address>      create a project and print its keys
  mail list                                           list the latest account emails
  mail show <id>                                      show an account email with its link
  explain email <id>                                  explain what happened to an email and what happens next
  contacts recount <project id>                       recount the contacts of a project
  events recount <project id>                         recount the events of a project
  migrate                                             apply pending migrations
  doctor                                              check configuration, database, disk and ports`

const COMMANDS: Record<string, (context: Context) => Promise<string>> = {
  'user create': userCreate,
  'project create': projectCreate,
  'mail list': mailList,
  'mail show': mailShow,
  'explain email': emailExplain,
  'contacts recount': contactsRecount,
  'events recount': eventsRecount,
}

/** Runs one command and returns the exit code. */
export async function run(argv: string[], env: Record<string, string | undefined>): Promise<number> {
  if (asksForHelp(argv)) return print(USAGE)
  try {
    const { values: options, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: { email: { type: 'string' }, password: { type: 'string' }, name: { type: 'string' }, owner: { type: 'string' } },
    })
    return await dispatch(positionals, options, env)
  } catch (err) {
    console.error(explain(err))
    return 1
  }
}

/** `--help` and `-h` with any command, and `help` in place of one. */
const asksForHelp = (argv: string[]) => argv[0] === 'help' || argv.some((word) => word === '--help' || word === '-h')

async function dispatch(words: string[], options: Options, env: Record<string, string | undefined>) {
  if (words[0] === 'doctor') return report(await diagnose(env))
  if (words[0] === 'migrate') return withDatabase(loadConfig(env), async (url) => print(describeMigration(await migrate(url))))
  const command = COMMANDS[words.slice(0, 2).join(' ')]
  if (!command) return print(USAGE, words.length ? 2 : 0)
  return withContext(loadConfig(env), async (context) => print(await command({ ...context, options, args: words.slice(2) })))
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

const withContext = (config: Config, work: (context: Pick<Context, 'db' | 'secrets'>) => Promise<number>) =>
  withDatabase(config, async (url) => {
    await migrate(url)
    const secrets = deriveSecrets(readMasterKey(config))
    const db = connect({ url, max: 2, log: createLog('warn') })
    try {
      await checkSecret(db, secrets)
      return await work({ db, secrets })
    } finally {
      await db.destroy()
    }
  })

const need = (options: Options, name: keyof Options) => options[name] ?? usage(`--${name} is missing`)

function usage(message: string): never {
  throw new UsageError(message)
}

const address = (options: Options, name: 'email' | 'owner') =>
  readAddress(need(options, name)) ?? usage(`--${name} is not an email address`)

async function userCreate({ db, options }: Context) {
  const email = address(options, 'email')
  const password = options.password ?? randomToken()
  if (!NewPassword.safeParse(password).success) usage('--password must have 8 to 256 characters')
  const passwordHash = await createPasswords().hashPassword(password)
  // The operator vouches for the address.
  const user = await transact(db, (tx) => createUser(tx, { email, passwordHash, verified: true }))
  return [`id        ${user.id}`, `email     ${user.email}`, ...(options.password ? [] : [`password  ${password}`])].join('\n')
}

async function projectCreate({ db, secrets, options }: Context) {
  const name = ProjectName.safeParse(need(options, 'name'))
  if (!name.success) usage('--name must have 1 to 100 characters')
  const owner = address(options, 'owner')
  const user = await maybeOne(db, sql<{ id: string }>`select id from users where email = ${owner}`)
  if (!user) usage(`no account has the address ${owner}; create it first: npm run sterna -- user create --email ${owner}`)
  const project = await transact(db, (tx) => createProject(tx, secrets, { name: name.data, ownerId: user.id }))
  return [`id      ${project.id}`, `name    ${project.name}`, `public  ${project.public}`, `secret  ${project.secret}`].join('\n')
}

async function mailList({ db }: Context) {
  const emails = await listAccountEmails(db, 20)
  return (
    emails
      .map(({ id, to, subject, state, createdAt }) => `${id}  ${createdAt.toISOString()}  ${state.padEnd(7)}  ${to}  ${subject}`)
      .join('\n') || 'No account emails.'
  )
}

async function mailShow({ db, secrets, args: [id = ''] }: Context) {
  const email = isId(id) ? await readAccountEmail(db, secrets, id) : undefined
  if (!email) usage('no account email has this id; see: npm run sterna -- mail list')
  return `To: ${email.to}\nSubject: ${email.subject}\n\n${email.text}`
}

async function emailExplain({ db, args: [id = ''] }: Context) {
  return (isId(id) && (await explainEmail(db, id))) || usage('no email has this id')
}

async function existingProject({ db, args: [id = ''] }: Context) {
  const known = isId(id) && (await maybeOne(db, sql`select 1 from projects where id = ${id} and deleted_at is null`))
  return known ? id : usage('no project has this id')
}

async function eventsRecount(context: Context) {
  const { db } = context
  const id = await existingProject(context)
  const before = await countEvents(db, id)
  await recountEvents(db, id)
  return `total  ${await countEvents(db, id)} (was ${before})`
}

async function contactsRecount(context: Context) {
  const { db } = context
  const id = await existingProject(context)
  const before = await countContacts(db, id)
  await transact(db, (tx) => recountContacts(tx, id))
  const { total, subscribed } = await countContacts(db, id)
  return `total       ${total} (was ${before.total})\nsubscribed  ${subscribed} (was ${before.subscribed})`
}

function explain(err: unknown) {
  const { message, code } = err as Error & { code?: string }
  if (err instanceof UsageError || code?.startsWith('ERR_PARSE_ARGS')) return `${message}\n\n${USAGE}`
  return err instanceof AppError ? message : message || String(err)
}
