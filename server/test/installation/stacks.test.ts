import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { destroyTestFolder, newTestFolder } from '../support/postgres.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const folder = newTestFolder()
afterAll(() => destroyTestFolder(folder))

/** Errors of all kinds: with a class, after a wait, of Node, with a cause, in functions of one name, without a name. */
const SOURCES = {
  'fail.ts': `
import { close as closeOther } from './other.ts'
type Unused = { of: string }
class Door { constructor(readonly name: string) { close(name) } open() { return closeOther(this.name) } }
function close(name: string) { throw new TypeError('closed: ' + name) }
const later = async (work: () => unknown) => { await null; return work() }
const attempts: (() => unknown)[] = [
  () => new Door('front'),
  () => Door.prototype.open.call({ name: 'back' }),
  () => later(() => closeOther('late')),
  () => Promise.reject(new Error('outer', { cause: new Error('inner') })),
  () => Buffer.from(5 as unknown as string),
  () => JSON.parse('{'),
  () => { const found: { stack?: string } = { }; Error.captureStackTrace(found); throw found },
  () => Object.assign(Error('two\\nlines'), { code: 'ERR_OWN' }).missing.field,
]
export async function listStacks() {
  const stacks: string[] = []
  for (const attempt of attempts) {
    try { await attempt() } catch (err) {
      for (let each = err; each; each = each.cause) stacks.push(each.stack)
    }
  }
  return stacks
}
`,
  'other.ts': `
export function close(name: string) {
  const why: unknown = name
  throw new RangeError(\`not closed: \${why}\`)
}
`,
}

beforeAll(async () => {
  mkdirSync(join(folder, 'dist'))
  for (const [name, text] of Object.entries(SOURCES)) writeFileSync(join(folder, name), text)
  await build({
    entryPoints: [join(folder, 'fail.ts')],
    outdir: join(folder, 'dist'),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    minifyWhitespace: true,
    sourcemap: true,
    sourcesContent: false,
  })
})

async function run(setUp: string, rest: string): Promise<string> {
  const code = `const { mapStacks } = await import('${pathToFileURL(join(ROOT, 'server/dist/map-stacks.js'))}'); ${setUp};\n${rest}`
  return (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code])).stdout
}

test('stacks name the lines of the sources, as those of Node with all maps read at the start', async () => {
  const module = pathToFileURL(join(folder, 'dist/fail.mjs'))
  const list = `console.log(JSON.stringify(await (await import('${module}')).listStacks()))`
  const ours: string[] = JSON.parse(await run(`mapStacks('${new URL('.', module)}')`, list))
  const ofNode: string[] = JSON.parse(await run('process.setSourceMapsEnabled(true)', list))
  expect(ours.map(plain)).toEqual(ofNode.map(plain))
  expect(ours).toHaveLength(9)
  for (const stack of ours) expect(stack).toContain(`${join(folder, 'fail.ts')}:`)
  expect(ours[1]).toContain(`at close (${join(folder, 'other.ts')}:4:9)`)
})

/** Node writes a function without a name as `<anonymous> (place)`, and leaves out `new` and `async`, where it has a map. */
const plain = (stack: string) => stack.replace(/ at (?:async |new )*(?:<anonymous> )?/g, ' at ').replace(/at \((.*)\)$/gm, 'at $1')

test('stacks of the product name its sources', async () => {
  const start = `(await import('${pathToFileURL(join(ROOT, 'server/dist/main.js'))}')).start({ PORT: 'none' }).catch((err) => console.log(err.stack))`
  expect(await run('mapStacks()', start)).toMatch(/ at loadConfig \(.*\/server\/src\/lib\/config\.ts:\d+:\d+\)\n/)
})
