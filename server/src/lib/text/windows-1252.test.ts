import { describe, expect, test } from 'vitest'
import { decodeWindows1252 } from './windows-1252.ts'

describe('windows-1252', () => {
  test('decodes the euro sign, curly quotes, dashes and accented letters', () => {
    expect(decodeWindows1252(Buffer.from('5 \x80 \x93ok\x94 \x96 caf\xe9 \x8cuvre \x9f', 'latin1'))).toBe('5 € “ok” – café Œuvre Ÿ')
  })

  test('keeps ASCII and the upper half of latin1', () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)
    const text = decodeWindows1252(bytes)
    expect(text).toHaveLength(256)
    for (const byte of bytes) if (byte < 0x80 || byte > 0x9f) expect(text.charCodeAt(byte)).toBe(byte)
  })

  test('keeps the five bytes without a character as control characters', () => {
    expect(decodeWindows1252(Uint8Array.of(0x81, 0x8d, 0x8f, 0x90, 0x9d))).toBe('\x81\x8d\x8f\x90\x9d')
  })

  test('decodes only the part that a view shows', () => {
    expect(decodeWindows1252(new Uint8Array([0x41, 0x80, 0x42]).subarray(1, 2))).toBe('€')
  })
})
