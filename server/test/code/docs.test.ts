import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

type Page = { name: string; text: string }

const readPage = (name: string): Page => ({ name, text: readFileSync(join(ROOT, name), 'utf8') })
const listFiles = (folder: string) =>
  (readdirSync(join(ROOT, folder), { recursive: true }) as string[])
    .filter((file) => !/(^|\/)(node_modules|dist)\//.test(file))
    .map((file) => join(folder, file))

const pages = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'sdk/README.md', 'dashboard/README.md']
  .concat(listFiles('docs').filter((file) => file.endsWith('.md')))
  .map(readPage)
const files = ['server', 'dashboard', 'sdk', 'bench', 'scripts', 'docs']
  .flatMap(listFiles)
  .filter((file) => !file.startsWith('bench/data/'))

const FILE = /`([\w@-][\w@./-]*\.(?:tsx?|mjs|sql|txt|json|md))`/g

/** Files that a page names by the end of their path, such as `outbox/mark.ts`, and that do not exist. */
const missingFiles = ({ name, text }: Page) =>
  [...text.matchAll(FILE)]
    .map(([, file]) => file!)
    .filter((file) => !existsSync(join(ROOT, file)) && !files.some((each) => each.endsWith(`/${file}`)))
    .map((file) => `${name}: ${file}`)

/** The anchor of a heading, as GitHub makes it. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
const anchorsOf = (text: string) => [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!))

/** Links between pages that lead to no file, or to no heading of it. */
const brokenLinks = ({ name, text }: Page) =>
  [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
    .filter(([, path, anchor]) => {
      const target = path ? join(dirname(name), path) : name
      if (!existsSync(join(ROOT, target))) return true
      return anchor !== undefined && !anchorsOf(readPage(target).text).includes(anchor)
    })
    .map(([link]) => `${name}: ${link}`)

/** Matches the text literally inside of a regular expression. */
const escapePattern = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

test('every file that the documentation names exists', () => {
  expect(pages.flatMap(missingFiles)).toEqual([])
})

test('links between pages of the documentation lead to a heading that exists', () => {
  expect(pages.flatMap(brokenLinks)).toEqual([])
})

test('ARCHITECTURE.md has at most 400 lines of at most 120 characters', () => {
  const lines = readPage('ARCHITECTURE.md').text.split('\n')
  expect(lines.length).toBeLessThanOrEqual(400)
  expect(lines.filter((line) => line.length > 120)).toEqual([])
})

test('docs/guides/index.md names every guide and every page of the reference', () => {
  const { text } = readPage('docs/guides/index.md')
  const named = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, path]) => join('docs/guides', path!))
  const pages = [...listFiles('docs/guides'), ...readdirSync(join(ROOT, 'docs')).map((file) => `docs/${file}`)]
  expect(pages.filter((file) => /\.md$/.test(file) && !file.endsWith('/index.md') && !named.includes(file))).toEqual([])
})

test('the pictures of the README exist, and load quickly', () => {
  const pictures = [...readPage('README.md').text.matchAll(/(?:src|srcset)="([^"]+)"/g)].map(([, file]) => file!)
  expect(pictures).toHaveLength(4)
  for (const file of pictures) expect(statSync(join(ROOT, file)).size, file).toBeLessThan(250_000)
})

test('ARCHITECTURE.md names the folder of every path', () => {
  const [, section = ''] = /\n## Paths\n([\s\S]*?)\n## /.exec(readPage('ARCHITECTURE.md').text) ?? []
  const named = [...section.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell]) => [...cell!.matchAll(/`([^`]+)`/g)].map(([, path]) => path!))
  const patterns = named.map((path) => new RegExp(`^${path.split('…').map(escapePattern).join('.*')}$`))
  const routes = readPage('server/test/http/routes.golden.txt').text.trim().split('\n')
  expect(routes.filter((route) => !patterns.some((pattern) => pattern.test(route.split(' ')[1]!)))).toEqual([])
})

test('docs/campaigns.md explains every reason of a pause', () => {
  const { components } = JSON.parse(readPage('docs/openapi.json').text)
  const reasons: string[] = components.schemas.Campaign.properties.pausedReason.anyOf[0].enum
  const [, table = ''] = /\n\| `pausedReason` \|(.*?)\n\n/s.exec(readPage('docs/campaigns.md').text) ?? []
  const explained = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell]) => [...cell!.matchAll(/`(\w+)`/g)].map(([, reason]) => reason))
  expect(explained.sort()).toEqual([...reasons].sort())
})

test('these tests find what they look for', () => {
  const page = {
    name: 'README.md',
    text: '`outbox/mark.ts` `no/such.ts` [a](docs/errors.md#bounds) [b](docs/errors.md#none) [c](docs/none.md)',
  }
  expect(missingFiles(page)).toEqual(['README.md: no/such.ts'])
  expect(brokenLinks(page)).toEqual(['README.md: ](docs/errors.md#none)', 'README.md: ](docs/none.md)'])
})
