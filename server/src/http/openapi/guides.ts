import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyReply } from 'fastify'
import { notFound } from '../../lib/errors/errors.ts'
import { ANYONE } from '../auth/declaration.ts'
import type { App } from '../core/types.ts'

/** Beside the built server; from the sources, those of the last build. */
const FOLDERS = ['./guides/', '../../../dist/guides/'].map((path) => fileURLToPath(new URL(path, import.meta.url)))

/** Pages contain nothing but text, their own style and links. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const HIDDEN = { config: ANYONE, schema: { hide: true } }
const TYPES = { html: 'text/html; charset=utf-8', md: 'text/markdown; charset=utf-8', txt: 'text/plain; charset=utf-8' }

/** The documentation for people and, as Markdown with a list of its pages, for programs. */
export function guideRoutes(app: App) {
  const folder = FOLDERS.find((each) => existsSync(each))

  /** `page`: a name with an ending, or without one for HTML. */
  async function show(reply: FastifyReply, page: string) {
    const [, name, kind = 'html'] = /^([a-z0-9-]{1,60})(?:\.(md|txt))?$/.exec(page) ?? []
    const content = folder && name && (await readFile(join(folder, `${name}.${kind}`)).catch(() => undefined))
    if (!content) return notFound('page', page)
    return reply
      .header('content-security-policy', POLICY)
      .type(TYPES[kind as keyof typeof TYPES])
      .send(content)
  }

  app.get('/llms.txt', HIDDEN, (_req, reply) => show(reply, 'llms.txt'))
  app.get('/docs/guides', HIDDEN, (_req, reply) => show(reply, 'index'))
  app.get('/docs/guides/:page', HIDDEN, (req, reply) => show(reply, (req.params as { page: string }).page))
}
