#!/usr/bin/env node
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { Sterna, SternaError, type Template } from '../src/index.ts'
import { compare, isPulled, isPushed, type Step } from './plan.ts'
import { keyFor, readFolder, readState, type State, writeState, writeTemplate } from './template-files.ts'

const USAGE = `Usage: npx @sterna/sdk templates <pull|plan|push> <folder>

  pull   writes templates of the project into the folder
  plan   shows what push would do
  push   creates and updates templates of the project from the folder

Options of pull and push:
  --force   overwrites the other side where both have changed
  --yes     push does not ask

STERNA_URL and STERNA_SECRET_KEY name the server and the project.`

class UsageError extends Error {}

async function main(args: string[]) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      force: { type: 'boolean', default: false },
      yes: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) return console.log(USAGE)
  const [noun, verb, folder] = positionals
  if (noun !== 'templates' || !folder || positionals.length !== 3) throw new UsageError(USAGE)
  const run = { pull, plan, push }[verb as 'pull']
  if (!run) throw new UsageError(USAGE)
  await run({ folder, sterna: connect(), force: values.force, isAgreed: values.yes })
}

function connect(): Sterna {
  const { STERNA_URL, STERNA_SECRET_KEY } = process.env
  if (!STERNA_URL || !STERNA_SECRET_KEY) throw new UsageError('STERNA_URL and STERNA_SECRET_KEY must be set.')
  return new Sterna({ baseUrl: STERNA_URL, apiKey: STERNA_SECRET_KEY })
}

type Run = { folder: string; sterna: Sterna; force: boolean; isAgreed: boolean }

/** Both sides, and how they compare. A project without templates has never met the folder. */
async function look({ folder, sterna }: Run) {
  const [local, state] = [await readFolder(folder), await readState(folder)]
  const remote: Template[] = []
  for await (const listed of sterna.templates.all())
    remote.push(listed.hasDesign ? await sterna.templates.get(listed.id) : { ...listed, design: null })
  const synced = state[remote[0]?.projectId ?? ''] ?? {}
  return { state, steps: compare({ local, remote, synced }) }
}

async function plan(run: Run) {
  show((await look(run)).steps)
}

async function push(run: Run) {
  const { folder, sterna, force } = run
  const { state, steps } = await look(run)
  show(steps)
  const pushed = steps.filter((step) => isPushed(step, force))
  if (pushed.length > 0 && !(await agree(run, `Write ${count(pushed)} to the project?`))) return
  for (const step of steps) {
    const { local, remote, action } = step
    if (local && pushed.includes(step)) remember(state, local.key, await save(sterna, step), local.hash)
    else if (local && remote && action === 'unchanged') remember(state, local.key, remote, local.hash)
  }
  if (steps.some(({ local }) => local)) await writeState(folder, state)
  console.log(`${count(pushed)} written.`)
  reportConflicts(steps, force)
}

/** Creates or updates it. An update is refused if somebody changed the template after it was compared. */
function save(sterna: Sterna, { local, remote }: Step): Promise<Template> {
  const { settings, content } = local!
  // HTML replaces a design that the template had.
  const body = { ...settings, ...('body' in content ? { ...content, ...(remote?.design && { design: null }) } : content) }
  if (remote) return sterna.templates.update(remote.id, body, { ifMatch: remote.updatedAt })
  if (body.type === 'HEADLESS') throw new UsageError(`${local!.key}: a new template is TRANSACTIONAL or MARKETING.`)
  return sterna.templates.create({ ...body, type: body.type })
}

async function pull(run: Run) {
  const { folder, force } = run
  const { state, steps } = await look(run)
  const taken = new Set(steps.flatMap(({ key }) => key ?? []))
  const pulled = steps.filter((step) => isPulled(step, force))
  for (const { key: known, remote } of pulled) {
    const key = known ?? keyFor(remote!.name, taken)
    taken.add(key)
    remember(state, key, remote!, await writeTemplate(folder, key, remote!))
    console.log(`  ${key}  "${remote!.name}"`)
  }
  for (const { action, local, remote } of steps)
    if (local && remote && action === 'unchanged') remember(state, local.key, remote, local.hash)
  if (Object.keys(state).length > 0) await writeState(folder, state)
  console.log(`${count(pulled)} written.`)
  for (const step of steps.filter(({ action }) => action === 'behind').filter((step) => !pulled.includes(step)))
    console.log(`${step.local!.source} was changed on the server. It is rendered here, so its source was left as it is.`)
  reportConflicts(
    steps.filter((step) => !pulled.includes(step)),
    force,
  )
}

function remember(state: State, key: string, { id, projectId, updatedAt }: Template, hash: string) {
  state[projectId] = { ...state[projectId], [key]: { id, updatedAt, hash } }
}

const SIGNS: Record<Step['action'], [sign: string, words: string]> = {
  create: ['+', 'create'],
  update: ['~', 'update'],
  unchanged: ['=', 'unchanged'],
  behind: ['<', 'changed on the server: pull it'],
  conflict: ['!', 'differs from the server, or changed on both sides: pull --force or push --force decides'],
  'only-there': ['?', 'only on the server: pull it'],
}

function show(steps: Step[]) {
  for (const { action, local, remote, reason } of steps) {
    const [sign, words] = SIGNS[action]
    console.log(`${sign} ${local?.source ?? '–'}  "${local?.settings.name ?? remote!.name}"  ${words}${reason ? ` (${reason})` : ''}`)
  }
  if (steps.length === 0) console.log('There is no template, neither here nor on the server.')
}

const count = ({ length }: unknown[]) => `${length} ${length === 1 ? 'template' : 'templates'}`

async function agree({ isAgreed }: Run, question: string): Promise<boolean> {
  if (isAgreed) return true
  if (!process.stdin.isTTY) throw new UsageError('Nothing was written: without a terminal, push needs --yes.')
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await terminal.question(`${question} [y/N] `)
  terminal.close()
  return /^y(es)?$/i.test(answer.trim())
}

function reportConflicts(steps: Step[], force: boolean) {
  const conflicts = steps.filter(({ action }) => action === 'conflict')
  if (force || conflicts.length === 0) return
  console.error(`${count(conflicts)} not written: changed on both sides.`)
  process.exitCode = 1
}

/** The mistake and its place, without a stack. */
function explain(error: unknown): string {
  if (!(error instanceof SternaError)) return error instanceof Error ? error.message : String(error)
  return [error.message, ...error.errors.map(({ field, message }) => `  ${field}: ${message}`)].join('\n')
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  console.error(explain(error))
  process.exitCode = error instanceof UsageError ? 2 : 1
}
