import { escapeHtml } from '../../lib/text/html.ts'
import type { Brand } from '../../projects/brand.ts'
import { printBlocks } from './blocks.ts'
import { printSource, printText } from './liquid.ts'
import { type Context, createOut, type Place, px, styles, TABLE } from './out.ts'
import { type Palette, paletteOf } from './palette.ts'
import type { Design } from './schema.ts'

const DEFAULT_WIDTH = 600
const SIDE_PADDING = 24
const RTL = /^(?:ar|arc|dv|fa|he|ps|sd|ug|ur|yi)\b/i
/** Keeps inboxes from showing the beginning of the email after a short preview text. */
const FILLER = '&#847;&zwnj;&nbsp;'.repeat(40)

export type RenderedDesign = {
  html: string
  /** Positions of blocks in the HTML, inner ones first. */
  places: Place[]
}

/** A pure function: the same design and brand give the same HTML. Settings of the design override the brand. */
export function renderDesign({ settings = {}, content }: Design, projectBrand: Brand = {}): RenderedDesign {
  const [only] = content
  // An email that was written as HTML as a whole is kept as it is.
  if (content.length === 1 && only?.type === 'html') return wholeHtml(only.attrs)
  const brand = mergeBrands(projectBrand, settings.theme ?? {})
  const palette = paletteOf(brand)
  const width = settings.width ?? DEFAULT_WIDTH
  const lang = settings.lang ?? 'en'
  const isRtl = settings.dir ? settings.dir === 'rtl' : RTL.test(lang)
  const out = createOut()
  const context: Context = {
    palette,
    width,
    padding: SIDE_PADDING,
    isRtl,
    surface: { light: palette.light.surface, dark: palette.dark.surface },
    footer: { logoUrl: brand.logoUrl, name: brand.footer?.name, address: brand.footer?.address, links: brand.footer?.links ?? [] },
  }
  printBlocks(out, context, content)
  const { html, places, rules } = out.finish()
  const head = `${headHtml(palette, rules, { lang, isRtl })}${bodyStart(palette, { width, isRtl, preview: settings.preview })}`
  const shifted = places.map(({ start, end, blockId }) => ({ start: start + head.length, end: end + head.length, blockId }))
  return { html: `${head}${html}${BODY_END}`, places: shifted }
}

function wholeHtml({ id, source }: { id?: string | null | undefined; source: string }): RenderedDesign {
  const html = printSource(source)
  return { html, places: id ? [{ start: 0, end: html.length, blockId: id }] : [] }
}

/** Fields that are not set are inherited. */
export function mergeBrands(base: Brand, over: Brand): Brand {
  return {
    ...base,
    ...definedOf(over),
    colors: { ...base.colors, ...definedOf(over.colors ?? {}) },
    footer: { ...base.footer, ...definedOf(over.footer ?? {}) },
  }
}

const definedOf = <Value extends object>(value: Value) =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined && each !== null)) as Partial<Value>

type Rule = { name: string; rule: string }

function headHtml({ dark }: Palette, rules: Rule[], { lang, isRtl }: { lang: string; isRtl: boolean }) {
  const forDark = [
    ['.c', `background-color:${dark.canvas}!important`],
    ['.s', `background-color:${dark.surface}!important`],
    ['.t', `color:${dark.text}!important`],
    ['.m', `color:${dark.muted}!important`],
    ['.a', `color:${dark.link}!important;border-color:${dark.link}!important`],
    ['.l', `border-color:${dark.line}!important`],
    ...rules.map(({ name, rule }) => [`.${name}`, rule]),
  ] as [string, string][]
  // The second list is for Outlook on the web and on phones, which marks the elements it recolours.
  const css = `:root{color-scheme:light dark;supported-color-schemes:light dark}@media(max-width:480px){.k{max-width:100%!important}}@media(prefers-color-scheme:dark){${forDark
    .map(([selector, rule]) => `${selector}{${rule}}`)
    .join('')}}${forDark.map(([selector, rule]) => `[data-ogsc] ${selector}{${rule}}`).join('')}`
  return (
    `<!DOCTYPE html><html lang="${escapeHtml(lang)}" dir="${isRtl ? 'rtl' : 'ltr'}" xmlns:o="urn:schemas-microsoft-com:office:office"><head>` +
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">' +
    '<meta name="supported-color-schemes" content="light dark"><meta name="x-apple-disable-message-reformatting">' +
    '<!--[if mso]><xml><o:OfficeDocumentSettings><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml><style>table{border-collapse:collapse}*{font-family:Arial,sans-serif!important}</style><![endif]-->' +
    `<style>${css}</style></head>`
  )
}

type Frame = { width: number; isRtl: boolean; preview: string | null | undefined }

function bodyStart({ font, light }: Palette, { width, isRtl, preview }: Frame) {
  const hidden = styles({ display: 'none', 'max-height': 0, overflow: 'hidden', 'mso-hide': 'all' })
  const body = styles({ margin: 0, padding: 0, 'background-color': light.canvas })
  const surface = styles({ 'max-width': px(width), 'background-color': light.surface, 'text-align': isRtl ? 'right' : 'left' })
  return (
    `<body class="c"${body}>${preview ? `<div${hidden}>${printText(preview)}${FILLER}</div>` : ''}` +
    `${TABLE} class="c" bgcolor="${light.canvas}"><tr><td align="center"${styles({ padding: '24px 0', 'font-family': font })}>` +
    `<!--[if mso]><table role="presentation" width="${width}" align="center"><tr><td><![endif]-->` +
    `${TABLE} class="s" bgcolor="${light.surface}"${surface}>`
  )
}

const BODY_END = '</table><!--[if mso]></td></tr></table><![endif]--></td></tr></table></body></html>'
