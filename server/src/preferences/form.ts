import type { FastifyRequest } from 'fastify'
import { readStorableJson } from '../http/core/json.ts'
import type { App } from '../http/core/types.ts'
import { KB } from '../lib/text/units.ts'

export type Form = Record<string, unknown>

/** A form has one or two fields. */
export const FORM_LIMIT = 64 * KB

declare module 'fastify' {
  interface FastifyRequest {
    /** Original content type of a form. */
    formType: string
  }
}

/**
 * Accepts bodies of any content type in this scope: browsers, email clients and scripts differ, and a wrong header must not keep anybody
 * from unsubscribing. A body that cannot be read counts as empty.
 */
export function readForms(scope: App) {
  scope.decorateRequest('formType', '')
  scope.addHook('onRequest', (req, _reply, done) => {
    // Fastify would refuse an invalid content type before our parser runs.
    req.formType = req.headers['content-type'] ?? ''
    delete req.headers['content-type']
    done()
  })
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: FORM_LIMIT }, async (req: FastifyRequest, bytes: Buffer) =>
    readForm(req.formType, bytes).catch(() => ({})),
  )
}

async function readForm(type: string, bytes: Buffer): Promise<Form> {
  if (/^application\/json\b/i.test(type)) {
    const value = readStorableJson(bytes)
    return typeof value === 'object' && value !== null ? (value as Form) : {}
  }
  if (!/^multipart\/form-data\b/i.test(type)) return Object.fromEntries(new URLSearchParams(bytes.toString()))
  const data = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData()
  return Object.fromEntries([...data])
}
