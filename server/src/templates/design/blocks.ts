import { conditionTags } from './block-condition.ts'
import { printInline } from './inline.ts'
import { printAttribute, printPath, printSource, printText } from './liquid.ts'
import { type Context, type Out, px, styles, TABLE, toneOn } from './out.ts'
import { darkBackground, longForm } from './palette.ts'
import type { DesignBlock, DesignList } from './schema.ts'

type BlockOf<Type extends DesignBlock['type']> = Extract<DesignBlock, { type: Type }>
type Align = 'left' | 'center' | 'right' | null | undefined

const TEXT_SIZE = 16
const SMALL_SIZE = 13
const HEADING_SIZES = { 1: 28, 2: 22, 3: 18 }
/** Space above a heading. */
const HEADING_SPACE = 16
/** Space at both sides of a block in a column: four columns fit on a phone. */
const COLUMN_PADDING = 8

export function printBlocks(out: Out, context: Context, blocks: DesignBlock[]) {
  for (const block of blocks) out.inBlock(block.attrs?.id, () => printBlock(out, context, block))
}

function printBlock(out: Out, context: Context, block: DesignBlock) {
  switch (block.type) {
    case 'heading':
      return printHeading(out, context, block)
    case 'paragraph':
      return printParagraph(out, context, block)
    case 'bulletList':
    case 'orderedList':
      return printRow(out, context, listHtml(out, context, block))
    case 'button':
      return printButton(out, context, block)
    case 'image':
      return printImage(out, context, block)
    case 'divider':
      return printDivider(out, context)
    case 'spacer':
      return printSpacer(out, block)
    case 'section':
      return printSection(out, context, block)
    case 'columns':
      return block.attrs.stack === false ? printCells(out, context, block) : printStackingColumns(out, context, block)
    case 'html':
      return out.print(`<tr><td>${printSource(block.attrs.source)}</td></tr>`)
    case 'footer':
      return printFooter(out, context, block)
    case 'social':
      return printSocial(out, context, block)
    case 'condition':
      return printBetween(out, context, conditionTags(block.attrs), block.content)
    case 'loop':
      return printBetween(out, context, loopTags(block), block.content)
  }
}

function printRow(out: Out, { padding, isRtl }: Context, html: string, align?: Align, top = 8) {
  out.print(`<tr><td align="${align ?? (isRtl ? 'right' : 'left')}" style="padding:${top}px ${padding}px 8px">${html}</td></tr>`)
}

const textColor = (context: Context) => toneOn(context, 'text')
const linkColor = (context: Context) => toneOn(context, 'link')

function printHeading(out: Out, context: Context, { attrs, content }: BlockOf<'heading'>) {
  const size = HEADING_SIZES[attrs.level as 1 | 2 | 3]
  const style = styles({
    margin: 0,
    'font-size': px(size),
    'line-height': 1.25,
    'font-weight': 700,
    color: textColor(context),
    'text-align': attrs.align,
  })
  const heading = `<h${attrs.level} class="t"${style}>${printInline(out, context, content)}</h${attrs.level}>`
  printRow(out, context, heading, attrs.align, HEADING_SPACE)
}

function printParagraph(out: Out, context: Context, { attrs, content }: BlockOf<'paragraph'>) {
  const style = styles({ margin: 0, 'font-size': px(TEXT_SIZE), 'line-height': 1.5, color: textColor(context), 'text-align': attrs?.align })
  printRow(out, context, `<p class="t"${style}>${printInline(out, context, content) || '&nbsp;'}</p>`, attrs?.align)
}

function listHtml(out: Out, context: Context, { type, content }: DesignList): string {
  const tag = type === 'bulletList' ? 'ul' : 'ol'
  const side = context.isRtl ? 'padding-right' : 'padding-left'
  const style = styles({ margin: 0, [side]: '24px', 'font-size': px(TEXT_SIZE), 'line-height': 1.5, color: textColor(context) })
  const items = content.map(({ content: parts }) =>
    parts
      .map((part, index) =>
        part.type === 'paragraph' ? (index ? '<br>' : '') + printInline(out, context, part.content) : listHtml(out, context, part),
      )
      .join(''),
  )
  return `<${tag} class="t"${style}>${items.map((item) => `<li>${item}</li>`).join('')}</${tag}>`
}

