import type { Brand } from '../../projects/brand.ts'
import { renderDesign } from '../design/render.ts'
import type { Design, DesignBlock } from '../design/schema.ts'
import { ACCOUNT } from './account.ts'
import { spacer } from './build.ts'
import { COMMERCE, NEWS } from './commerce-and-news.ts'

export const STARTER_CATEGORIES = ['account', 'commerce', 'news'] as const

/** Designs to begin with. Ids of blocks are their positions, so that every call gives the same. */
const STARTERS = [
  ...NEWS.map((starter) => ({ ...starter, category: 'news' as const })),
  ...ACCOUNT.map((starter) => ({ ...starter, category: 'account' as const })),
  ...COMMERCE.map((starter) => ({ ...starter, category: 'commerce' as const })),
].map(({ content, ...starter }) => ({ ...starter, design: { version: 1, content: identified(content) } satisfies Design }))

/** In the look of the brand. */
export const startersFor = (brand: Brand) => STARTERS.map((starter) => ({ ...starter, html: renderDesign(starter.design, brand).html }))

/** Blocks that were written by hand, ready to be stored: with ids by their positions. */
export function identified(content: DesignBlock[]): DesignBlock[] {
  return withIds(spaced(content), 'b')
}

/** Space around coloured sections. */
function spaced(blocks: DesignBlock[]) {
  return blocks.flatMap((block, index) => {
    const next = blocks[index + 1]
    const needsSpace = next && block.type !== 'spacer' && next.type !== 'spacer' && (block.type === 'section') !== (next.type === 'section')
    return needsSpace ? [block, spacer(12)] : [block]
  })
}

function withIds(blocks: DesignBlock[], prefix: string): DesignBlock[] {
  return blocks.map((block, index) => {
    const id = `${prefix}${index + 1}`
    const attrs = { ...block.attrs, id }
    if (block.type === 'columns')
      return {
        ...block,
        attrs: { ...block.attrs, id },
        content: block.content.map((column, at) => ({ ...column, content: withIds(column.content, `${id}c${at + 1}-`) })),
      }
    if (block.type === 'section' || block.type === 'condition' || block.type === 'loop')
      return { ...block, attrs, content: withIds(block.content, `${id}-`) } as DesignBlock
    return { ...block, attrs } as DesignBlock
  })
}
