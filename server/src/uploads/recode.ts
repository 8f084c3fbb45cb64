import type { Sharp } from 'sharp'
import { AppError, fail } from '../lib/errors.ts'
import { createSemaphore } from '../lib/semaphore.ts'
import { MB } from '../lib/units.ts'
import { countScans } from './jpeg-scans.ts'
import type { Ending } from './key.ts'

const MAX_PIXELS = 30_000_000
const MAX_SIDE = 16_384
const MAX_FRAMES = 1_000
/** Cameras write one, the web some ten. 2,649 of them in 310 kB kept a thread busy for 94 s: no time limit ends this part. */
const MAX_SCANS = 100
const MAX_BYTES = 20 * MB
const MAX_SECONDS = 30

type Format = { ending: Ending; begins: (text: string) => boolean; encode: (image: Sharp) => Sharp }

const FORMATS: Format[] = [
  { ending: 'jpg', begins: (text) => text.startsWith('\xff\xd8\xff'), encode: (image) => image.jpeg({ quality: 85 }) },
  { ending: 'png', begins: (text) => text.startsWith('\x89PNG\r\n\x1a\n'), encode: (image) => image.png() },
  { ending: 'gif', begins: (text) => /^GIF8[79]a/.test(text), encode: (image) => image.gif() },
  {
    ending: 'webp',
    begins: (text) => text.startsWith('RIFF') && text.startsWith('WEBP', 8),
    encode: (image) => image.webp({ quality: 85 }),
  },
]

/** Of Node's four threads for such work, two stay free for files, passwords and look-ups. */
const inTurn = createSemaphore(2)

/**
 * Draws the image anew: what was hidden in or behind it (scripts, places, comments) is gone, and a file that only begins like an
 * image is found out. Animations stay.
 */
export async function recode(given: Buffer): Promise<{ content: Buffer; ending: Ending }> {
  const start = given.toString('latin1', 0, 16)
  const format = FORMATS.find(({ begins }) => begins(start)) ?? refuse('Only JPEG, PNG, GIF and WebP images are accepted.')
  const sharp = await loadSharp()
  const content = await inTurn(() => redraw(sharp, given, format)).catch((err) =>
    err instanceof AppError ? Promise.reject(err) : refuse('The image is damaged, or takes too long to read.', err),
  )
  if (content.length > MAX_BYTES) refuse('The image takes more than 20 MB once it is drawn anew. Send a smaller one.')
  return { content, ending: format.ending }
}

async function redraw(sharp: Drawing, given: Buffer, { ending, encode }: Format) {
  // Without its own limit of pixels, which would not say what is wrong: ours is checked before anything is decoded.
  const image = sharp(given, { animated: true, limitInputPixels: false })
  const { width, height, pages = 1, pageHeight = height } = await image.metadata()
  if (pages > MAX_FRAMES) refuse(`The animation has ${pages} frames; at most ${MAX_FRAMES} are accepted.`)
  if (Math.max(width, pageHeight) > MAX_SIDE || width * pageHeight * pages > MAX_PIXELS)
    refuse(`The image has too many pixels: at most ${MAX_PIXELS / 1e6} million over all its frames, and ${MAX_SIDE} a side.`)
  if (ending === 'jpg' && countScans(given) > MAX_SCANS) refuse(`The image has more than ${MAX_SCANS} scans.`)
  const upright = pages === 1 ? image.autoOrient() : image
  return encode(upright).timeout({ seconds: MAX_SECONDS }).toBuffer()
}

const refuse = (message: string, cause?: unknown): never => fail('BAD_REQUEST', { message, cause })

type Drawing = Awaited<ReturnType<typeof loadSharp>>

const LOADERS = ['Jpeg', 'Png', 'Nsgif', 'Webp'].map((name) => `VipsForeignLoad${name}Buffer`)

/** At the first upload: it maps some 20 MB of code that most processes never run. */
async function loadSharp() {
  const { default: sharp } = await import('sharp')
  sharp.cache(false)
  sharp.concurrency(1)
  // Whatever else it could read (SVG, PDF, TIFF, …) it must not even try.
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: LOADERS })
  return sharp
}
