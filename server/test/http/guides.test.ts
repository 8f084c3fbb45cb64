import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { useSharedApp } from '../support/app.ts'

const sterna = useSharedApp()
const get = (url: string) => sterna.app.inject({ url })
const pages = ['../../../docs', '../../../docs/guides']
  .flatMap((folder) => readdirSync(new URL(folder, import.meta.url)))
  .flatMap((file) => (file.endsWith('.md') ? [file.slice(0, -3)] : []))

describe('guides', () => {
  test('are pages whose links lead somewhere', async () => {
    const links = new Set<string>()
    for (const name of pages) {
      const { statusCode, body, headers } = await get(`/docs/guides/${name}`)
      expect([name, statusCode, headers['content-type']]).toEqual([name, 200, 'text/html; charset=utf-8'])
      expect(headers['content-security-policy']).toContain("default-src 'none'")
      expect(body).not.toContain('<script')
      for (const [, href] of body.matchAll(/href="(\/docs\/guides[^"#]*)/g)) links.add(href!)
      // A link inside the page leads to a heading.
      for (const [, anchor] of body.matchAll(/href="#([^"]+)"/g)) expect(body).toContain(`id="${anchor}"`)
    }
    expect(links.size).toBeGreaterThan(pages.length)
    for (const link of links) expect([link, (await get(link)).statusCode]).toEqual([link, 200])
  })

  test('begin with a list, and exist as Markdown for programs', async () => {
    expect((await get('/docs/guides')).body).toContain('<h1 id="guides">Guides</h1>')
    const markdown = await get('/docs/guides/first-send.md')
    expect(markdown.headers['content-type']).toBe('text/markdown; charset=utf-8')
    expect(markdown.body).toContain('# Your first email')
    const list = (await get('/llms.txt')).body
    for (const name of pages.filter((each) => each !== 'index')) expect(list).toContain(`/docs/guides/${name}.md`)
  })

  test.each(['nothing', 'nothing.md', '..%2f..%2fmain', 'index.html', 'first-send.txt', 'A', '%00'])('%s is not found', async (name) => {
    expect((await get(`/docs/guides/${name}`)).statusCode).toBe(404)
  })
})
