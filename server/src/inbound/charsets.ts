import { isUtf8 } from 'node:buffer'
import { decodeWindows1252 } from '../lib/text/windows-1252.ts'

/** Labels of windows-1252 in the WHATWG encoding standard, under which latin1 is decoded too. */
const WINDOWS_1252 = new Set(
  'cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 windows-1252 x-cp1252'.split(
    ' ',
  ),
)
/** postal-mime asks for `utf8` when a part names no charset. A part labelled ASCII that has other bytes has not named its charset either. */
const UNNAMED = new Set(['utf8', 'ascii', 'us-ascii', 'ansi_x3.4-1968'])

const Native = globalThis.TextDecoder

/**
 * A TextDecoder for received messages: windows-1252 by the standard, which Node 20 decodes as latin1, and text without a named charset as
 * UTF-8 if it is valid UTF-8, else as windows-1252. That includes header lines, which postal-mime decodes with `ignoreBOM`.
 */
class MessageTextDecoder extends Native {
  readonly #decodes: 'windows-1252' | 'guess' | 'named'

  constructor(label = 'utf-8', options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    const name = label.trim().toLowerCase()
    const isUnnamed = UNNAMED.has(name) || options.ignoreBOM
    super(isUnnamed ? 'utf-8' : label, options)
    this.#decodes = WINDOWS_1252.has(name) ? 'windows-1252' : isUnnamed ? 'guess' : 'named'
  }

  override decode(input?: ArrayBuffer | NodeJS.ArrayBufferView | null, options?: { stream?: boolean }) {
    if (this.#decodes === 'named' || !input) return super.decode(input, options)
    const bytes = ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input)
    return this.#decodes === 'guess' && isUtf8(bytes) ? super.decode(bytes) : decodeWindows1252(bytes)
  }
}

/** Replaces the decoder of this thread. Must run before postal-mime is loaded, which creates its decoders then. */
export function installMessageDecoder() {
  globalThis.TextDecoder = MessageTextDecoder
}
