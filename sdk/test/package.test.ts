import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type PlunkModule from '@plunk/node'
import { transform } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApp } from '../../server/test/support/app.ts'
import { cloneDatabase } from '../../server/test/support/database.ts'
import { startDnsServer } from '../../server/test/support/servers/dns-server.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

/** A project of somebody else, with the packed SDK installed from its file. */
let folder: string
let env: Record<'STERNA_URL' | 'STERNA_SECRET_KEY' | 'STERNA_PUBLIC_KEY', string>
let project: Awaited<ReturnType<Awaited<ReturnType<typeof startApp>>['sterna']['newProject']>>
const cleanUp: (() => unknown)[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sterna-sdk-'))
  cleanUp.push(() => rmSync(folder, { recursive: true }))
  await Promise.all([installPackage(), startServer()])
})
afterAll(async () => {
  for (const step of cleanUp.reverse()) await step()
})

async function installPackage() {
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: join(ROOT, 'sdk') })
  const packed = readdirSync(folder).find((name) => name.endsWith('.tgz'))!
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'customer', private: true, type: 'module' }))
  await run('npm', ['install', `./${packed}`, '--offline', '--no-audit', '--no-fund'], { cwd: folder })
}

async function startServer() {
  const dns = await startDnsServer()
  const database = await cloneDatabase()
  const { sterna, close } = await startApp(database.url, { env: { DNS_SERVERS: dns.address } })
  cleanUp.push(
    () => dns.stop(),
    () => database.drop(),
    close,
  )
  await sterna.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = sterna.app.server.address() as AddressInfo
  project = await sterna.newProject()
  await sterna.call('POST', '/domains', { key: project.sk, body: { domain: 'example.com' } })
  env = { STERNA_URL: `http://127.0.0.1:${port}`, STERNA_SECRET_KEY: project.sk, STERNA_PUBLIC_KEY: project.pk }
}

