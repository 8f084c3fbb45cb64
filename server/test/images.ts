import { deflateSync } from 'node:zlib'
import sharp, { type Sharp } from 'sharp'

/** Images for tests, good and bad, made in code. */

export type Format = 'jpeg' | 'png' | 'gif' | 'webp'

export const plain = (width = 40, height = 20): Sharp => sharp({ create: { width, height, channels: 3, background: '#c04020' } })

export const image = (format: Format, width?: number, height?: number) => plain(width, height).toFormat(format).toBuffer()

/** Something on every pixel, so that it compresses badly. */
export const noise = (format: Format, width = 200, height = 200) =>
  sharp({ create: { width, height, channels: 3, background: '#888', noise: { type: 'gaussian', mean: 128, sigma: 40 } } })
    .toFormat(format)
    .toBuffer()

export async function animation(format: 'gif' | 'webp', delay: number[]) {
  const frames = delay.map((_, n) =>
    sharp({ create: { width: 16, height: 12, channels: 3, background: { r: 60 * n, g: 20, b: 200 } } })
      .png()
      .toBuffer(),
  )
  return sharp(await Promise.all(frames), { join: { animated: true } })
    [format]({ delay, loop: 0 })
    .toBuffer()
}

// PNG by hand ---------------------------------------------------------------------------------------------------------

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

function crc32(bytes: Buffer) {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}

const uint32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export function chunk(type: string, data: Buffer | string = '') {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), Buffer.from(data as string, 'latin1')])
  return Buffer.concat([uint32(body.length - 4), body, uint32(crc32(body))])
}

type Png = { width?: number; height?: number; claims?: [number, number]; extra?: Buffer[] }

/** Black, with chunks of one's own; `claims` is the size it says it has. */
export function png({ width = 4, height = 4, claims, extra = [] }: Png = {}) {
  const [w, h] = claims ?? [width, height]
  const header = Buffer.concat([uint32(w), uint32(h), Buffer.of(8, 2, 0, 0, 0)])
  const pixels = deflateSync(Buffer.alloc((width * 3 + 1) * height), { level: 9 })
  return Buffer.concat([SIGNATURE, chunk('IHDR', header), ...extra, chunk('IDAT', pixels), chunk('IEND')])
}

let packed: Buffer | undefined

/** A gigabyte of nothing, in a megabyte. */
export function bomb() {
  packed ??= deflateSync(Buffer.alloc(1_000_000_000), { level: 9 })
  return packed
}

// GIF by hand ---------------------------------------------------------------------------------------------------------

const FRAME = Buffer.from('!\xf9\x04\0\x05\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0', 'latin1')

/** Frames of one pixel's data, whatever size they say they have. */
export function gif(frames: number, width = 1, height = 1) {
  const frame = Buffer.from(FRAME)
  frame.writeUInt16LE(width, 13)
  frame.writeUInt16LE(height, 15)
  const head = Buffer.from('GIF89a\0\0\0\0\x80\0\0\0\0\0\xff\xff\xff', 'latin1')
  head.writeUInt16LE(width, 6)
  head.writeUInt16LE(height, 8)
  return Buffer.concat([head, ...Array.from({ length: frames }, () => frame), Buffer.from(';')])
}
