// Makes web pages of the Markdown in docs/, with links between them, and llms.txt, the list of pages for programs that read them.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Marked } from 'marked'

const DOCS = join(dirname(fileURLToPath(import.meta.url)), '../docs')
const PATH = '/docs/guides'

const pagesIn = (folder) =>
  readdirSync(join(DOCS, folder))
    .filter((file) => file.endsWith('.md'))
    .map((file) => {
      const text = readFileSync(join(DOCS, folder, file), 'utf8')
      return { name: basename(file, '.md'), text, title: /^# (.+)$/m.exec(text)?.[1] ?? file }
    })

export function buildGuides(out) {
  mkdirSync(out, { recursive: true })
  const guides = inOrder(pagesIn('guides'))
  const reference = byTitle(pagesIn('.'))
  const known = new Set([...guides, ...reference].map(({ name }) => name))
  if (known.size < guides.length + reference.length) throw new Error('two pages of docs/ and docs/guides/ have the same name')
  for (const page of [...guides, ...reference]) {
    writeFileSync(join(out, `${page.name}.md`), page.text)
    writeFileSync(join(out, `${page.name}.html`), printPage(page, { guides, reference, known }))
  }
  writeFileSync(join(out, 'llms.txt'), printList({ guides, reference }))
}

/** The anchors of headings are those of GitHub, which the links use. */
const anchorOf = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** A page of ours; other files of the repository are named, not linked. */
function targetOf(href, known) {
  const [, path = '', anchor = ''] = /^([^#]*)(#.*)?$/.exec(href)
  if (/^[a-z]+:/.test(href) || !path) return href
  const name = basename(path, '.md')
  return path.endsWith('.md') && known.has(name) ? `${PATH}/${name}${anchor}` : undefined
}

function renderer(known) {
  return new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens)
        const target = targetOf(href, known)
        return target ? `<a href="${target}">${text}</a>` : text
      },
    },
  })
}

/** In the order of the links of their index. */
function inOrder(guides) {
  const { text } = guides.find(({ name }) => name === 'index')
  return guides.toSorted((a, b) => text.indexOf(`(${a.name}.md)`) - text.indexOf(`(${b.name}.md)`))
}

const byTitle = (pages) => pages.toSorted((a, b) => a.title.localeCompare(b.title, 'en'))

const listOf = (pages, current) =>
  pages
    .filter(({ name }) => name !== 'index')
    .map(({ name, title }) => `<li><a href="${PATH}/${name}"${name === current ? ' aria-current="page"' : ''}>${title}</a></li>`)
    .join('\n')

const printPage = ({ name, title, text }, { guides, reference, known }) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Sterna</title>
<link rel="alternate" type="text/markdown" href="${PATH}/${name}.md">
<style>${STYLE}</style>
</head>
<body>
<nav aria-label="Pages">
<a class="home" href="${PATH}">Sterna</a>
<h2>Guides</h2>
<ul>
${listOf(guides, name)}
</ul>
<h2>Reference</h2>
<ul>
<li><a href="/docs">API reference</a></li>
${listOf(reference, name)}
</ul>
</nav>
<main>
${renderer(known).parse(text)}
<p class="source"><a href="${PATH}/${name}.md">This page as Markdown</a></p>
</main>
</body>
</html>
`

const printList = ({ guides, reference }) =>
  [
    '# Sterna',
    '',
    '> A self-hosted, multi-tenant email platform: transactional email, events, contacts, campaigns, segments, workflows. One program, one PostgreSQL.',
    '',
    '## Guides',
    '',
    ...guides.filter(({ name }) => name !== 'index').map(({ name, title }) => `- [${title}](${PATH}/${name}.md)`),
    '',
    '## Reference',
    '',
    '- [OpenAPI document](/openapi.json)',
    ...reference.map(({ name, title }) => `- [${title}](${PATH}/${name}.md)`),
    '',
  ].join('\n')

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #dfe3e8; --back: #fff; --code: #f4f6f8; --link: #0b63ce }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #a2acba; --line: #313a46; --back: #12161c; --code: #1b212a; --link: #7ab4ff } }
* { box-sizing: border-box }
body { margin: 0; color: var(--ink); background: var(--back); font: 16px/1.6 Inter, system-ui, sans-serif; display: grid; grid-template-columns: 16rem minmax(0, 1fr) }
nav { padding: 1.5rem; border-right: 1px solid var(--line); font-size: .9rem }
nav h2 { font-size: .75rem; color: var(--soft); text-transform: uppercase; letter-spacing: .05em; margin: 1.5rem 0 .25rem }
nav ul { list-style: none; margin: 0; padding: 0 }
nav a { display: block; padding: .25rem 0; color: inherit; text-decoration: none }
nav a:hover, nav a[aria-current] { color: var(--link) }
nav .home { font-weight: 650; font-size: 1.1rem }
main { padding: 2rem 2.5rem 4rem; max-width: 54rem }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1rem }
h2 { margin-top: 2.2rem; font-size: 1.3rem }
a { color: var(--link) }
pre { background: var(--code); padding: 1rem; border-radius: 8px; overflow-x: auto; font-size: .85rem; line-height: 1.5 }
code { font-family: ui-monospace, SFMono-Regular, Menlo, monospace; font-size: .88em; background: var(--code); padding: .1em .3em; border-radius: 4px; overflow-wrap: anywhere }
pre code { padding: 0; background: none; font-size: inherit; overflow-wrap: normal }
table { border-collapse: collapse; display: block; overflow-x: auto; font-size: .92rem }
td, th { border: 1px solid var(--line); padding: .45rem .7rem; text-align: left; vertical-align: top }
td code { overflow-wrap: normal }
.source { margin-top: 3rem; font-size: .85rem }
@media (max-width: 52rem) { body { grid-template-columns: minmax(0, 1fr) } nav { border-right: 0; border-top: 1px solid var(--line); order: 2 } main { padding: 1.25rem } }
`
