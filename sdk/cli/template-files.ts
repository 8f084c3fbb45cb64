import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Body, Template } from '../src/index.ts'
import { RENDERED, renderSource } from './render.ts'

type Created = Body<'POST /templates'>

/** Settings of a template besides its content, kept in `<name>.json`. */
const SETTINGS = ['name', 'subject', 'type', 'description', 'previewText', 'from', 'fromName', 'replyTo'] as const
export type Settings = Pick<Template, (typeof SETTINGS)[number]>
export type Content = { body: string } | { design: NonNullable<Created['design']> }

/** A template of the folder. `hash` is that of its settings and its content as it would be sent to the server. */
export type LocalTemplate = { key: string; source: string; settings: Settings; content: Content; hash: string }

/** The state of a template when it was last equal to the server's, kept in `sterna.json` by project and name of the file. */
export type Synced = { id: string; updatedAt: string; hash: string }
export type State = Record<string, Record<string, Synced>>

const STATE_FILE = 'sterna.json'
const DESIGN = '.design.json'
/** Content files, by their endings. */
const SOURCES = [...RENDERED, '.html', DESIGN]

export async function readFolder(folder: string): Promise<LocalTemplate[]> {
  const files = await readdir(folder).catch(() => [])
  const keys = files.flatMap((file) => (file.endsWith('.json') && !file.endsWith(DESIGN) && file !== STATE_FILE ? file.slice(0, -5) : []))
  return Promise.all(keys.sort().map((key) => readTemplate(folder, key, files)))
}

async function readTemplate(folder: string, key: string, files: string[]): Promise<LocalTemplate> {
  const sources = SOURCES.map((ending) => key + ending).filter((file) => files.includes(file))
  const [source] = sources
  if (!source || sources.length > 1)
    throw new Error(
      `${key}.json needs one content file beside it (${SOURCES.map((ending) => key + ending).join(', ')}); found ${sources.length}.`,
    )
  const settings = readSettings(await readJson(join(folder, `${key}.json`)), `${key}.json`)
  const content = await readContent(join(folder, source))
  return { key, source, settings, content, hash: hashOf(settings, content) }
}

const isRendered = (file: string) => RENDERED.some((ending) => file.endsWith(ending))

async function readContent(file: string): Promise<Content> {
  if (isRendered(file)) return { body: await renderSource(file) }
  if (file.endsWith(DESIGN)) return { design: (await readJson(file)) as NonNullable<Created['design']> }
  return { body: await readFile(file, 'utf8') }
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw new Error(`${file} cannot be read: ${(error as Error).message}`)
  }
}

function readSettings(value: unknown, file: string): Settings {
  if (typeof value !== 'object' || value === null) throw new Error(`${file} must hold an object with name, subject and type.`)
  const unknown = Object.keys(value).find((key) => !(SETTINGS as readonly string[]).includes(key))
  if (unknown) throw new Error(`${file}: "${unknown}" is not a setting of a template. Settings are ${SETTINGS.join(', ')}.`)
  // The server checks the values.
  return settingsOf(value as Settings)
}

/** A setting that is missing is null, as in answers of the server. */
export const settingsOf = (from: Settings): Settings =>
  Object.fromEntries(SETTINGS.map((setting) => [setting, from[setting] ?? null])) as Settings

export const contentOf = ({ body, design }: Pick<Template, 'body' | 'design'>): Content => (design ? { design } : { body })

export const hashOf = (settings: Settings, content: Content): string =>
  createHash('sha256')
    .update(JSON.stringify([SETTINGS.map((setting) => settings[setting]), content]))
    .digest('hex')

/** Writes settings and content. A source that is rendered stays as it is: HTML cannot be turned back into it. */
export async function writeTemplate(folder: string, key: string, remote: Template): Promise<string> {
  await mkdir(folder, { recursive: true })
  const settings = settingsOf(remote)
  const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null))
  await writeFile(join(folder, `${key}.json`), `${JSON.stringify(given, null, 2)}\n`)
  const content = contentOf(remote)
  if ('design' in content) await writeFile(join(folder, key + DESIGN), `${JSON.stringify(content.design, null, 2)}\n`)
  else await writeFile(join(folder, `${key}.html`), content.body)
  return hashOf(settings, content)
}

export const canBePulled = ({ source }: Pick<LocalTemplate, 'source'>, remote: Pick<Template, 'design'>): boolean =>
  source.endsWith(remote.design ? DESIGN : '.html')

/** A name for the files of a template: `welcome-to-acme`, with a number if it is taken. */
export function keyFor(name: string, taken: Set<string>): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
  const key = plain.slice(0, 60) || 'template'
  for (let n = 1; ; n++) {
    const candidate = n === 1 ? key : `${key}-${n}`
    if (!taken.has(candidate) && `${candidate}.json` !== STATE_FILE) return candidate
  }
}

export async function readState(folder: string): Promise<State> {
  const text = await readFile(join(folder, STATE_FILE), 'utf8').catch(() => '{}')
  return JSON.parse(text) as State
}

export const writeState = (folder: string, state: State) => writeFile(join(folder, STATE_FILE), `${JSON.stringify(state, null, 2)}\n`)
