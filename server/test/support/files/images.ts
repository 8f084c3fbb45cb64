import { constants, crc32, deflateRawSync } from 'node:zlib'
import sharp, { type Sharp } from 'sharp'

/** Generated images for tests, valid and invalid. */

export type Format = 'jpeg' | 'png' | 'gif' | 'webp'

export const plain = (width = 40, height = 20): Sharp => sharp({ create: { width, height, channels: 3, background: '#c04020' } })

export const image = (format: Format, width?: number, height?: number) => plain(width, height).toFormat(format).toBuffer()

/** Noise on every pixel, so that it compresses badly. */
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

/** A black PNG with extra chunks; `claims` is the size in its header. */
export function png({ width = 4, height = 4, claims, extra = [] }: Png = {}) {
  const [w, h] = claims ?? [width, height]
  const header = Buffer.concat([uint32(w), uint32(h), Buffer.of(8, 2, 0, 0, 0)])
  const pixels = deflatedZeros((width * 3 + 1) * height)
  return Buffer.concat([SIGNATURE, chunk('IHDR', header), ...extra, chunk('IDAT', pixels), chunk('IEND')])
}

/** A gigabyte of zeros, compressed to a megabyte. */
export const bomb = () => deflatedZeros(1_000_000_000)

/** Compressed once per megabyte, not as a whole, which would take seconds. */
function deflatedZeros(length: number) {
  const megabyte = deflateRawSync(Buffer.alloc(1_000_000), { level: 9, finishFlush: constants.Z_FULL_FLUSH })
  const rest = deflateRawSync(Buffer.alloc(length % 1_000_000), { level: 9 })
  const header = Buffer.of(0x78, 0xda)
  const checksum = uint32((length % 65_521) * 65_536 + 1)
  return Buffer.concat([header, ...Array<Buffer>(Math.floor(length / 1_000_000)).fill(megabyte), rest, checksum])
}

// GIF by hand ---------------------------------------------------------------------------------------------------------

const FRAME = Buffer.from('!\xf9\x04\0\x05\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0', 'latin1')

/** Frames with the data of one pixel, whatever size their header says. */
export function gif(frames: number, width = 1, height = 1) {
  const frame = Buffer.from(FRAME)
  frame.writeUInt16LE(width, 13)
  frame.writeUInt16LE(height, 15)
  const head = Buffer.from('GIF89a\0\0\0\0\x80\0\0\0\0\0\xff\xff\xff', 'latin1')
  head.writeUInt16LE(width, 6)
  head.writeUInt16LE(height, 8)
  return Buffer.concat([head, ...Array.from({ length: frames }, () => frame), Buffer.from(';')])
}

// JPEG by hand --------------------------------------------------------------------------------------------------------

function segment(marker: number, ...data: number[]) {
  const length = data.length + 2
  return Buffer.from([0xff, marker, length >> 8, length & 0xff, ...data])
}

const repeat = (count: number, value: number) => Array.from({ length: count }, () => value)

/** A valid grey JPEG with `count` scans: first the mean of each block, then every frequency bit by bit, all zero. */
export function scans(count: number, side: number) {
  const blocks = Math.ceil(side / 8) ** 2
  const means = Buffer.alloc(Math.ceil(blocks / 8))
  // "The next 16,384 blocks are zero": a 0 for this code, and 14 bits for the number of blocks.
  const nothing = Buffer.alloc(Math.ceil((Math.ceil(blocks / 16_384) * 15) / 8))
  const pass = (frequency: number, before: number, bit: number) => segment(0xda, 1, 1, 0, frequency, frequency, (before << 4) | bit)
  const passes = Array.from({ length: count - 1 }, (_, n) => {
    const [frequency, bit] = [1 + (n % 63), 13 - Math.floor(n / 63)]
    return Buffer.concat([pass(frequency, bit === 13 ? 0 : bit + 1, bit), nothing])
  })
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xdb, 0, ...repeat(64, 1)),
    segment(0xc2, 8, side >> 8, side & 0xff, side >> 8, side & 0xff, 1, 1, 0x11, 0),
    segment(0xc4, 0x00, 1, ...repeat(15, 0), 0x00),
    segment(0xc4, 0x10, 1, ...repeat(15, 0), 0xe0),
    pass(0, 0, 0),
    means,
    ...passes,
    Buffer.from([0xff, 0xd9]),
  ])
}
