import type { FastifyRequest } from 'fastify'
import { readStorableJson } from '../http/json.ts'
import type { App } from '../http/server.ts'
import { KB } from '../lib/units.ts'

export type Form = Record<string, unknown>

/** A form has a field or two. */
export const FORM_LIMIT = 64 * KB

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a form: what its content type said. */
    formType: string
  }
}

/**
 * In this scope a body may be of any type, or none: browsers, mail programs and scripts send what they like, and whoever wants to
 * leave must not fail at a header. What cannot be read says nothing.
 */
export function readForms(scope: App) {
  scope.decorateRequest('formType', '')
  scope.addHook('onRequest', (req, _reply, done) => {
    // The framework refuses what it cannot read here. It is for us to read.
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
