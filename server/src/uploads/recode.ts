import type { Sharp } from 'sharp'
import { createSemaphore } from '../lib/concurrency/semaphore.ts'
import { AppError, fail } from '../lib/errors/errors.ts'
import { MB } from '../lib/text/units.ts'
import { countScans } from './jpeg-scans.ts'
import type { Extension } from './key.ts'

const MAX_PIXELS = 30_000_000
const MAX_SIDE = 16_384
const MAX_FRAMES = 1_000
/** Cameras write one scan, web tools about ten. 2,649 scans in 310 kB kept a thread busy for 94 s, which no timeout interrupts. */
const MAX_SCANS = 100
const MAX_BYTES = 20 * MB
const MAX_SECONDS = 30

type Format = { extension: Extension; startsLike: (text: string) => boolean; encode: (image: Sharp) => Sharp }

const FORMATS: Format[] = [
  { extension: 'jpg', startsLike: (text) => text.startsWith('\xff\xd8\xff'), encode: (image) => image.jpeg({ quality: 85 }) },
  { extension: 'png', startsLike: (text) => text.startsWith('\x89PNG\r\n\x1a\n'), encode: (image) => image.png() },
  { extension: 'gif', startsLike: (text) => /^GIF8[79]a/.test(text), encode: (image) => image.gif() },
  {
    extension: 'webp',
    startsLike: (text) => text.startsWith('RIFF') && text.startsWith('WEBP', 8),
    encode: (image) => image.webp({ quality: 85 }),
  },
]

/** Two of the four threads of Node's pool stay free for files, password hashing and lookups. */
const inTurn = createSemaphore(2)

/**
 * Decodes and re-encodes the image. This removes hidden content (scripts, locations, comments) and rejects files that only start like an
 * image. Animations are kept.
 */
export async function recode(given: Buffer): Promise<{ content: Buffer; extension: Extension }> {
  const start = given.toString('latin1', 0, 16)
  const format = FORMATS.find(({ startsLike }) => startsLike(start)) ?? refuse('Only JPEG, PNG, GIF and WebP images are accepted.')
  const sharp = await loadSharp()
  const content = await inTurn(() => reencode(sharp, given, format)).catch((err) =>
    err instanceof AppError ? Promise.reject(err) : refuse('The image is damaged or takes too long to decode.', err),
  )
  if (content.length > MAX_BYTES) refuse('The image is larger than 20 MB after re-encoding. Send a smaller one.')
  return { content, extension: format.extension }
}

async function reencode(sharp: SharpModule, given: Buffer, { extension, encode }: Format) {
  // Without the pixel limit of sharp, whose error does not name the problem: ours is checked before anything is decoded.
  const image = sharp(given, { animated: true, limitInputPixels: false })
  const { width, height, pages = 1, pageHeight = height } = await image.metadata()
  if (pages > MAX_FRAMES) refuse(`The animation has ${pages} frames; at most ${MAX_FRAMES} are accepted.`)
  if (Math.max(width, pageHeight) > MAX_SIDE || width * pageHeight * pages > MAX_PIXELS)
    refuse(`The image has too many pixels: at most ${MAX_PIXELS / 1e6} million over all its frames, and ${MAX_SIDE} a side.`)
  if (extension === 'jpg' && countScans(given) > MAX_SCANS) refuse(`The image has more than ${MAX_SCANS} scans.`)
  const upright = pages === 1 ? image.autoOrient() : image
  return encode(upright).timeout({ seconds: MAX_SECONDS }).toBuffer()
}

const refuse = (message: string, cause?: unknown): never => fail('BAD_REQUEST', { message, cause })

type SharpModule = Awaited<ReturnType<typeof prepareSharp>>

const LOADERS = ['Jpeg', 'Png', 'Nsgif', 'Webp'].map((name) => `VipsForeignLoad${name}Buffer`)

let prepared: ReturnType<typeof prepareSharp> | undefined

/** Loaded at the first upload: it maps about 20 MB of code that most processes never run. Once: between block and unblock every image is refused. */
const loadSharp = () => (prepared ??= prepareSharp())

async function prepareSharp() {
  const { default: sharp } = await import('sharp')
  sharp.cache(false)
  sharp.concurrency(1)
  // Other formats that sharp can decode (SVG, PDF, TIFF, …) are blocked.
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: LOADERS })
  return sharp
}
