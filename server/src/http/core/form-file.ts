import multipart from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { AppError, fail } from '../../lib/errors/errors.ts'
import { KB } from '../../lib/text/units.ts'
import type { App } from './types.ts'

type FormFile = {
  field: string
  maxBytes: number
  /** Other fields of the form that the route reads, by name, with their descriptions. */
  fields?: Record<string, string>
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The multipart field with the one file of this route, and its maximum size. */
    formFile?: FormFile
  }
}

/** Bytes besides the file: part headers and boundaries. */
const AROUND = 64 * KB

export const maxFormBytes = ({ maxBytes }: FormFile) => maxBytes + AROUND

/** Routes in a scope of their own: multipart bodies are read there and nowhere else. */
export const withFormFiles = (app: App, addRoutes: (scope: App) => void) =>
  app.register(
    async (scope) => {
      await scope.register(multipart, { limits: { files: 1, fields: 10, parts: 11, headerPairs: 50, fieldSize: AROUND } })
      addRoutes(scope)
    },
    // At level trace the parser logs all request headers, and with them the API key.
    app.log.level === 'trace' ? { logLevel: 'debug' } : {},
  )

/** The one file of a form, and its other fields. `refuse` fails in the way of the route. */
export async function readFormFile(req: FastifyRequest, refuse: (message: string) => never) {
  const form = req.routeOptions.config.formFile!
  const { field, maxBytes } = form
  if (!req.isMultipart()) fail('UNSUPPORTED_MEDIA_TYPE', { message: `Send the file as multipart/form-data, in the field "${field}".` })
  if (Number(req.headers['content-length']) > maxFormBytes(form)) fail('PAYLOAD_TOO_LARGE')
  const files: { field: string; filename: string; content: Buffer }[] = []
  const fields = new Map<string, string>()
  try {
    // All files are read: a second one must be refused, not ignored.
    for await (const part of req.parts({ limits: { fileSize: maxBytes } })) {
      if (part.type === 'file') files.push({ field: part.fieldname, filename: part.filename, content: await part.toBuffer() })
      else if (typeof part.value === 'string') fields.set(part.fieldname, part.value)
    }
  } catch (err) {
    // The body was cut off.
    if (err instanceof AppError) throw err
    if ((err as { code?: string }).code === 'FST_REQ_FILE_TOO_LARGE') fail('PAYLOAD_TOO_LARGE')
    return refuse('The upload is not valid multipart/form-data with one file.')
  }
  const [file] = files
  return file?.field === field ? { ...file, fields } : refuse(`Send one file in the field "${field}".`)
}
