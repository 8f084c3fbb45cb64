import { InputRule, Node } from '@tiptap/core'
import type { DOMOutputSpec } from '@tiptap/pm/model'
import { attributesOf, readAttrs, safeImage, writeAttrs } from './block-attrs.ts'
import type { CanvasBrand } from './canvas-brand.ts'
import { SOCIAL_NAMES } from './words.ts'

type Attrs = Record<string, unknown>
type LeafOptions = { brand: CanvasBrand }

/** A block without text of its own. `show` gives what the canvas shows of it: elements and text, never HTML of an author. */
function leafBlock(name: string, defaults: Attrs, show: (attrs: Attrs, brand: CanvasBrand) => DOMOutputSpec[]) {
  const names = Object.keys(defaults)
  return Node.create<LeafOptions>({
    name,
    group: 'block',
    atom: true,
    draggable: true,
    addOptions: () => ({ brand: {} }),
    addAttributes: () => attributesOf(defaults),
    parseHTML: () => [{ tag: `div[data-block=${name}]`, getAttrs: (element) => readAttrs(element, names) }],
    renderHTML({ node: { attrs } }) {
      const { align } = attrs
      const marks = typeof align === 'string' ? { 'data-align': align } : {}
      return ['div', { 'data-block': name, 'data-attrs': writeAttrs(attrs), ...marks }, ...show(attrs, this.options.brand)] as DOMOutputSpec
    },
  })
}

const note = (words: string): DOMOutputSpec => ['span', { class: 'email-note' }, words]

const IMAGE = { src: '', alt: undefined, width: undefined, href: undefined, align: undefined, isLogo: undefined }

export const ImageBlock = leafBlock('image', IMAGE, ({ src, alt, width, isLogo }, brand) => {
  const shown = safeImage(isLogo ? brand.logoUrl : src)
  if (shown) return [['img', { src: shown, alt: String(alt ?? ''), draggable: 'false', ...(typeof width === 'number' && { width }) }]]
  if (isLogo)
    return [
      brand.footer?.name
        ? ['strong', { class: 'email-logo' }, brand.footer.name]
        : ['span', { class: 'email-note email-logo' }, 'Your logo, from the brand'],
    ]
  return [note(src ? `Picture: ${String(src)}` : 'Choose a picture')]
}).extend({
  parseHTML() {
    return [
      { tag: 'div[data-block=image]', getAttrs: (element) => readAttrs(element, Object.keys(IMAGE)) },
      {
        tag: 'img[src]',
        // A picture of the clipboard itself is uploaded, see `paste.ts`.
        getAttrs: (element) => {
          const src = safeImage(element.getAttribute('src'))
          const alt = element.getAttribute('alt')?.slice(0, 1_000)
          return src ? { src, ...(alt && { alt }) } : false
        },
      },
    ]
  },
})

export const DividerBlock = leafBlock('divider', {}, () => [['hr']]).extend({
  parseHTML: () => [{ tag: 'div[data-block=divider]' }, { tag: 'hr' }],
  addInputRules() {
    return [
      new InputRule({
        find: /^(?:---|—-)$/,
        handler: ({ range, chain }) => {
          chain().deleteRange(range).insertContent({ type: this.name }).run()
        },
      }),
    ]
  },
})

export const SpacerBlock = leafBlock('spacer', { height: 24 }, ({ height }) => [
  ['span', { class: 'email-space', style: `height:${Number(height) || 24}px` }],
])

const MAX_SHOWN = 600

/** HTML of the author is shown as its source: put into the page, it could do what the page can. */
export const HtmlBlock = leafBlock('html', { source: '' }, ({ source }) => {
  const code = String(source ?? '')
  return [note('HTML'), ['pre', {}, code.length > MAX_SHOWN ? `${code.slice(0, MAX_SHOWN)}…` : code || '(empty)']]
})

export const FooterBlock = leafBlock('footer', { align: undefined }, (_, { footer }) => {
  const links = [...(footer?.links ?? []).map(({ label }) => label), 'Unsubscribe']
  const lines = [footer?.name, ...(footer?.address ?? '').split(/\r?\n/), links.join(' · ')]
  return lines.filter(Boolean).map((line): DOMOutputSpec => ['span', { class: 'email-footer-line' }, line as string])
})

export const SocialBlock = leafBlock('social', { links: [], align: undefined }, ({ links }) => {
  const given = Array.isArray(links) ? (links as { kind?: unknown }[]) : []
  if (given.length === 0) return [note('Add your profiles')]
  return given.map(({ kind }): DOMOutputSpec => ['span', { class: 'email-social' }, SOCIAL_NAMES[String(kind)] ?? String(kind)])
})
