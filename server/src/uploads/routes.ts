import { z } from 'zod'
import { ANYONE, SENDS_NOTHING } from '../http/auth/declaration.ts'
import { readFormFile, withFormFiles } from '../http/core/form-file.ts'
import type { App, Deps } from '../http/core/types.ts'
import { routesOf } from '../http/resource.ts'
import { fail, notFound, tryLater } from '../lib/errors/errors.ts'
import { createFairSemaphore } from '../lib/fair/semaphore.ts'
import { MB } from '../lib/text/units.ts'
import { cleanFilename } from './filename.ts'
import { contentTypeOf } from './key.ts'
import { imageUrl, openStorage } from './storage.ts'
import { checkQuota, failUnavailable, storeImage } from './store-image.ts'

const Uploaded = z
  .object({
    url: z.string().describe('For the `src` of an `<img>`. Public, and always the same image.'),
    key: z.string(),
    filename: z.string(),
    contentType: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
    size: z.int().describe('Size in bytes as stored, after re-encoding.'),
  })
  .meta({ id: 'Upload' })

const Image = { description: 'The image', content: { 'image/*': { schema: z.string() } } }
const NotChanged = z.null().describe('Not modified')
const KeyParam = z.object({ key: z.string() })

/** Other sites and email clients may embed it. Browsers must not run it or sniff another type, and may cache it forever. */
const HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff',
}

export async function uploadRoutes(app: App, { db, config }: Deps) {
  const tags = ['Uploads']
  const storage = openStorage(config)
  // Memory is bounded by the budget of request bodies, CPU by `recode`. This keeps slow clients of a few projects from taking every slot.
  const refusal = () => tryLater('Too many uploads at once. Try again shortly.', 2)
  const admit = createFairSemaphore({ slots: 200, each: 8, maxWaiting: 0, maxWaitMs: 0, refusal })

  await withFormFiles(app, (scope) => {
    routesOf(scope, { tags, caller: 'project', role: 'MEMBER', scope: 'templates', ...SENDS_NOTHING }).post(
      '/uploads/image',
      {
        summary: 'Upload an image',
        description: 'JPEG, PNG, GIF or WebP of at most 10 MB. The image is re-encoded, which removes its metadata and any hidden content.',
        consumes: ['multipart/form-data'],
        audit: 'upload.create',
        response: Uploaded,
        formFile: { field: 'image', maxBytes: 10 * MB },
        refusals: ['RESOURCE_NOT_FOUND'],
      },
      (req) =>
        admit(req.project.id, async () => {
          await checkQuota(db, req.project.id, config.uploadQuotaMb)
          const file = await readFormFile(req, (message) => fail('BAD_REQUEST', { message }))
          const upload = await storeImage(req.db, storage, { projectId: req.project.id, given: file.content })
          return { url: imageUrl(config, upload.key), ...upload, filename: cleanFilename(file.filename, upload.key) }
        }),
    )
  })

  for (const method of ['HEAD', 'GET'] as const) {
    app.route({
      method,
      url: '/uploads/:key',
      config: ANYONE,
      schema: {
        tags,
        summary: 'Get an uploaded image',
        params: KeyParam,
        response: { 200: Image, 304: NotChanged },
        hide: method === 'HEAD',
      },
      handler: async (req, reply) => {
        const { key } = req.params
        const type = contentTypeOf(key) ?? notFound('image', key)
        const file = (await storage.open(key).catch(failUnavailable)) ?? notFound('image', key)
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
