import { escapeHtml } from '../../lib/text/html.ts'
import { isReadable, type Palette, readable } from './palette.ts'

/** Where a block stands: its width, the space at its sides, and the backgrounds behind it. */
export type Context = {
  palette: Palette
  width: number
  padding: number
  isRtl: boolean
  surface: { light: string; dark: string }
  footer: {
    logoUrl?: string | null | undefined
    name?: string | null | undefined
    address?: string | null | undefined
    links: { label: string; href: string }[]
  }
}

/** A colour of text on the background behind the block: that of dark mode where the usual one cannot be read. */
export function toneOn({ palette: { light, dark }, surface }: Context, tone: 'text' | 'muted' | 'link') {
  return isReadable(light[tone], surface.light) ? light[tone] : readable(dark[tone], surface.light)
}

export type Place = { start: number; end: number; blockId: string }

/** Collects HTML, the places of blocks in it, and the rules for dark mode that inline styles cannot express. */
export function createOut() {
  let html = ''
  const places: Place[] = []
  const rules = new Map<string, string>()
  return {
    print: (text: string) => {
      html += text
    },
    /** Everything that is printed meanwhile belongs to the block. Inner blocks come first in the list. */
    inBlock: (blockId: string | null | undefined, printIt: () => void) => {
      const start = html.length
      printIt()
      if (blockId) places.push({ start, end: html.length, blockId })
    },
    /** A class that sets a property in dark mode. */
    darkClass: (property: 'color' | 'background-color', color: string) => {
      const rule = `${property}:${color}!important`
      const known = rules.get(rule)
      if (known) return known
      const name = `d${rules.size + 1}`
      rules.set(rule, name)
      return name
    },
    finish: () => ({ html, places, rules: [...rules].map(([rule, name]) => ({ name, rule })) }),
  }
}
export type Out = ReturnType<typeof createOut>

type Styles = Record<string, string | number | null | undefined>

/** A style attribute without the properties that have no value. */
export function styles(properties: Styles) {
  const text = Object.entries(properties)
    .flatMap(([name, value]) => (value === undefined || value === null || value === '' ? [] : [`${name}:${value}`]))
    .join(';')
  return text ? ` style="${escapeHtml(text)}"` : ''
}

export const px = (value: number) => `${value}px`

/** Tables for layout; screen readers pass over them. */
export const TABLE = '<table role="presentation" width="100%" border="0" cellpadding="0" cellspacing="0"'
