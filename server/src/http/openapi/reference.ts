import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Config } from '../../lib/config.ts'
import { notFound } from '../../lib/errors/errors.ts'
import { ANYONE } from '../auth/declaration.ts'
import { readSessionCookie } from '../auth/session-cookie.ts'
import type { App } from '../core/types.ts'

const OURS = fileURLToPath(new URL('./reference-page/', import.meta.url))

/** Swagger UI as `@fastify/swagger-ui` ships it: without the install-time telemetry of `swagger-ui-dist`. */
const libraryFolder = () => join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui')), 'static')

const JAVASCRIPT = 'text/javascript; charset=utf-8'
const CSS = 'text/css; charset=utf-8'
const FILES = {
  'swagger-ui.js': { path: () => join(libraryFolder(), 'swagger-ui-bundle.js'), type: JAVASCRIPT },
  'swagger-ui.css': { path: () => join(libraryFolder(), 'swagger-ui.css'), type: CSS },
  'page.js': { path: () => join(OURS, 'page.js'), type: JAVASCRIPT },
  'page.css': { path: () => join(OURS, 'page.css'), type: CSS },
}
type FileName = keyof typeof FILES
type Asset = { type: string; compressed: Buffer; version: string }
type Assets = Record<FileName, Asset>

/** Stricter than that of the dashboard: the page loads and calls its own origin only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HIDDEN = { config: ANYONE, schema: { hide: true } }

/** The API reference for people, with requests that can be tried out. */
export function referenceRoutes(app: App, { publicUrl }: Pick<Config, 'publicUrl'>) {
  let assets: Promise<Assets> | undefined
  /** Read on first use: most processes never serve this page. */
  const load = () => (assets ??= readAssets())

  app.get('/docs', HIDDEN, async (req, reply) => {
    const isSignedIn = readSessionCookie(req, publicUrl) !== undefined
    const page = printPage(await load(), { isSignedIn })
    return reply.header('content-security-policy', POLICY).type('text/html; charset=utf-8').send(page)
  })

  app.get('/docs/:file', HIDDEN, async (req, reply) => {
    const { file } = req.params as { file: string }
    if (!Object.hasOwn(FILES, file)) return notFound('route', `${req.method} ${req.url}`)
    const { type, compressed } = (await load())[file as FileName]
    // Always compressed, since every browser accepts gzip; always fresh, since the URL has the version.
    return reply
      .header('cache-control', 'public, max-age=31536000, immutable')
      .header('content-encoding', 'gzip')
      .type(type)
      .send(compressed)
  })
}

async function readAssets(): Promise<Assets> {
  const entries = Object.entries(FILES).map(async ([name, { path, type }]): Promise<[string, Asset]> => {
    const content = await readFile(path())
    const version = createHash('sha256').update(content).digest('hex').slice(0, 12)
    return [name, { type, compressed: await promisify(gzip)(content, { level: 9 }), version }]
  })
  return Object.fromEntries(await Promise.all(entries)) as Assets
}

function printPage(assets: Assets, { isSignedIn }: { isSignedIn: boolean }) {
  const url = (file: FileName) => `/docs/${file}?v=${assets[file].version}`
  return `<!doctype html>
<html lang="en" data-signed-in="${isSignedIn}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference · Sterna</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${url('swagger-ui.css')}">
<link rel="stylesheet" href="${url('page.css')}">
<script defer src="${url('swagger-ui.js')}"></script>
<script defer src="${url('page.js')}"></script>
</head>
<body>
<header class="bar">
<a class="brand" href="/">Sterna</a>
<span class="caller" id="caller"></span>
<a href="/openapi.json">openapi.json</a>
</header>
<div id="reference"><p class="loading">Loading the API reference …</p></div>
<noscript>The API reference needs JavaScript. The same document for machines: <a href="/openapi.json">openapi.json</a></noscript>
</body>
</html>
`
}