describe('the packed SDK', () => {
  const installed = (...path: string[]) => join(folder, 'node_modules/@sterna/sdk', ...path)

  test('has its code, types, licence and README, and no dependency', () => {
    const files = readdirSync(installed(), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    const kinds = new Set(files.map(({ name }) => name.replace(/^[a-z-]+(\.d\.ts|\.js)$/, '*$1')))
    expect([...kinds].sort()).toEqual(['*.d.ts', '*.js', 'LICENSE', 'README.md', 'package.json'])
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@sterna'])
  })

  test('uses nothing of Node but in its command, and neither names nor maps its sources', () => {
    for (const file of readdirSync(installed('dist')).filter((name) => name !== 'cli')) {
      const code = readFileSync(installed('dist', file), 'utf8')
      expect(code).not.toMatch(/from ['"](?!\.\/[\w-]+\.js['"])/)
      expect(code).not.toMatch(/\brequire\(|\bprocess\.|\bBuffer\b|sourceMappingURL|import\(/)
    }
  })

  test.each<[string, object]>([
    [
      'Node, with the strictest options and without the types of browsers',
      { lib: ['es2022'], types: ['node'], typeRoots: [NODE_TYPES], exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
    ],
    ['browsers, for bundlers', { lib: ['es2022', 'dom', 'dom.iterable'], types: [], module: 'esnext', moduleResolution: 'bundler' }],
  ])('has types for %s', async (name, options) => {
    await compile(name, { 'use.ts': TYPED_USE }, options)
  })
})

describe('its command for templates', () => {
  const command = async (file: string, args: string[]) => {
    const { stdout, stderr, code = 0 } = await run(file, args, { cwd: folder, env: { ...process.env, ...env } }).catch((failure) => failure)
    return { text: stdout + stderr, code }
  }
  const templates = (verb: string, ...options: string[]) =>
    command(join(folder, 'node_modules/.bin/sterna-sdk'), ['templates', verb, 'emails', ...options])
  const file = (name: string) => join(folder, 'emails', name)
  const write = (name: string, content: string | object) =>
    writeFileSync(file(name), typeof content === 'string' ? content : JSON.stringify(content))
  const listed = async () => {
    const { body } = await project.call('GET', '/templates')
    return Object.fromEntries(body.data.map((template: { name: string }) => [template.name, template]))
  }

  beforeAll(() => {
    mkdirSync(file('node_modules/@react-email'), { recursive: true })
    // The packages of a customer's project.
    for (const name of ['mjml', 'react', 'react-dom', 'esbuild', '@react-email/render'])
      symlinkSync(join(ROOT, 'node_modules', name), file(`node_modules/${name}`))
  })

  test('renders React and MJML with the packages of the project, and creates the templates after a plan', async () => {
    write('welcome.json', { name: 'Welcome', subject: 'Hello {{ name ?? "you" }}', type: 'TRANSACTIONAL' })
    write('title.tsx', 'export const Title = () => <h1>Hello {\'{{ name ?? "you" }}\'}</h1>')
    write(
      'welcome.tsx',
      `import { Title } from './title.tsx'
       export default () => <html lang="en"><body><Title /><a href={'https://example.com/{{ plan ?? "free" }}'}>Open</a></body></html>`,
    )
    write('receipt.json', { name: 'Receipt', subject: 'Your receipt', type: 'TRANSACTIONAL' })
    write(
      'receipt.mjml',
      '<mjml><mj-body><mj-section><mj-column><mj-text>Paid: {{ amount ?? "0" }}</mj-text></mj-column></mj-section></mj-body></mjml>',
    )
    const plan = await command('npx', ['--offline', '@sterna/sdk', 'templates', 'plan', 'emails'])
    expect([plan.text, plan.code]).toEqual([expect.stringContaining('+ welcome.tsx  "Welcome"  create'), 0])
    expect(await listed()).toEqual({})
    expect(await templates('push')).toEqual({ text: expect.stringContaining('push needs --yes'), code: 2 })
    expect(await templates('push', '--yes')).toEqual({ text: expect.stringContaining('2 templates written.'), code: 0 })
    const { Welcome, Receipt } = await listed()
    expect(Welcome.body).toContain("Hello {{ name ?? 'you' }}")
    expect(Welcome.body).toContain(`href="https://example.com/{{ plan ?? 'free' }}"`)
    expect(Receipt.body).toContain('Paid: {{ amount ?? "0" }}')
    expect((await templates('push', '--yes')).text).toContain('0 templates written.')
    expect(readdirSync(file('.')).filter((name) => name.startsWith('.sterna-'))).toEqual([])
    // MJML takes a second to load, in every later command.
    await project.call('DELETE', `/templates/${Receipt.id}`)
    for (const name of ['receipt.json', 'receipt.mjml']) rmSync(file(name))
  })

  test('pulls templates made elsewhere, and shows who changed what', async () => {
    const { body: news } = await project.call('POST', '/templates', {
      name: 'News',
      subject: 'News',
      type: 'MARKETING',
      body: '<p>One</p>',
    })
    expect((await templates('pull')).text).toContain('1 template written.')
    expect([readFileSync(file('news.html'), 'utf8'), existsSync(file('welcome.html'))]).toEqual(['<p>One</p>', false])
    write('news.html', '<p>Two</p>')
    expect((await templates('plan')).text).toContain('~ news.html  "News"  update')
    await project.call('PATCH', `/templates/${news.id}`, { body: '<p>Three</p>' })
    expect(await templates('push', '--yes')).toEqual({ text: expect.stringContaining('! news.html'), code: 1 })
    expect((await listed()).News.body).toBe('<p>Three</p>')
    expect((await templates('pull', '--force')).code).toBe(0)
    expect(readFileSync(file('news.html'), 'utf8')).toBe('<p>Three</p>')
  })

  test('names what is wrong', async () => {
    write('broken.json', { name: 'Broken', subject: '{{ name', type: 'TRANSACTIONAL' })
    write('broken.html', '<p>{% if %}</p>')
    const refused = await templates('push', '--yes')
    expect([refused.code, refused.text]).toEqual([1, expect.stringContaining('subject:')])
    write('broken.mjml', '<mjml></mjml>')
    expect(await templates('plan')).toEqual({ text: expect.stringContaining('broken.json needs one content file'), code: 1 })
    for (const name of ['broken.json', 'broken.html', 'broken.mjml']) rmSync(file(name))
  })
})

const NODE_TYPES = join(ROOT, 'node_modules/@types')

async function compile(name: string, files: Record<string, string>, options: object) {
  const target = join(folder, name.replaceAll(/\W+/g, '-'))
  mkdirSync(target)
  const compilerOptions = { target: 'es2022', module: 'nodenext', strict: true, noEmit: true, ...options }
  writeFileSync(join(target, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(files) }))
  for (const [file, source] of Object.entries(files)) writeFileSync(join(target, file), source)
  const { stdout } = await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', target]).catch((failure) => failure)
  expect(stdout).toBe('')
}

/** Code of a customer, with mistakes that the types must find. */
const TYPED_USE = `
import { type Contact, type Items, Sterna, SternaError, type SendResult } from '@sterna/sdk'
const sterna = new Sterna({ baseUrl: 'https://sterna.example.com', apiKey: undefined })
export const sent: Promise<SendResult> = sterna.send({ to: ['a@example.com'], template: 't1' }, { idempotencyKey: 'k' })
export const contacts: Items<Contact> = sterna.contacts.all({ subscribed: true }, { max: 10 })
export const names: Promise<string[]> = sterna.templates.list().then(({ data }) => data.map(({ name }) => name))
export const code = (error: unknown) => (error instanceof SternaError && error.code === 'RATE_LIMIT_EXCEEDED' ? error.retryAfter : 0)
export const text: Promise<string> = sterna.contacts.importErrors('j1').then((file) => file.text())
// @ts-expect-error no such field
sterna.contacts.list({ subscribt: true })
// @ts-expect-error no recipient
sterna.send({ subject: 'Hello' })
// @ts-expect-error no such code
export const isLate = (error: SternaError) => error.code === 'TOO_LATE'
`

describe('the README', () => {
  const [setUp, ...examples] = [...README.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code!)
  const sources = examples.map((example) => `${setUp}\n${example}`)

  test('has examples of every part', () => {
    expect(examples.length).toBeGreaterThanOrEqual(8)
  })

  test('has examples with correct types', async () => {
    const files = Object.fromEntries(sources.map((source, index) => [`example-${index}.ts`, source]))
    await compile('readme', files, { lib: ['es2022'], types: ['node'], typeRoots: [NODE_TYPES] })
  })

  test('has examples that run', async () => {
    const files = await Promise.all(
      sources.map(async (source, index) => {
        const { code } = await transform(source, { loader: 'ts', format: 'esm' })
        writeFileSync(join(folder, `example-${index}.js`), code)
        return `./example-${index}.js`
      }),
    )
    writeFileSync(join(folder, 'examples.js'), files.map((file) => `await import('${file}')\n`).join(''))
    const { stdout } = await run(process.execPath, ['examples.js'], { cwd: folder, env: { ...process.env, ...env } })
    for (const line of [/^queued as [0-9a-f-]{36}$/m, /^already sent$/m, /^ada@example.com$/m, /not an address/])
      expect(stdout).toMatch(line)
    expect(await project.events.names()).toEqual(expect.arrayContaining(['signed up', 'opened settings']))
  })
})

describe('@plunk/node 3', () => {
  const { default: Plunk } = createRequire(import.meta.url)('@plunk/node') as typeof PlunkModule
  const plunk = (key: string) => new Plunk(key, { baseUrl: `${env.STERNA_URL}/v1/` })

  test('sends an email', async () => {
    const answer = await plunk(project.sk).emails.send({
      to: 'plunk@example.com',
      subject: 'Hello',
      body: '<p>Hello</p>',
      from: 'hello@example.com',
      name: 'Sterna',
      type: 'html',
    })
    expect(answer).toMatchObject({ success: true, data: { emails: [{ contact: { email: 'plunk@example.com' } }] } })
  })

  test('tracks an event', async () => {
    const answer = await plunk(project.pk).events.track({
      email: 'plunk@example.com',
      event: 'came from plunk',
      data: { plan: 'pro', coupon: { value: 'x', persistent: false } },
    })
    expect(answer).toMatchObject({ success: true })
    expect(await project.events.names()).toContain('came from plunk')
    expect((await project.contacts.find('plunk@example.com')).data).toEqual({ plan: 'pro' })
  })

  test('gets its own error for a wrong key', async () => {
    const call = plunk('sk_wrong').emails.send({ to: 'a@example.com', subject: 'x', body: 'x' })
    await expect(call).rejects.toThrow('Invalid API Credentials Provided')
  })
})
