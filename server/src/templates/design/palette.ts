import type { Brand } from '../../projects/brand.ts'

/** Colours and sizes of a rendered design. */
export type Palette = {
  font: string
  radius: number
  light: Tones
  dark: Tones
  /** The same in both modes: a button has its own background. */
  accent: string
  onAccent: string
}
type Tones = { canvas: string; surface: string; text: string; muted: string; link: string; line: string }

const WHITE = '#ffffff'
/** Pure, because on any colour either it or white has enough contrast. */
const BLACK = '#000000'
const DEFAULTS = { primary: '#0b6e82', background: '#f4f6f8', text: '#24323a' }
const DARK_SURFACE = '#1a2126'
/** The brightest background in dark mode, see `darkBackground`. Text that can be read on it can be read on the others. */
const DARK_LIMIT = '#3c4247'
const SYSTEM_FONT = "-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
const DEFAULT_RADIUS = 6

/** Readable for people with reduced vision: WCAG AA for text. */
const MIN_CONTRAST = 4.5

/** Text colours are moved towards black or white until they can be read on the surface. */
export function paletteOf({ colors, font, radius }: Brand): Palette {
  const accent = longForm(colors?.primary ?? DEFAULTS.primary)
  const text = readable(longForm(colors?.text ?? DEFAULTS.text), WHITE)
  const darkText = '#e7eff2'
  return {
    font: font ? `${font},${SYSTEM_FONT}` : SYSTEM_FONT,
    radius: radius ?? DEFAULT_RADIUS,
    light: {
      canvas: longForm(colors?.background ?? DEFAULTS.background),
      surface: WHITE,
      text,
      muted: readable(mix(text, WHITE, 0.3), WHITE),
      link: readable(accent, WHITE),
      line: mix(text, WHITE, 0.85),
    },
    dark: {
      canvas: '#0f1417',
      surface: DARK_SURFACE,
      text: darkText,
      muted: readable(mix(darkText, DARK_SURFACE, 0.3), DARK_LIMIT),
      link: readable(accent, DARK_LIMIT),
      line: mix(darkText, DARK_SURFACE, 0.8),
    },
    accent,
    onAccent: contrast(WHITE, accent) >= contrast(BLACK, accent) ? WHITE : BLACK,
  }
}

/** A background for dark mode with a hint of the colour. */
export const darkBackground = (color: string) => mix(DARK_SURFACE, longForm(color), 0.15)

/** The colour itself if it can be read on the background, else the nearest one towards black or white that can. */
export function readable(color: string, background: string) {
  const goal = luminance(background) > 0.18 ? BLACK : WHITE
  for (let share = 0; share < 1; share += 0.05) {
    const candidate = mix(longForm(color), goal, share)
    if (isReadable(candidate, background)) return candidate
  }
  return goal
}

export const isReadable = (color: string, background: string) => contrast(color, background) >= MIN_CONTRAST

export function contrast(one: string, other: string) {
  const [brighter, darker] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number]
  return (brighter + 0.05) / (darker + 0.05)
}

function luminance(color: string) {
  const [red, green, blue] = channels(color).map((value) => {
    const share = value / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function mix(color: string, other: string, share: number) {
  const others = channels(other)
  const mixed = channels(color).map((value, index) => Math.round(value * (1 - share) + others[index]! * share))
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

const channels = (color: string) => [1, 3, 5].map((at) => Number.parseInt(longForm(color).slice(at, at + 2), 16))

/** `#abc` → `#aabbcc`: older mail programs read only the long form. */
export const longForm = (color: string) => (color.length === 4 ? `#${[...color.slice(1)].map((digit) => digit + digit).join('')}` : color)