/** A table cell with a background, because Outlook on Windows ignores the padding of links. */
function printButton(out: Out, context: Context, { attrs, content }: BlockOf<'button'>) {
  const { palette } = context
  const look = attrs.style ?? 'filled'
  const label = printInline(out, { ...context, surface: { light: palette.accent, dark: palette.accent } }, content)
  const target = attrs.href ? ` href="${printAttribute(attrs.href)}" target="_blank"` : ''
  const font = { 'font-size': px(TEXT_SIZE), 'line-height': 1.25, 'font-weight': 600 }
  if (look === 'link') {
    const style = styles({ ...font, color: linkColor(context), 'text-decoration': 'underline' })
    return printRow(out, context, `<a${target} class="a"${style}>${label}</a>`, attrs.align)
  }
  const isFilled = look === 'filled'
  const color = isFilled ? palette.onAccent : linkColor(context)
  const corners = { 'border-radius': px(palette.radius) }
  const link = styles({ ...font, display: 'inline-block', padding: '12px 24px', color, 'text-decoration': 'none', ...corners })
  const cell = isFilled
    ? ` bgcolor="${palette.accent}"${styles({ ...corners, 'background-color': palette.accent })}`
    : ` class="a"${styles({ ...corners, border: `2px solid ${color}` })}`
  const button = `<a${target}${isFilled ? '' : ' class="a"'}${link}>${label}</a>`
  const table = '<table role="presentation" border="0" cellpadding="0" cellspacing="0">'
  printRow(out, context, `${table}<tr><td${cell}>${button}</td></tr></table>`, attrs.align)
}

function printImage(out: Out, context: Context, { attrs }: BlockOf<'image'>) {
  const { width, padding, palette, footer } = context
  const source = attrs.isLogo ? (footer.logoUrl ?? '') : attrs.src
  const align = attrs.align ?? 'center'
  if (!source) {
    // A brand without a logo has a name.
    const style = styles({ 'font-size': '20px', color: textColor(context) })
    if (attrs.isLogo && footer.name) printRow(out, context, `<strong class="t"${style}>${printText(footer.name)}</strong>`, align)
    return
  }
  const shown = Math.min(attrs.width ?? width - 2 * padding, width - 2 * padding)
  const alt = attrs.alt ?? (attrs.isLogo ? (footer.name ?? '') : '')
  const corners = attrs.isLogo || !palette.radius ? {} : { 'border-radius': px(palette.radius) }
  const style = styles({ display: 'block', width: '100%', 'max-width': px(shown), height: 'auto', border: 0, ...corners })
  const image = `<img src="${printAttribute(source)}" alt="${printAttribute(alt)}" width="${shown}"${style}>`
  printRow(out, context, attrs.href ? `<a href="${printAttribute(attrs.href)}" target="_blank">${image}</a>` : image, align)
}

function printDivider(out: Out, context: Context) {
  const style = styles({ 'border-top': `1px solid ${context.palette.light.line}`, 'font-size': 0, 'line-height': 0 })
  printRow(out, context, `${TABLE}><tr><td class="l"${style}>&nbsp;</td></tr></table>`)
}

function printSpacer(out: Out, { attrs: { height } }: BlockOf<'spacer'>) {
  out.print(`<tr><td height="${height}"${styles({ height: px(height), 'font-size': 0, 'line-height': px(height) })}>&nbsp;</td></tr>`)
}

function printSection(out: Out, context: Context, { attrs, content }: BlockOf<'section'>) {
  const padding = attrs.padding ?? 16
  const background = attrs.bg ? longForm(attrs.bg) : undefined
  const surface = background ? { light: background, dark: darkBackground(background) } : context.surface
  const color = background ? ` bgcolor="${background}" class="${out.darkClass('background-color', surface.dark)}"` : ''
  out.print(`<tr><td${color}${styles({ padding: `${padding}px 0`, 'background-color': background })}>${TABLE}>`)
  printBlocks(out, { ...context, surface }, content)
  out.print('</table></td></tr>')
}

const sharesOf = ({ attrs: { widths }, content }: BlockOf<'columns'>) => {
  const given = widths?.length === content.length ? widths : content.map(() => 1)
  const sum = given.reduce((total, share) => total + share, 0)
  return given.map((share) => share / sum)
}

/** Real cells: they stay side by side everywhere, also where style blocks are removed. */
function printCells(out: Out, context: Context, columns: BlockOf<'columns'>) {
  const shares = sharesOf(columns)
  out.print(`<tr><td style="padding:0 ${context.padding - COLUMN_PADDING}px">${TABLE}><tr>`)
  columns.content.forEach(({ content }, index) => {
    const percent = `${Math.floor(shares[index]! * 100)}%`
    out.print(`<td width="${percent}" valign="top"${styles({ width: percent })}>${TABLE}>`)
    printBlocks(out, inColumn(context, shares[index]!), content)
    out.print('</table></td>')
  })
  out.print('</tr></table></td></tr>')
}

