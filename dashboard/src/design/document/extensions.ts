import { type Extensions, getSchema } from '@tiptap/core'
import Bold from '@tiptap/extension-bold'
import Document from '@tiptap/extension-document'
import HardBreak from '@tiptap/extension-hard-break'
import Italic from '@tiptap/extension-italic'
import { ListKeymap } from '@tiptap/extension-list'
import Strike from '@tiptap/extension-strike'
import Text from '@tiptap/extension-text'
import Underline from '@tiptap/extension-underline'
import { Dropcursor, Gapcursor, UndoRedo } from '@tiptap/extensions'
import { BlockIds } from './block-ids.ts'
import type { CanvasBrand } from './canvas-brand.ts'
import { ColumnPart, ColumnsBlock, ConditionBlock, LoopBlock, SectionBlock } from './container-blocks.ts'
import { ColorMark, LinkMark, VariablePart } from './inline.ts'
import { DividerBlock, FooterBlock, HtmlBlock, ImageBlock, SocialBlock, SpacerBlock } from './leaf-blocks.ts'
import { BulletListBlock, ButtonBlock, HeadingBlock, ListItemPart, OrderedListBlock, ParagraphBlock } from './text-blocks.ts'

/** Everything that a design can hold, and how it is edited. */
export function extensionsFor(brand: CanvasBrand): Extensions {
  return [
    Document,
    Text,
    ParagraphBlock,
    HeadingBlock,
    BulletListBlock,
    OrderedListBlock,
    ListItemPart,
    ButtonBlock,
    ImageBlock.configure({ brand }),
    DividerBlock,
    SpacerBlock,
    SectionBlock,
    ColumnsBlock,
    ColumnPart,
    HtmlBlock,
    FooterBlock.configure({ brand }),
    SocialBlock,
    ConditionBlock,
    LoopBlock,
    VariablePart,
    HardBreak,
    Bold,
    Italic,
    Underline,
    Strike,
    ColorMark,
    LinkMark,
    BlockIds,
    ListKeymap,
    UndoRedo,
    Gapcursor,
    Dropcursor.configure({ color: 'var(--accent)', width: 3 }),
  ]
}

export const designSchema = () => getSchema(extensionsFor({}))
