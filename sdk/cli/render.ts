import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { restoreLiquid } from './liquid.ts'

/** Endings of sources that become HTML by packages of the user's own project. */
export const RENDERED = ['.tsx', '.jsx', '.mjml']

export const renderSource = (file: string): Promise<string> => withFolder(file, file.endsWith('.mjml') ? renderMjml : renderReact)

/** A package as the project of the file has it: this package depends on none of them. `nearby` is a folder beside the file. */
async function load<Module>({ file, nearby }: Place, ...names: string[]): Promise<Module> {
  for (const name of names) {
    const loader = join(nearby, `${encodeURIComponent(name)}.mjs`)
    await writeFile(loader, `export * as found from '${name}'\n`)
    try {
      return ((await import(pathToFileURL(loader).href)) as { found: Module }).found
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    }
  }
  throw new Error(`${file} needs the package ${names.join(' or ')} in your project.`)
}

type Place = { file: string; nearby: string }

/** With a folder beside the file, from which Node finds the packages of its project. */
async function withFolder<Result>(file: string, work: (place: Place) => Promise<Result>): Promise<Result> {
  const nearby = await mkdtemp(join(dirname(resolve(file)), '.sterna-'))
  try {
    return await work({ file, nearby })
  } finally {
    await rm(nearby, { recursive: true, force: true })
  }
}

type Mjml = { default: (source: string, options: object) => MjmlResult | Promise<MjmlResult> }
type MjmlResult = { html: string; errors: { formattedMessage?: string; message: string }[] }

async function renderMjml(place: Place): Promise<string> {
  const { file } = place
  const { default: mjml } = await load<Mjml>(place, 'mjml')
  const { html, errors } = await mjml(await readFile(file, 'utf8'), { filePath: resolve(file) })
  if (errors.length > 0) throw new Error(`${file}: ${errors.map((error) => error.formattedMessage ?? error.message).join('\n')}`)
  return html
}

type Esbuild = { build: (options: object) => Promise<unknown> }
type React = { createElement: (component: unknown) => unknown }
type ReactEmail = { render: (element: unknown) => Promise<string> | string }

/** The default export of the file, rendered without props: what differs between recipients are variables of the template. */
async function renderReact(place: Place): Promise<string> {
  const { file, nearby } = place
  const { build } = await load<Esbuild>(place, 'esbuild')
  const { createElement } = await load<React>(place, 'react')
  const { render } = await load<ReactEmail>(place, '@react-email/render', '@react-email/components', 'react-email')
  const outfile = join(nearby, 'template.mjs')
  const entry = { entryPoints: [resolve(file)], outfile }
  await build({ ...entry, bundle: true, packages: 'external', platform: 'node', format: 'esm', jsx: 'automatic', logLevel: 'silent' })
  const { default: Component } = (await import(pathToFileURL(outfile).href)) as { default?: unknown }
  if (!Component) throw new Error(`${file} has no default export.`)
  return restoreLiquid(await render(createElement(Component)))
}