/**
 * Boxes that stand side by side where there is room and below each other where there is none, without a media query. No white space between them
 * and two pixels to spare: some mail programs round up, and break the row. Outlook on Windows gets cells.
 */
function printStackingColumns(out: Out, context: Context, columns: BlockOf<'columns'>) {
  const shares = sharesOf(columns)
  const side = Math.max(0, context.padding - COLUMN_PADDING)
  const available = context.width - 2 * side - 2
  out.print(
    `<tr><td align="${context.isRtl ? 'right' : 'left'}"${styles({ padding: `0 ${side}px`, 'font-size': 0 })}><!--[if mso]>${TABLE}><tr><![endif]-->`,
  )
  columns.content.forEach(({ content }, index) => {
    const width = Math.floor(available * shares[index]!)
    const box = styles({
      display: 'inline-block',
      width: '100%',
      'max-width': px(width),
      'vertical-align': 'top',
      'font-size': px(TEXT_SIZE),
    })
    out.print(`<!--[if mso]><td width="${width}" valign="top"><![endif]--><div class="k"${box}>${TABLE}>`)
    printBlocks(out, { ...inColumn(context, 1), width }, content)
    out.print('</table></div><!--[if mso]></td><![endif]-->')
  })
  out.print('<!--[if mso]></tr></table><![endif]--></td></tr>')
}

const inColumn = (context: Context, share: number): Context => ({
  ...context,
  padding: COLUMN_PADDING,
  width: Math.floor((context.width - 2 * Math.max(0, context.padding - COLUMN_PADDING)) * share),
})

/** Always with the link for unsubscribing. */
function printFooter(out: Out, context: Context, { attrs }: BlockOf<'footer'>) {
  const { footer } = context
  const color = toneOn(context, 'muted')
  const link = (href: string, label: string) =>
    `<a href="${printAttribute(href)}" target="_blank" class="m"${styles({ color, 'text-decoration': 'underline' })}>${printText(label)}</a>`
  const lines = [
    footer.name ? printText(footer.name) : '',
    footer.address ? printText(footer.address).replace(/\r?\n/g, '<br>') : '',
    [
      ...footer.links.filter(({ href }) => href).map(({ href, label }) => link(href, label)),
      link('{{ unsubscribeUrl }}', 'Unsubscribe'),
    ].join(' &middot; '),
  ]
  const style = styles({ margin: 0, 'font-size': px(SMALL_SIZE), 'line-height': 1.6, color })
  printRow(out, context, `<p class="m"${style}>${lines.filter(Boolean).join('<br>')}</p>`, attrs.align ?? 'center')
}

const SOCIAL_NAMES: Record<string, string> = {
  facebook: 'Facebook',
  instagram: 'Instagram',
  x: 'X',
  twitter: 'Twitter',
  linkedin: 'LinkedIn',
  youtube: 'YouTube',
  tiktok: 'TikTok',
  github: 'GitHub',
  mastodon: 'Mastodon',
  bluesky: 'Bluesky',
  threads: 'Threads',
  discord: 'Discord',
  website: 'Website',
  email: 'Email',
}

/** Words, not icons: they need no image host and are never blocked. */
function printSocial(out: Out, context: Context, { attrs }: BlockOf<'social'>) {
  const style = styles({ color: linkColor(context), 'font-size': '14px', 'text-decoration': 'underline' })
  const link = ({ kind, href }: (typeof attrs.links)[number]) =>
    `<a href="${printAttribute(href)}" target="_blank" class="a"${style}>${printText(SOCIAL_NAMES[kind] ?? kind)}</a>`
  const links = attrs.links.filter(({ href }) => href).map(link)
  if (links.length) printRow(out, context, links.join('&nbsp; &nbsp;'), attrs.align ?? 'center')
}

const loopTags = ({ attrs: { item, list } }: BlockOf<'loop'>): [string, string] => [
  `{% for ${item} in ${printPath(list)} %}`,
  '{% endfor %}',
]

/** Around whole table rows, so that a table stays one. */
function printBetween(out: Out, context: Context, [open, close]: [string, string], content: DesignBlock[]) {
  out.print(open)
  printBlocks(out, context, content)
  out.print(close)
}
