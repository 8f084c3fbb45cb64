import { z } from 'zod'
import { readFormFile, withFormFiles } from '../http/form-file.ts'
import type { App, Deps } from '../http/server.ts'
import { fail, notFound } from '../lib/errors.ts'
import { MB } from '../lib/units.ts'
import { cleanFilename } from './filename.ts'
import { typeOf } from './key.ts'
import { addressOf, openStorage } from './storage.ts'
import { checkQuota, keepImage, unavailable } from './store-image.ts'
import { createDoor } from './upload-limit.ts'

const Uploaded = z
  .object({
    url: z.string().describe('For the `src` of an `<img>`. Public, and never another image.'),
    key: z.string(),
    filename: z.string(),
    contentType: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
    size: z.int().describe('Bytes as stored: the image is drawn anew.'),
  })
  .meta({ id: 'Upload' })

const Image = { description: 'The image', content: { 'image/*': { schema: z.string() } } }
const NotChanged = z.null().describe('You have it already')
const KeyParam = z.object({ key: z.string() })

/** Other sites and mail readers may show it; nothing may run it, guess another type for it, or ask for it again. */
const HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff',
}

export async function uploadRoutes(app: App, { db, config }: Deps) {
  const tags = ['Uploads']
  const storage = openStorage(config)
  // Memory is bounded by the budget of request bodies, work by `recode`. Slow clients of a few projects must not take every place.
  const admit = createDoor({ inside: 200, ofOneProject: 8 })

  await withFormFiles(app, (scope) => {
    scope.post(
      '/uploads/image',
      {
        config: { caller: 'project', formFile: { field: 'image', maxBytes: 10 * MB }, refusals: ['RESOURCE_NOT_FOUND'] },
        schema: {
          tags,
          summary: 'Upload an image',
          description: 'JPEG, PNG, GIF or WebP of at most 10 MB. It is drawn anew, without anything that was hidden in it.',
          consumes: ['multipart/form-data'],
          response: { 200: Uploaded },
        },
      },
      (req) =>
        admit(req.project.id, async () => {
          await checkQuota(db, req.project.id, config.uploadQuotaMb)
          const file = await readFormFile(req, (message) => fail('BAD_REQUEST', { message }))
          const upload = await keepImage(db, storage, { projectId: req.project.id, given: file.content })
          return { url: addressOf(config, upload.key), ...upload, filename: cleanFilename(file.filename, upload.key) }
        }),
    )
  })

  for (const method of ['HEAD', 'GET'] as const) {
    app.route({
      method,
      url: '/uploads/:key',
      config: { caller: 'anyone' },
      schema: { tags, summary: 'An uploaded image', params: KeyParam, response: { 200: Image, 304: NotChanged }, hide: method === 'HEAD' },
      handler: async (req, reply) => {
        const { key } = req.params
        const type = typeOf(key) ?? notFound('image', key)
        const file = (await storage.open(key).catch(unavailable)) ?? notFound('image', key)
        const etag = `"${key}"`
        reply.headers({ ...HEADERS, 'content-type': type, 'content-disposition': `inline; filename="${key}"`, etag })
        const isKnown = req.headers['if-none-match']?.includes(etag)
        if (!isKnown && file.size !== undefined) reply.header('content-length', file.size)
        if (!isKnown && method === 'GET') return reply.send(file.content as never) // a stream is not JSON
        file.content.destroy()
        return reply.status(isKnown ? 304 : 200).send(null)
      },
    })
  }
}
